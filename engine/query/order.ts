/** `_cnd[orderBy]`: fields, each optionally followed by asc or desc. The identifier breaks ties. */
import type { Field, RecordType } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, type Parameter, quote, textArray, wireArray } from './parameters.ts';
import type { OrderBy } from './list-query.ts';
import { ownPath, type PathNames, resolvePath } from './paths.ts';

export const MAX_ORDER_TERMS = 20;

/** The order of lists without `_cnd[orderBy]`. */
export function defaultOrder(type: RecordType): readonly OrderBy[] {
  const order = type.order.map(({ field, descending }) => ({ path: ownPath(type, field), descending }));
  return withTieBreak(type, order);
}

/** The order of a list by one field; by the identifier if there is none. */
export const orderBy = (type: RecordType, field: Field | undefined): readonly OrderBy[] =>
  withTieBreak(type, field === undefined ? [] : [{ path: ownPath(type, field), descending: false }]);

export const resolveOrder = (parameters: readonly Parameter[], names: PathNames, faults: Fault[]): readonly OrderBy[] =>
  withTieBreak(
    names.type,
    resolveTerms<OrderBy>(parameters, faults, (term, before) => resolveTerm(term, before, names, faults)),
  );

/** The terms that `resolve` accepts; `before`: those that precede one. */
export function resolveTerms<T>(
  parameters: readonly Parameter[],
  faults: Fault[],
  resolve: (term: Term, before: readonly T[]) => T | undefined,
): readonly T[] {
  const terms = orderTerms(parameters, faults);
  const order: T[] = [];
  for (const term of terms.slice(0, MAX_ORDER_TERMS)) {
    const one = resolve(term, order);
    if (one) order.push(one);
  }
  const beyond = terms[MAX_ORDER_TERMS];
  if (beyond) complainAbout(faults, beyond.field.key)('too-many', `An order has at most ${MAX_ORDER_TERMS} terms`);
  return order;
}

/** No path has one of these signs. */
const SIGNS = /[-+:|\s"'[\]]/;

function resolveTerm(term: Term, before: readonly OrderBy[], names: PathNames, faults: Fault[]): OrderBy | undefined {
  const { key, value } = term.field;
  const complain = complainAbout(faults, key);
  if (SIGNS.test(value))
    return complain('unknown-field', `${quote(value)} is not a field; write _cnd[orderBy]=FIELD,desc`);
  const path = resolvePath(names, value, complain, before.length > 0 ? [...DIRECTIONS.keys()] : []);
  if (!path) return undefined;
  if (path.field?.type.operators.length === 0) {
    return complain('not-orderable', `"${path.name}" is of type ${path.field.type.name}, which has no order`);
  }
  if (before.some((other) => other.path.name === path.name))
    return complain('repeated', `The list is ordered by "${path.name}" twice`);
  return { path, descending: term.descending };
}

/** Ends the order at the identifier, which is unique, and adds it if missing. */
function withTieBreak(type: RecordType, order: readonly OrderBy[]): readonly OrderBy[] {
  const own = order.findIndex(({ path }) => path.relations.length === 0 && path.field === undefined);
  if (own >= 0) return order.slice(0, own + 1);
  return [...order, { path: ownPath(type, undefined), descending: order.at(-1)?.descending ?? false }];
}

// The terms of `_cnd[orderBy]` in any of their notations; field names are not checked here.

/** A field as the client wrote it, and its direction. */
export interface Term {
  readonly field: Parameter;
  readonly descending: boolean;
}

const DIRECTIONS: ReadonlyMap<string, boolean> = new Map([
  ['asc', false],
  ['desc', true],
]);
const directionOf = ({ value }: Parameter): boolean | undefined => DIRECTIONS.get(value.toLowerCase());

function orderTerms(parameters: readonly Parameter[], faults: Fault[]): readonly Term[] {
  const items = orderItems(parameters, faults);
  return items.flatMap((item, place) => {
    if (directionOf(item) === undefined) return { field: item, descending: directionAfter(items, place) ?? false };
    const before = items[place - 1];
    if (!before || directionOf(before) !== undefined) {
      complainAbout(faults, item.key)('misplaced-direction', `${quote(item.value)} must follow a field`);
    }
    return [];
  });
}

function directionAfter(items: readonly Parameter[], place: number): boolean | undefined {
  const next = items[place + 1];
  return next && directionOf(next);
}

const PAIRS = 'Pairs are written _cnd[orderBy][0][0]=name&_cnd[orderBy][0][1]=desc';

/** `[0][0]` or `[0][]`: one of a list of pairs, each a field and its direction. */
const isInPair = ({ steps = [] }: Parameter): boolean => steps.length === 3;

function orderItems(parameters: readonly Parameter[], faults: Fault[]): readonly Parameter[] {
  const [first] = parameters;
  if (!first) return [];
  const complain = complainAbout(faults, first.key);
  if (!parameters.some(isInPair)) return textsOf(parameters, 1, complain);
  if (!parameters.every(isInPair)) return complain('mixed-forms', `Not every item is in a pair. ${PAIRS}`) ?? [];
  const pairs = wireArray(parameters, 1, complain);
  if (pairs && pairs.form !== 'indices')
    return complain('malformed-array', `The pairs have no indices. ${PAIRS}`) ?? [];
  return pairs?.items.flatMap(([, pair]) => onePair(pair, complain)) ?? [];
}

const textsOf = (parameters: readonly Parameter[], at: number, complain: Complain): readonly Parameter[] =>
  textArray(parameters, at, complain)?.items.map(({ parameter }) => parameter) ?? [];

function onePair(parameters: readonly Parameter[], complain: Complain): readonly Parameter[] {
  const items = textsOf(parameters, 2, complain);
  const kinds = items.map((item) => (directionOf(item) === undefined ? 'field' : 'direction')).join(' ');
  if (['', 'field', 'field direction'].includes(kinds)) return items;
  return complain('malformed-array', `Each pair is a field, optionally followed by asc or desc. ${PAIRS}`) ?? [];
}
