/** Filters of a field: the values they take, their words, and the conditions that they become. */
import type { FieldInfo } from '../data/model.ts';
import type { FilterNode } from '../data/filter-tree.ts';
import { containing } from '../data/search.ts';
import type { Say } from '../texts/texts.ts';
import { presentationName } from './choose.ts';
import { plainText } from './plain.ts';
import { periodDays, PERIODS, spanOf, storedTime } from './times.ts';

const FLAGS = ['true', 'false'];
const PERIOD = '$period.';
/** A part of a text, which needs no `*`. */
export const CONTAINS = '$contains';

/** The operators of the interface, with those that people know better: a part of a text, and whole periods of time. */
export const filterOperators = (field: FieldInfo | undefined, operators: readonly string[]): readonly string[] => [
  ...(operators.includes('like') ? [CONTAINS] : []),
  ...operators,
  ...filterPeriods(field),
];

/** A condition as people read it: `*x*` is a text that contains x. */
export function readCondition(operator: string, value: string): { readonly operator: string; readonly value: string } {
  const [, part] = /^\*([^*]+)\*$/.exec(value) ?? [];
  return operator === 'like' && part !== undefined ? { operator: CONTAINS, value: part } : { operator, value };
}

const isTime = (field: FieldInfo | undefined): boolean =>
  field !== undefined && ['date', 'timestamp'].includes(presentationName(field));

const filterPeriods = (field: FieldInfo | undefined): readonly string[] =>
  isTime(field) ? PERIODS.map((period) => PERIOD + period) : [];

export const periodOf = (operator: string) => PERIODS.find((period) => PERIOD + period === operator);

/** Undefined: any text can be a value. */
export function filterChoices(field: FieldInfo | undefined, operator: string): readonly string[] | undefined {
  if (operator === 'null') return FLAGS;
  if (operator === 'in' || operator === 'like' || operator === CONTAINS) return undefined;
  return field?.type === 'boolean' ? FLAGS : field?.enum;
}

export function filterText(say: Say, field: FieldInfo | undefined, operator: string, value: string): string {
  if (operator === 'null') return say(value === 'true' ? 'value.yes' : 'value.no');
  return field === undefined || operator === 'like' || operator === CONTAINS ? value : plainText(say, field, value);
}

/** `values`: what was typed. A date or a minute stands for all that is within it, in local time. */
export function filterNodes(
  field: FieldInfo | undefined,
  path: string,
  operator: string,
  values: readonly string[],
  now = new Date(),
): readonly FilterNode[] {
  const condition = (name: string, value: string): FilterNode => ({
    kind: 'condition',
    path,
    operator: name,
    values: [value],
  });
  const within = (from: string, to: string): FilterNode => ({
    kind: 'group',
    mode: 'all',
    items: [condition('gte', from), condition('lt', to)],
  });
  if (operator === CONTAINS) return values.some(Boolean) ? [condition('like', containing(values[0] ?? ''))] : [];
  const isPoint = field !== undefined && presentationName(field) === 'timestamp';
  const period = periodOf(operator);
  if (period !== undefined) {
    const { from, to } = periodDays(period, now);
    return [isPoint ? within(storedTime(from), storedTime(to)) : within(from, to)];
  }
  const span = isPoint && values.length === 1 ? spanOf(values[0] ?? '') : undefined;
  if (span !== undefined) {
    const { from, to } = span;
    if (operator === 'eq') return [within(from, to)];
    if (operator === 'ne')
      return [{ kind: 'group', mode: 'any', items: [condition('lt', from), condition('gte', to)] }];
    if (operator === 'gt') return [condition('gte', to)];
    if (operator === 'lte') return [condition('lt', to)];
    if (operator !== 'in' && operator !== 'null') return [condition(operator, from)];
  }
  return [{ kind: 'condition', path, operator, values: isPoint ? values.map(storedTime) : values }];
}
