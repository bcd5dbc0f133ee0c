/** Reads one record. */
import type { Caller } from '../edge/caller.ts';
import { Problem } from '../problem.ts';
import type { View } from '../query/list-query.ts';
import { type OperationContext, tagOf } from './operation.ts';

interface GetArguments {
  readonly id: number;
  readonly query: View;
  readonly caller: Caller;
}

export interface RecordResult {
  readonly status: 200;
  /** JSON text. */
  readonly json: string;
  /** undefined if the type goes without. */
  readonly tag: string | undefined;
}

/** On SQLite the record is there at once: reads by identifier are the most frequent requests, and go without a promise. */
export function get(
  context: OperationContext,
  { id, query, caller }: GetArguments,
): RecordResult | Promise<RecordResult> {
  const found = context.store.get(query, id, caller);
  return found instanceof Promise ? found.then((json) => resultOf(context, id, json)) : resultOf(context, id, found);
}

function resultOf({ type }: OperationContext, id: number, json: string | undefined): RecordResult {
  if (json === undefined) throw new Problem('record-not-found', `There is no ${type.name} ${id}`);
  return { status: 200, json, tag: tagOf(type, json) };
}
