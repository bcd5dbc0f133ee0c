/** Shared by dialects: names of comparisons, and parameters as the query of `/api` has them. */
import type { OperatorName } from '../../field-types/field-type.ts';
import type { RecordType } from '../../model/model.ts';
import { relationsFor, type Rights } from '../../model/rights.ts';
import { didYouMean } from '../../names.ts';
import type { Fault } from '../../problem.ts';
import { type Complain, complainAbout, type Parameter, quote } from '../../query/parameters.ts';
import type { PathNames } from '../../query/list-query.ts';
import { namesOf, resolveSubject } from '../../query/paths.ts';

interface ComparisonWord {
  readonly operator: OperatorName;
  /** The pattern that finds texts with the value in this place. */
  readonly pattern?: (text: string) => string;
}

const EQUAL: ComparisonWord = { operator: 'eq' };
const WITHIN: ComparisonWord = { operator: 'like', pattern: (text) => `*${text}*` };

/** By the word behind the name of a field: `position_gte`, or `position:gte` in json-server 1. */
const COMPARISONS: ReadonlyMap<string, ComparisonWord> = new Map([
  ['eq', EQUAL],
  ['ne', { operator: 'ne' }],
  ['neq', { operator: 'ne' }],
  ['lt', { operator: 'lt' }],
  ['lte', { operator: 'lte' }],
  ['gt', { operator: 'gt' }],
  ['gte', { operator: 'gte' }],
  ['in', { operator: 'in' }],
  ['eq_any', { operator: 'in' }],
  ['like', WITHIN],
  ['contains', WITHIN],
  ['q', WITHIN],
  ['startsWith', { operator: 'like', pattern: (text) => `${text}*` }],
  ['endsWith', { operator: 'like', pattern: (text) => `*${text}` }],
]);

/** The names that conditions of a type can use. */
export interface ConditionNames {
  readonly paths: PathNames;
  /** Parameters that are not conditions. */
  readonly others: readonly string[];
}

export const conditionNames = (type: RecordType, rights: Rights, others: readonly string[]): ConditionNames => ({
  paths: namesOf(type, type.defaultVariant, rights),
  others,
});

interface NamedComparison {
  readonly path: string;
  readonly comparison: ComparisonWord;
}

const SILENT: Complain = () => undefined;

const isPath = (paths: PathNames, text: string): boolean =>
  resolveSubject({ names: paths, followed: 0 }, text, SILENT, []) !== undefined;

/** A name as it stands is that of a field, if there is one. */
function comparedBy(paths: PathNames, key: string): NamedComparison | undefined {
  if (isPath(paths, key)) return { path: key, comparison: EQUAL };
  for (const [word, comparison] of COMPARISONS) {
    const path = key.slice(0, -word.length - 1);
    if ((key.endsWith(`_${word}`) || key.endsWith(`:${word}`)) && isPath(paths, path)) return { path, comparison };
  }
  return undefined;
}

/** The parameters of one condition, which the client calls `key`; several values are those of a list. */
export function conditionsOf(
  names: ConditionNames,
  key: string,
  values: readonly string[],
  faults: Fault[],
): readonly Parameter[] {
  const { paths } = names;
  const found = comparedBy(paths, key);
  if (!found) return key === SEARCH ? searched(paths.type, values, faults) : unknown(names, key, faults);
  const { path, comparison } = found;
  const { operator, pattern } = comparison;
  const named =
    (...steps: readonly string[]) =>
    (value: string): Parameter => ({ key, steps, value });
  // An empty text is in every text.
  if (pattern) return values.filter((value) => value !== '').map((value) => named(path, operator)(pattern(value)));
  if (operator === 'in') return values.flatMap((value) => value.split(',')).map(named(path, operator));
  if (operator === 'eq') return values.map(values.length > 1 ? named(path, 'in') : named(path));
  return values.map(named(path, operator));
}

const SEARCH = 'q';

/** A text in any field of text. */
function searched({ fields }: RecordType, values: readonly string[], faults: Fault[]): readonly Parameter[] {
  const complain = complainAbout(faults, SEARCH);
  const texts = [...fields.values()].filter(({ type }) => type.operators.includes('like'));
  const [text = '', ...others] = values;
  if (others.length > 0) return complain('repeated', `"${SEARCH}" is given twice`) ?? [];
  if (texts.length === 0) return complain('unknown-parameter', `No field can be searched by "${SEARCH}"`) ?? [];
  if (text === '') return [];
  return texts.map(({ name }) => ({ key: SEARCH, steps: ['$any', name, 'like'], value: `*${text}*` }));
}

function unknown(
  { paths: { type, rights }, others }: ConditionNames,
  key: string,
  faults: Fault[],
): readonly Parameter[] {
  const known = [type.identifier.name, ...type.fields.keys(), ...relationsFor(rights, type).keys(), ...others];
  const complain = complainAbout(faults, key);
  complain('unknown-parameter', `Unknown parameter ${quote(key)}`, () => {
    if (key.startsWith('_cnd')) return '; parameters like this are for /api';
    if (others.includes(`_${key}`)) return `; did you mean "_${key}"?`;
    const [, name = '', word = ''] = /^(.+)[_:]([a-z]+)$/i.exec(key) ?? [];
    if (type.fields.has(name))
      return `: "${name}" has no comparison ${quote(word)}${didYouMean(word, COMPARISONS.keys())}`;
    return didYouMean(key, known);
  });
  return [];
}

/** `_cnd[orderBy]`. */
export const orderedBy = (key: string, field: string, isDescending: boolean): readonly Parameter[] => [
  { key, steps: ['orderBy'], value: field },
  { key, steps: ['orderBy'], value: isDescending ? 'desc' : 'asc' },
];

/** `_cnd[limit]`; without `limit`, all from the offset on. */
export const limitedTo = (key: string, offset: number, limit: number | undefined): readonly Parameter[] => [
  { key, steps: ['limit', '0'], value: String(offset) },
  ...(limit === undefined ? [] : [{ key, steps: ['limit', '1'], value: String(limit) }]),
];

/** The relations to show. */
export const shownRelations = (paths: readonly string[]): Parameter => ({
  key: 'include',
  steps: undefined,
  value: paths.join(','),
});

const DIRECTIONS: ReadonlyMap<string, boolean> = new Map([
  ['asc', false],
  ['desc', true],
]);

/** Whether the order is descending; undefined for another word. */
export const directionOf = (text: string, complain: Complain): boolean | undefined =>
  DIRECTIONS.get(text.toLowerCase()) ?? complain('invalid-value', `${quote(text)} is not asc or desc`);
