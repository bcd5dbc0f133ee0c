/** Summarizes records: how many there are in each group, their sums, least and greatest values. */
import type { Caller } from '../edge/caller.ts';
import type { CountMode } from '../descriptor/descriptor.ts';
import type { SummaryQuery } from '../query/list-query.ts';
import type { OperationContext } from './operation.ts';

interface SummaryArguments {
  readonly query: SummaryQuery;
  readonly count: CountMode;
  readonly caller: Caller;
}

export interface SummaryResult {
  readonly status: 200;
  /** The groups as JSON texts. */
  readonly rows: readonly string[];
  /** The number of groups; undefined if they were not counted. */
  readonly total: number | undefined;
  readonly hasNext: boolean;
}

export async function summary(
  { store }: OperationContext,
  { query, count, caller }: SummaryArguments,
): Promise<SummaryResult> {
  const { groups, total, hasNext } = await store.summary(query, count, caller);
  return { status: 200, rows: groups, total, hasNext };
}
