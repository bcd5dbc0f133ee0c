/** `_cnd[orderBy]`: fields, each optionally followed by asc or desc. The identifier breaks ties. */
import type { RecordType } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import { complainAbout } from './faults.ts';
import type { OrderBy } from './list-query.ts';
import { orderTerms, type Term } from './order-terms.ts';
import type { Parameter } from './parameters.ts';
import { type Names, ownPath, resolvePath } from './resolve-path.ts';

export const MAX_ORDER_TERMS = 20;

/** The order of lists that ask for none. */
export function defaultOrder(type: RecordType): readonly OrderBy[] {
  const order = type.order.map(({ field, descending }) => ({ path: ownPath(type, field), descending }));
  return withTieBreak(type, order);
}

export function resolveOrder(parameters: readonly Parameter[], names: Names, faults: Fault[]): readonly OrderBy[] {
  const terms = orderTerms(parameters, faults);
  const order: OrderBy[] = [];
  for (const term of terms.slice(0, MAX_ORDER_TERMS)) {
    const one = resolveTerm(term, order, names, faults);
    if (one) order.push(one);
  }
  const beyond = terms[MAX_ORDER_TERMS];
  if (beyond)
    complainAbout(faults, beyond.field.key)('too-many', `A list is ordered by at most ${MAX_ORDER_TERMS} fields`);
  return withTieBreak(names.type, order);
}

function resolveTerm(term: Term, before: readonly OrderBy[], names: Names, faults: Fault[]): OrderBy | undefined {
  const complain = complainAbout(faults, term.field.key);
  const path = resolvePath(names, term.field.value, complain);
  if (!path) return undefined;
  if (path.field?.type.operators.length === 0) {
    return complain('not-orderable', `"${path.name}" is of type ${path.field.type.name}, which has no order`);
  }
  if (before.some((other) => other.path.name === path.name))
    return complain('repeated', `The list is ordered by "${path.name}" twice`);
  return { path, descending: term.descending };
}

/** No two records have the same identifier, so that nothing after it has a say. */
function withTieBreak(type: RecordType, order: readonly OrderBy[]): readonly OrderBy[] {
  const own = order.findIndex(({ path }) => path.relations.length === 0 && path.field === undefined);
  if (own >= 0) return order.slice(0, own + 1);
  return [...order, { path: ownPath(type, undefined), descending: order.at(-1)?.descending ?? false }];
}
