/** Deletes one record, or all that filters find. */
import type { DeleteQuery, WriteQuery } from '../query/list-query.ts';
import { done, type OneArguments, type OperationContext, type WriteArguments, type WriteResult } from './operation.ts';
import { preconditionOf, refusePreconditions } from './preconditions.ts';

/** The result is the record as it was, which no longer has a tag. */
export async function deleteOne(context: OperationContext, given: OneArguments<WriteQuery>): Promise<WriteResult> {
  const { type, store, author, rights } = context;
  const { id, query, preconditions, caller, minimal } = given;
  const precondition = preconditionOf(preconditions, type.preconditions);
  return done(
    context,
    given,
    { type, identifier: id, ...query, author, rights, caller, precondition },
    {
      write: store.delete,
      writeOnce: store.once.delete,
      resultOf: ({ body, effects }) => ({ status: minimal ? 204 : 200, json: minimal ? undefined : body, effects }),
    },
  );
}

/** Deletes all of them or none, and never more than `most`. */
export async function deleteFound(
  context: OperationContext,
  given: WriteArguments<DeleteQuery> & { readonly most: number },
): Promise<WriteResult> {
  const { type, store, author, rights } = context;
  const { query, preconditions, caller, minimal, most } = given;
  refusePreconditions(preconditions, type.preconditions, 'a collection has no entity tag to compare: leave it out');
  return done(
    context,
    given,
    { ...query, most, author, rights, caller },
    {
      write: store.deleteFound,
      writeOnce: store.once.deleteFound,
      resultOf: ({ deleted, affected, effects }) => ({
        status: minimal ? 204 : 200,
        json: minimal ? undefined : JSON.stringify({ deleted, affected }),
        effects,
      }),
    },
  );
}
