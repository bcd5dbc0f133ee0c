/** Shared by dialects: names of comparisons, and parameters as the query of `/api` has them. */
import type { OperatorName } from '../../field-types/field-type.ts';
import type { RecordType } from '../../model/model.ts';
import { relationsFor, type Rights } from '../../model/rights.ts';
import { didYouMean } from '../../names.ts';
import type { Fault } from '../../problem.ts';
import type { PathNames } from '../../query/list-query.ts';
import { type Complain, complainAbout, type Parameter, quote } from '../../query/parameters.ts';
import { namesOf, resolveSubject } from '../../query/paths.ts';

/** An operator, and the pattern for texts that have the value in this place. */
type Comparison = readonly [operator: OperatorName, pattern?: (text: string) => string];

const WITHIN: Comparison = ['like', (text) => `*${text}*`];

/** By the word behind the name of a field: `position_gte`, or `position:gte` in json-server 1. */
const COMPARISONS: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ['eq', ['eq']],
  ['ne', ['ne']],
  ['neq', ['ne']],
  ['lt', ['lt']],
  ['lte', ['lte']],
  ['gt', ['gt']],
  ['gte', ['gte']],
  ['in', ['in']],
  ['eq_any', ['in']],
  ['like', WITHIN],
  ['contains', WITHIN],
  ['q', WITHIN],
  ['startsWith', ['like', (text) => `${text}*`]],
  ['endsWith', ['like', (text) => `*${text}`]],
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

/** A name as it stands is that of a field, if there is one. */
function comparedBy(names: PathNames, key: string): readonly [path: string, ...Comparison] | undefined {
  const isPath = (text: string): boolean =>
    resolveSubject({ names, followed: 0 }, text, () => undefined, []) !== undefined;
  if (isPath(key)) return [key, 'eq'];
  for (const [word, comparison] of COMPARISONS) {
    const path = key.slice(0, -word.length - 1);
    if ((key.endsWith(`_${word}`) || key.endsWith(`:${word}`)) && isPath(path)) return [path, ...comparison];
  }
  return undefined;
}

const SEARCH = 'q';

/** The parameters of one condition, which the client calls `key`; several values are those of a list. */
export function conditionsOf(
  names: ConditionNames,
  key: string,
  values: readonly string[],
  faults: Fault[],
): readonly Parameter[] {
  const found = comparedBy(names.paths, key);
  if (!found) return key === SEARCH ? searched(names.paths.type, values, faults) : unknown(names, key, faults);
  const [path, operator, pattern] = found;
  const compared = (given: readonly string[], ...steps: readonly string[]): readonly Parameter[] =>
    given.map((value) => ({ key, steps, value }));
  // An empty text is in every text.
  if (pattern) return compared(values.filter((value) => value !== '').map(pattern), path, operator);
  if (operator === 'in') return compared(values.join(',').split(','), path, operator);
  if (operator === 'eq') return values.length > 1 ? compared(values, path, 'in') : compared(values, path);
  return compared(values, path, operator);
}

/** Finds a text in any field of text. */
function searched({ fields }: RecordType, values: readonly string[], faults: Fault[]): readonly Parameter[] {
  const complain = complainAbout(faults, SEARCH);
  const texts = [...fields.values()].filter(({ type }) => type.operators.includes('like'));
  const [text = '', ...others] = values;
  if (others.length > 0) return complain('repeated', `"${SEARCH}" is given twice`) ?? [];
  if (texts.length === 0) return complain('unknown-parameter', `No field can be searched by "${SEARCH}"`) ?? [];
  if (text === '') return [];
  return texts.map(({ name }) => ({ key: SEARCH, steps: ['$any', name, 'like'], value: `*${text}*` }));
}

function unknown({ paths, others }: ConditionNames, key: string, faults: Fault[]): readonly Parameter[] {
  const { type, rights } = paths;
  complainAbout(faults, key)('unknown-parameter', `Unknown parameter ${quote(key)}`, () => {
    if (key.startsWith('_cnd')) return '; parameters like this are for /api';
    if (others.includes(`_${key}`)) return `; did you mean "_${key}"?`;
    const [, name = '', word = ''] = /^(.+)[_:]([a-z]+)$/i.exec(key) ?? [];
    if (type.fields.has(name))
      return `: "${name}" has no comparison ${quote(word)}${didYouMean(word, COMPARISONS.keys())}`;
    const relations = relationsFor(rights, type).keys();
    return didYouMean(key, [type.identifier.name, ...type.fields.keys(), ...relations, ...others]);
  });
  return [];
}

/** `_cnd[orderBy]`. */
export const orderedBy = (key: string, field: string, descends: boolean): readonly Parameter[] => [
  { key, steps: ['orderBy'], value: field },
  { key, steps: ['orderBy'], value: descends ? 'desc' : 'asc' },
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

/** Whether the order is descending; another word than asc and desc is refused. */
export function isDescending(text: string, complain: Complain): boolean {
  const word = text.toLowerCase();
  if (word !== 'asc' && word !== 'desc') complain('invalid-value', `${quote(text)} is not asc or desc`);
  return word === 'desc';
}
