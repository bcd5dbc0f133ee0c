/** Lists records: a page if there is a limit, else the whole list. */
import type { Caller } from '../edge/caller.ts';
import type { CountMode } from '../descriptor/descriptor.ts';
import { encodeCursor } from '../query/cursor.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { OperationContext } from './operation.ts';

interface ListArguments {
  readonly query: ListQuery;
  readonly count: CountMode;
  readonly caller: Caller;
}

/** One page: all its records are in memory. */
export interface PageResult {
  readonly status: 200;
  /** JSON texts. */
  readonly rows: readonly string[];
  /** undefined if it was not counted. */
  readonly total: number | undefined;
  readonly hasNext: boolean;
  /** Cursors of the neighbouring pages, for `after` and `before`. */
  readonly next: string | undefined;
  readonly previous: string | undefined;
}

/** The whole list, which is read as it is consumed. */
interface WholeResult {
  readonly status: 200;
  readonly stream: AsyncIterable<readonly string[]>;
  readonly total: number | undefined;
}

export type ListResult = PageResult | WholeResult;

export async function list({ store }: OperationContext, { query, count, caller }: ListArguments): Promise<ListResult> {
  if (query.limit === undefined) {
    caller.take(STREAM_BYTES);
    const { total, records } = await store.stream(query, count, caller);
    return { status: 200, stream: charged(records, caller), total };
  }
  const page = await store.page(query, count, caller);
  return {
    status: 200,
    rows: page.records,
    total: page.total,
    hasNext: page.hasNext,
    next: page.hasNext && page.last ? encodeCursor(query, page.last) : undefined,
    previous: page.hasPrevious && page.first ? encodeCursor(query, page.first) : undefined,
  };
}

/** Memory that a whole list takes while it is read piece by piece. */
const STREAM_BYTES = 1024 ** 2;

/** Long records come in long pieces, of which one is sent and one is read ahead. */
async function* charged(pieces: AsyncIterable<readonly string[]>, caller: Caller): AsyncGenerator<readonly string[]> {
  let taken = STREAM_BYTES;
  for await (const rows of pieces) {
    const more = 2 * rows.reduce((sum, { length }) => sum + length, 0) - taken;
    if (more > 0) {
      caller.take(more);
      taken += more;
    }
    yield rows;
  }
}
