/** Requests for many records. GET: a page if there is a limit, else the whole list, in one of the formats; DELETE. */
import type { Caller } from '../caller.ts';
import type { Cursor, ListQuery, View } from '../query/list-query.ts';
import type { CountMode } from '../descriptor/descriptor.ts';
import { type Answer, readAnswer, type Whole, writeAnswer } from './answer.ts';
import { type CountPreference, countPreference, maxAffected } from './preferences.ts';
import { pageEnd, pageTag, refuseConditions } from './preconditions.ts';
import type { Exchange, ServeOperation } from './request.ts';
import { LIST_FORMATS, type ListFormat, membersAt, type Table } from './formats.ts';
import { NO_CONTENT, refuseContent } from './content.ts';
import { cellForm, eitherCell } from './csv.ts';
import { CSV_TYPE, NDJSON_TYPE } from './negotiation.ts';
import type { DeletedRecords, Page, Stream } from '../storage/store.ts';
import { done, onceOf, reported, retried, type Service } from './operations.ts';
import type { JsonValue } from '../json.ts';
import { encodeCursor } from '../query/cursor.ts';
import { pageSearches } from '../query/parameters.ts';
import { memoized } from '../memo.ts';
import type { Relation } from '../model/model.ts';
import { Problem } from '../problem.ts';
import { isLink, rowView } from '../query/view.ts';

/** Memory that a whole list takes while it is read piece by piece. */
const STREAM_BYTES = 1024 ** 2;

/** A list request, read. */
interface ResolvedList {
  readonly query: ListQuery;
  readonly format: ListFormat;
  readonly counting: CountPreference;
  readonly frame: FrameList;
}

/** What says which part of a list is answered, and how its records are put together. */
interface ListFrame {
  readonly headers: Readonly<Record<string, string>>;
  readonly format: ListFormat;
}

interface FramedList {
  readonly query: ListQuery;
  readonly format: ListFormat;
  /** undefined if it was not counted. */
  readonly total: number | undefined;
  /** undefined for a whole list. */
  readonly page: Page | undefined;
}

export type FrameList = (service: Service, exchange: Exchange, found: FramedList) => ListFrame;

interface Framing {
  readonly frame: FrameList;
  /** Whether lists are counted, as an estimate at least, if the type says that they are not. */
  readonly needsTotal: boolean;
}

const ESTIMATED: CountMode = 'estimated';

const linked: FrameList = ({ path }, { target }, { query, format, page }) => ({
  headers: page ? { Link: pageLinks(target.base + path, target.query, query, page) } : {},
  format,
});

export const list = (service: Service): ServeOperation => framedList(service, { frame: linked, needsTotal: false });

export function framedList(service: Service, { frame, needsTotal }: Framing): ServeOperation {
  const { type } = service;
  const counted = needsTotal && type.count === 'none' ? { count: ESTIMATED } : type;
  return (exchange) => {
    const { request, target, mediaType } = exchange;
    const format = formatOf(mediaType);
    const asked = service.queries.list(target.query);
    const query = format.isTable ? asTable(asked) : asked;
    const answer = query.limit === undefined ? wholeAnswer : pageAnswer;
    return answer(service, exchange, {
      query,
      format,
      counting: countPreference(request.headers.prefer, counted),
      frame,
    });
  };
}

export function formatOf(mediaType: string): ListFormat {
  const format = LIST_FORMATS.get(mediaType);
  if (format === undefined) throw new Error(`no list is answered as ${mediaType}`);
  return format;
}

async function pageAnswer(service: Service, exchange: Exchange, wanted: ResolvedList): Promise<Answer> {
  const { store } = service;
  const {
    query,
    counting: { count, applied },
    frame,
  } = wanted;
  const page = await store.page(query, count, exchange.caller);
  const { records: rows, total } = page;
  const { headers: placed, format } = frame(service, exchange, { query, format: wanted.format, total, page });
  const headers = { ...contentHeaders(format, total), ...placed, ...applied };
  const end = pageEnd(taggedTotal(count, total), taggedPlace(placed));
  return rowsAnswer(service, exchange, { rows, format, table: () => recordTable(query.view), headers, end });
}

/** What is answered of a list that is in memory. */
interface AnsweredRows {
  /** JSON texts. */
  readonly rows: readonly string[];
  readonly format: ListFormat;
  readonly table: () => Table;
  readonly headers: Readonly<Record<string, string>>;
  /** What the tag covers besides the rows. */
  readonly end: string;
}

