/** GET of many records: a page where there is a limit, else the whole list; as JSON, or one of the other formats. */
import { andThen, type Awaitable } from '../../awaitable.ts';
import type { Caller } from '../../caller.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { Answer } from '../answer.ts';
import { pageHash, pageTag } from '../entity-tag.ts';
import type { Exchange, Operation } from '../exchange.ts';
import { gather } from '../gather.ts';
import { pageLinks } from '../links.ts';
import { LIST_FORMATS, type ListFormat } from '../list-formats.ts';
import { listPreferences, type Preferences } from '../preferences.ts';
import { readAnswer } from '../record-answer.ts';
import type { Page } from '../../storage/store.ts';
import type { Service } from '../service.ts';
import type { Turns } from '../turns.ts';

/** What a whole list takes while it is read, piece by piece. */
const STREAM_BYTES = 1024 ** 2;

/** A list request, read. */
interface Wanted {
  readonly query: ListQuery;
  readonly format: ListFormat;
  readonly preferences: Preferences;
}

export function list(service: Service): Operation {
  return (exchange) => {
    const { request, target, mediaType } = exchange;
    const format = formatOf(mediaType);
    const query = format.query(service.queries.list(target.query), target.query);
    const answer = query.limit === undefined ? wholeAnswer : pageAnswer;
    return answer(service, exchange, { query, format, preferences: listPreferences(request.headers.prefer) });
  };
}

function formatOf(mediaType: string): ListFormat {
  const format = LIST_FORMATS.get(mediaType);
  if (format === undefined) throw new Error(`no list is answered as ${mediaType}`);
  return format;
}

function pageAnswer(service: Service, exchange: Exchange, wanted: Wanted): Awaitable<Answer> {
  const { type, path, store } = service;
  const { request, caller, target } = exchange;
  const {
    query,
    format,
    preferences: { uncounted, applied },
  } = wanted;
  return andThen(store.page(query, !uncounted, caller), (page) => {
    if (typeof page.body !== 'string') return longPageAnswer(service, exchange, wanted, page, page.body);
    const body = format.whole(page.body, query.view);
    const links = pageLinks(target.base + path, target.query, query, page);
    const tag = type.preconditions === 'off' ? undefined : pageTag(body, page.total, links);
    return readAnswer(request, body, tag, { ...contentHeaders(format, page.total), Link: links, ...applied });
  });
}

/** Each piece has a turn of the event loop of its own. */
async function longPageAnswer(
  { type, path, largeTurn }: Service,
  { request, target }: Exchange,
  { query, format, preferences: { applied } }: Wanted,
  page: Page,
  texts: readonly string[],
): Promise<Answer> {
  const links = pageLinks(target.base + path, target.query, query, page);
  const pieces: string[] = [];
  const hash = pageHash();
  for await (const piece of format.pieces(inTurns(texts, largeTurn), query.view)) {
    if (type.preconditions !== 'off') hash.add(piece);
    pieces.push(piece);
  }
  const tag = type.preconditions === 'off' ? undefined : hash.tag(page.total, links);
  const headers = { ...contentHeaders(format, page.total), Link: links, ...applied };
  return readAnswer(request, inPieces(pieces), tag, headers);
}

async function* inTurns(pieces: readonly string[], turn: Turns): AsyncGenerator<string> {
  for (const piece of pieces) {
    await turn();
    yield piece;
  }
}

async function* inPieces(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces;
}

async function wholeAnswer(
  { type, store }: Service,
  { request, caller }: Exchange,
  { query, format, preferences: { uncounted, applied } }: Wanted,
): Promise<Answer> {
  caller.take(STREAM_BYTES);
  const { total, chunks } = await store.stream(query, !uncounted, caller);
  const body = await gather(format.pieces(drawing(chunks, caller), query.view));
  const headers = { ...contentHeaders(format, total), ...applied };
  if (typeof body !== 'string') return { status: 200, headers, body };
  const tag = type.preconditions === 'off' ? undefined : pageTag(body, total, '');
  return readAnswer(request, body, tag, headers);
}

/** Long records come in long pieces, of which one is sent and one is read ahead. */
async function* drawing(pieces: AsyncIterable<string>, caller: Caller): AsyncGenerator<string> {
  let drawn = STREAM_BYTES;
  for await (const piece of pieces) {
    const more = 2 * piece.length - drawn;
    if (more > 0) {
      caller.take(more);
      drawn += more;
    }
    yield piece;
  }
}

const contentHeaders = ({ contentType }: ListFormat, total: number | undefined): Readonly<Record<string, string>> => ({
  'Content-Type': contentType,
  ...(total === undefined ? {} : { 'X-Total-Count': String(total) }),
});
