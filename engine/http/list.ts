/** GET of many records: a page if there is a limit, else the whole list, in one of the formats. */
import { andThen, type Awaitable } from '../awaitable.ts';
import type { Caller } from '../caller.ts';
import type { Cursor, ListQuery } from '../query/list-query.ts';
import type { CountMode } from '../descriptor/descriptor.ts';
import { type Answer, type CountPreference, countPreference, readAnswer } from './answer.ts';
import { pageHash, pageTag } from './conditions.ts';
import type { Exchange, ServeOperation } from './request.ts';
import { LIST_FORMATS, type ListFormat } from './formats.ts';
import type { Page, Stream } from '../storage/store.ts';
import type { Service } from './operations.ts';
import type { Turns } from './turns.ts';
import type { JsonValue } from '../json.ts';
import { encodeCursor } from '../query/cursor.ts';
import { pageSearches } from '../query/parameters.ts';
import { memoized } from '../memo.ts';

/** Memory that a whole list takes while it is read piece by piece. */
const STREAM_BYTES = 1024 ** 2;
/** Characters of a page that is sent at once, and about as many of each piece of a longer one. */
const LONG_PAGE = 512 * 1024;
const PIECE = 64 * 1024;

/** A list request, read. */
interface ResolvedList {
  readonly query: ListQuery;
  readonly format: ListFormat;
  readonly counting: CountPreference;
}

export function list(service: Service): ServeOperation {
  return (exchange) => {
    const { request, target, mediaType } = exchange;
    const format = formatOf(mediaType);
    const query = format.query(service.queries.list(target.query), target.query);
    const answer = query.limit === undefined ? wholeAnswer : pageAnswer;
    return answer(service, exchange, {
      query,
      format,
      counting: countPreference(request.headers.prefer, service.type),
    });
  };
}

function formatOf(mediaType: string): ListFormat {
  const format = LIST_FORMATS.get(mediaType);
  if (format === undefined) throw new Error(`no list is answered as ${mediaType}`);
  return format;
}

function pageAnswer(service: Service, exchange: Exchange, wanted: ResolvedList): Awaitable<Answer> {
  const { type, path, store } = service;
  const { request, caller, target } = exchange;
  const {
    query,
    format,
    counting: { count, applied },
  } = wanted;
  return andThen(store.page(query, count, caller), (page) => {
    if (lengthOf(page.records) > LONG_PAGE) return longPageAnswer(service, exchange, wanted, page);
    const body = format.whole(page.records, query.view);
    const links = pageLinks(target.base + path, target.query, query, page);
    const tag = type.preconditions === 'off' ? undefined : pageTag(body, taggedTotal(count, page.total), links);
    return readAnswer(request, body, tag, { ...contentHeaders(format, page.total), Link: links, ...applied });
  });
}

/** Each piece has its own turn of the event loop. */
async function longPageAnswer(
  { type, path, largeTurn }: Service,
  { request, target }: Exchange,
  { query, format, counting: { count, applied } }: ResolvedList,
  page: Page,
): Promise<Answer> {
  const links = pageLinks(target.base + path, target.query, query, page);
  const pieces: string[] = [];
  const hash = pageHash();
  for await (const piece of format.pieces(inTurns(page.records, largeTurn), query.view)) {
    if (type.preconditions !== 'off') hash.add(piece);
    pieces.push(piece);
  }
  const tag = type.preconditions === 'off' ? undefined : hash.tag(taggedTotal(count, page.total), links);
  const headers = { ...contentHeaders(format, page.total), Link: links, ...applied };
  return readAnswer(request, inPieces(pieces), tag, headers);
}

async function* inTurns(records: readonly string[], turn: Turns): AsyncGenerator<readonly string[]> {
  for (let from = 0, to = 0; from < records.length; from = to) {
    for (let length = 0; to < records.length && length < PIECE; to += 1) length += records[to]?.length ?? 0;
    await turn();
    yield records.slice(from, to);
  }
}

/** An estimate differs from one request to the next: the page is still the same. */
const taggedTotal = (count: CountMode, total: number | undefined): number | undefined =>
  count === 'estimated' ? undefined : total;

const lengthOf = (records: readonly string[]): number => records.reduce((sum, { length }) => sum + length, 0);

async function* inPieces(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces;
}

async function wholeAnswer(
  { type, store }: Service,
  { request, caller }: Exchange,
  { query, format, counting: { count, applied } }: ResolvedList,
): Promise<Answer> {
  caller.take(STREAM_BYTES);
  const { total, records } = await store.stream(query, count, caller);
  const body = await gather(format.pieces(drawing(records, caller), query.view));
  const headers = { ...contentHeaders(format, total), ...applied };
  if (typeof body !== 'string') return { status: 200, headers, body };
  const tag = type.preconditions === 'off' ? undefined : pageTag(body, taggedTotal(count, total), '');
  return readAnswer(request, body, tag, headers);
}

/** Long records come in long pieces, of which one is sent and one is read ahead. */
async function* drawing(all: Stream['records'], caller: Caller): AsyncGenerator<readonly string[]> {
  let drawn = STREAM_BYTES;
  for await (const records of all) {
    const more = 2 * lengthOf(records) - drawn;
    if (more > 0) {
      caller.take(more);
      drawn += more;
    }
    yield records;
  }
}

const contentHeaders = ({ contentType }: ListFormat, total: number | undefined): Readonly<Record<string, string>> => ({
  'Content-Type': contentType,
  ...(total === undefined ? {} : { 'X-Total-Count': String(total) }),
});

/** Characters. A list that turns out to be short is sent whole, with length and tag; a longer one is streamed. */
const GATHERED_LENGTH = 64 * 1024;

/** All pieces as one text if they are short enough, else as pieces. */
export async function gather(pieces: AsyncIterable<string>): Promise<string | AsyncIterable<string>> {
  const iterator = pieces[Symbol.asyncIterator]();
  let text = '';
  while (text.length <= GATHERED_LENGTH) {
    const next = await iterator.next();
    if (next.done === true) return text;
    text += next.value;
  }
  return continued(text, iterator);
}

/** Ending early ends the source. */
async function* continued(text: string, iterator: AsyncIterator<string>): AsyncIterable<string> {
  try {
    yield text;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

// The `Link` header of a page (RFC 8288) holds cursors, which stay right while records come and go.

const searchesOf = memoized(({ limit = 0 }: ListQuery, search: string) => pageSearches(search, limit));

/** `url` is the path of the collection, `search` the query string that the client sent. */
function pageLinks(url: string, search: string, query: ListQuery, page: Page): string {
  const searchOf = searchesOf(query, search);
  const link = (relation: string, text: string): string => `<${url}?${text}>; rel="${relation}"`;
  const neighbour = (relation: string, direction: Cursor['direction'], values: readonly JsonValue[]): string[] => {
    const cursor = encodeCursor(query, values);
    return cursor === undefined ? [] : [link(relation, searchOf(direction, cursor))];
  };
  return [
    link('first', searchOf()),
    ...(page.hasNext && page.last ? neighbour('next', 'after', page.last) : []),
    ...(page.hasPrevious && page.first ? neighbour('prev', 'before', page.first) : []),
  ].join(', ');
}