export function rowsAnswer(service: Service, { request }: Exchange, answered: AnsweredRows): Answer {
  const { rows, format, table, headers, end } = answered;
  const body = format.whole(rows, table);
  const tag = service.type.preconditions === 'off' ? undefined : pageTag(body, end);
  return readAnswer(request, body, tag, headers);
}

/** An estimate differs from one request to the next: the page is still the same. */
const taggedTotal = (count: CountMode, total: number | undefined): number | undefined =>
  count === 'estimated' ? undefined : total;

const taggedPlace = (placed: ListFrame['headers']): string => Object.values(placed).join();

const lengthOf = (records: readonly string[]): number => records.reduce((sum, { length }) => sum + length, 0);

async function wholeAnswer(service: Service, exchange: Exchange, wanted: ResolvedList): Promise<Answer> {
  const { type, store } = service;
  const { request, caller } = exchange;
  const {
    query,
    counting: { count, applied },
    frame,
  } = wanted;
  caller.take(STREAM_BYTES);
  const { total, records } = await store.stream(query, count, caller);
  const found = { query, format: wanted.format, total, page: undefined };
  const { headers: placed, format } = frame(service, exchange, found);
  const body = await gather(format.pieces(drawing(records, caller), () => recordTable(query.view)));
  const headers = { ...contentHeaders(format, total), ...placed, ...applied };
  if (typeof body !== 'string') return { status: 200, headers, body };
  const end = pageEnd(taggedTotal(count, total), taggedPlace(placed));
  const tag = type.preconditions === 'off' ? undefined : pageTag(body, end);
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

export const contentHeaders = (
  { contentType }: ListFormat,
  total: number | undefined,
): Readonly<Record<string, string>> => ({
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

// DELETE: all records that the filters find, or none, and never more than the client allows.

export function removeFound(service: Service): ServeOperation {
  const { store, queries, author } = service;
  return async (exchange) => {
    const { request, caller, target } = exchange;
    await refuseContent(request);
    const once = onceOf(exchange, NO_CONTENT, service);
    const { query, dryRun } = queries.remove(target.query);
    refuseConditions(request, service.type.preconditions, 'a collection has no entity tag to compare: leave it out');
    const most = maxAffected(request);
    const wanted = { query, most, author, caller, dryRun };
    const answered = ({ deleted, affected, effects }: DeletedRecords): Whole => {
      const { headers, ...rest } = writeAnswer(request, 200, JSON.stringify({ deleted, affected }), {});
      const applied = [`max-affected=${most}`, headers['Preference-Applied']].filter((one) => one !== undefined);
      const answer = { ...rest, headers: { ...headers, 'Preference-Applied': applied.join(', ') } };
      return reported(service, 200, answer, effects);
    };
    return done(once, wanted, answered, retried(service, request), store.deleteFound, store.once.deleteFound);
  };
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

// Lists as tables.

/** A cell holds one value: of a related record, its identifier. What the default view shows besides is left out. */
function asTable(asked: ListQuery): ListQuery {
  const { chosenBy, relations } = asked.view;
  const more = chosenBy && relations.find((one) => chosenBy === 'include' || !isLink(one));
  if (more) throw relationInTable(chosenBy, linkHint(more.relation));
  return { ...asked, view: rowView(asked.view) };
}

const linkHint = ({ name, toMany, target: { identifier } }: Relation): string =>
  toMany || !identifier.inRecord
    ? `"${name}" is ${toMany ? 'a set' : 'a record'}`
    : `"${name}" is a relation: fields=${name}.${identifier.name} is a column of identifiers`;

export function relationInTable(parameter: string, reason: string): Problem {
  const message = `${CSV_TYPE} holds one value in each cell; ${reason}. Take ${NDJSON_TYPE} for records with relations`;
  return new Problem('invalid-query', message, { errors: [{ parameter, code: 'relation-in-table', message }] });
}

function recordTable({ type: { identifier }, fields, relations }: View): Table {
  const columns: readonly (readonly [name: string, cell: (text: string) => string])[] = [
    ...(identifier.inRecord ? [[identifier.name, asItIs] as const] : []),
    ...fields.map((field) => [field.name, cellForm(field) === 'either' ? eitherCell : asItIs] as const),
    ...relations.map(({ relation }) => [relation.name, linkCell] as const),
  ];
  const names = columns.map(([name]) => name);
  const members = membersAt(names);
  return { names, cells: (row) => members(row).map((text, index) => columns[index]?.[1](text) ?? text) };
}

const asItIs = (text: string): string => text;

/** Of `{"zone_id":9}`, the 9. */
const linkCell = (text: string): string => (text === 'null' ? text : text.slice(text.lastIndexOf(':') + 1, -1).trim());
