/** Shared by dialects: names of comparisons, and parameters as the query of `/api` has them. */
import type { OperatorName } from '../../field-types/field-type.ts';
import { relationsFor } from '../../model/rights.ts';
import { didYouMean } from '../../names.ts';
import type { Fault } from '../../problem.ts';
import type { PathNames } from '../../query/list-query.ts';
import { type Complain, complainAbout, type Parameter, quote } from '../../query/parameters.ts';
import { resolveSubject } from '../../query/paths.ts';

/** The operator, and for texts the pattern that has the value in place of `%`. */
type Comparison = readonly [operator: OperatorName, pattern?: string];

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
  ['like', ['like', '*%*']],
  ['contains', ['like', '*%*']],
  ['q', ['like', '*%*']],
  ['startsWith', ['like', '%*']],
  ['endsWith', ['like', '*%']],
]);

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
  names: PathNames,
  key: string,
  values: readonly string[],
  faults: Fault[],
  others: readonly string[] = [],
): readonly Parameter[] {
  const found = comparedBy(names, key);
  if (!found) return key === SEARCH ? searched(names, values, faults) : unknown(names, key, faults, others);
  const [path, operator, pattern] = found;
  const compared = (given: readonly string[], ...steps: readonly string[]): readonly Parameter[] =>
    given.map((value) => ({ key, steps, value }));
  if (pattern !== undefined) {
    // An empty text is in every text.
    const texts = values.filter((value) => value !== '');
    return compared(
      texts.map((text) => pattern.replace('%', () => text)),
      path,
      operator,
    );
  }
  if (operator === 'in') return compared(values.join(',').split(','), path, operator);
  if (operator === 'eq') return values.length > 1 ? compared(values, path, 'in') : compared(values, path);
  return compared(values, path, operator);
}

function searched({ type }: PathNames, values: readonly string[], faults: Fault[]): readonly Parameter[] {
  const complain = complainAbout(faults, SEARCH);
  const texts = [...type.fields.values()].filter((field) => field.type.operators.includes('like'));
  const [text = '', ...others] = values;
  if (others.length > 0) return complain('repeated', `"${SEARCH}" is given twice`) ?? [];
  if (texts.length === 0) return complain('unknown-parameter', `No field can be searched by "${SEARCH}"`) ?? [];
  if (text === '') return [];
  return texts.map(({ name }) => ({ key: SEARCH, steps: ['$any', name, 'like'], value: `*${text}*` }));
}

/** `others`: parameters that are not conditions. */
function unknown({ type, rights }: PathNames, key: string, faults: Fault[], others: readonly string[]): [] {
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
