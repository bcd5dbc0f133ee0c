/** Lists and summaries over HTTP: their formats, headers, tags and links. */
import type { JsonObject, JsonValue } from '../json/json.ts';
import { membersOf } from '../json/raw.ts';
import type { Field, Relation } from '../model/model.ts';
import { entityTag } from '../operations/operation.ts';
import { list, type ListResult, type LogRead, turnOf } from '../operations/read.ts';
import { CSV_CONTENT, CSV_TYPE, NDJSON_TYPE, PATHS } from '../operations/table.ts';
import { faultyRequest, type Problem } from '../problem.ts';
import type { ListQuery, SummaryQuery, View } from '../query/list-query.ts';
import { packed } from '../query/parameters.ts';
import { isLink, rowView } from '../query/paths.ts';
import { type Answer, readAnswer } from './answer.ts';
import type { Exchange, Server, Service } from './exchange.ts';
import { cellForm, eitherCell } from './lines.ts';
import { countPreference, fullPath, type HeaderMap, preconditionsOf } from './request.ts';

/** Makes the body of a response from rows of JSON. */
interface RowFormat {
  readonly open: string;
  readonly row: (text: string) => string;
  readonly between: string;
  readonly close: string;
}

const JSON_ROWS: RowFormat = { open: '[', row: (text) => text, between: ',', close: ']' };
const NDJSON_ROWS: RowFormat = { open: '', row: (text) => `${text}\n`, between: '', close: '' };

export const plainRows = (mediaType: string): RowFormat => (mediaType === NDJSON_TYPE ? NDJSON_ROWS : JSON_ROWS);

export const whole = (rows: readonly string[], { open, row, between, close }: RowFormat): string =>
  open + rows.map(row).join(between) + close;

async function* pieces(all: AsyncIterable<readonly string[]>, format: RowFormat): AsyncGenerator<string> {
  let before = format.open;
  for await (const rows of all) {
    yield before + rows.map(format.row).join(format.between);
    before = format.between;
  }
  yield (before === format.open ? before : '') + format.close;
}

/** Makes the headers that link pages, and optionally another format. */
export type FrameList = (
  service: Service,
  exchange: Exchange,
  page: { readonly query: ListQuery; readonly format: RowFormat; readonly result: ListResult },
) => { readonly headers: HeaderMap; readonly format?: RowFormat };

/** The query string for a query's page at this offset. */
const searchOfPage = ({ shared, limit }: ListQuery | SummaryQuery, offset = 0) =>
  `${packed(shared)}_cnd%5Blimit%5D=${offset}&_cnd%5Blimit%5D=${limit}`;

/** Links use cursors, which stay valid while records come and go. */
const linked: FrameList = ({ path }, { target }, { query, result }) => {
  if (!('rows' in result)) return { headers: {} };
  const { next, previous } = result;
  const first = searchOfPage(query);
  const searches = { first, next: next && `${first}&after=${next}`, prev: previous && `${first}&before=${previous}` };
  return { headers: { Link: linksTo(target.base + path, searches) } };
};

/** Proxies refuse headers of more than 4 KB, unless told otherwise. */
const MAX_LINKS_LENGTH = 2000;

/** The `Link` header (RFC 8288), with the nearest pages alone if it is long. `searches`: the query strings of other pages, by relation type. */
export function linksTo(url: string, searches: Readonly<Record<string, string | undefined>>): string {
  let links = '';
  for (const relation in searches) {
    const search = searches[relation];
    if (search !== undefined) links += `${links === '' ? '' : ', '}<${url}?${search}>; rel="${relation}"`;
  }
  const { first, next, prev } = searches;
  return links.length > MAX_LINKS_LENGTH && first !== undefined ? linksTo(url, { next, prev }) : links;
}

export const linkedList: Server = (service) => framedList(service, linked, false);

/** `needsTotal`: at least an estimate, even for types that are not counted. */
export function framedList(service: Service, frame: FrameList, needsTotal: boolean): ReturnType<Server> {
  const { type, queries } = service;
  const usual = needsTotal && type.count === 'none' ? 'estimated' : type.count;
  return async (exchange) => {
    const { request, target, mediaType, caller } = exchange;
    const asked = queries.list(target.query);
    const query = mediaType === CSV_TYPE ? asTable(asked) : asked;
    const { count, applied } = countPreference(request.headers.prefer, usual);
    const result = await list(service, query, count, caller);
    const own = mediaType === CSV_TYPE ? recordRows(query.view) : plainRows(mediaType);
    const { headers: framed, format = own } = frame(service, exchange, { query, format: own, result });
    const body = 'rows' in result ? whole(result.rows, format) : await gather(pieces(result.stream, format));
    // The tag ignores an estimated total, which differs between requests for the same page.
    const tagged = `${count === 'estimated' ? '' : (result.total ?? '')}\n${Object.values(framed).join()}`;
    return rowsAnswer(service, exchange, body, result.total, { ...framed, ...applied }, tagged);
  };
}

export const summaryServer: Server = (service) => {
  const { type, path, queries, store } = service;
  return async (exchange) => {
    const { request, target, mediaType, caller } = exchange;
    const query = queries.summary(target.query);
    const related = mediaType === CSV_TYPE ? query.keys.find(({ shown }) => shown) : undefined;
    if (related) throw relationInTable('by', `"${related.name}" is a record; name one of its fields`);
    const { count, applied } = countPreference(request.headers.prefer, type.count);
    await turnOf(query, caller);
    const { groups, total, hasNext } = await store.summary(query, count, caller);
    const { limit, offset } = query;
    // Links use offsets: any write can move a group.
    const pages =
      limit === undefined
        ? {}
        : {
            first: searchOfPage(query),
            next: hasNext && limit > 0 ? searchOfPage(query, offset + limit) : undefined,
            prev: offset > 0 ? searchOfPage(query, Math.max(0, offset - limit)) : undefined,
          };
    const links = linksTo(`${target.base}${path}${PATHS.summary}`, pages);
    const body = whole(groups, mediaType === CSV_TYPE ? groupRows(query) : plainRows(mediaType));
    const headers = { ...linking(links), ...(count === 'estimated' ? {} : applied) };
    return rowsAnswer(service, exchange, body, total, headers, `${total ?? ''}\n${links}`);
  };
};

/** Serves pages of the log. */
export const logServer =
  (read: LogRead): Server =>
  (service) =>
  async (exchange) => {
    const { target, identifier, mediaType, caller } = exchange;
    const query = service.queries.log(target.query);
    const { entries, next } = await read(service, query, identifier, caller);
    const links = linksTo(fullPath(target), { next: next && `limit=${query.limit}&after=${next}` });
    return rowsAnswer(service, exchange, whole(entries, plainRows(mediaType)), undefined, linking(links), links);
  };

const linking = (links: string): HeaderMap => (links === '' ? {} : { Link: links });

/** The tag covers `tagged` besides the body. Chunked responses have no tag. */
function rowsAnswer(
  { type }: Service,
  { request, mediaType }: Exchange,
  body: Answer['body'],
  total: number | undefined,
  headers: HeaderMap,
  tagged: string,
): Answer {
  const tag = typeof body !== 'string' || type.preconditions === 'off' ? undefined : entityTag(`${body}\n${tagged}`);
  return readAnswer(preconditionsOf(request), body, tag, {
    'Content-Type': mediaType === CSV_TYPE ? CSV_CONTENT : mediaType,
    ...(total === undefined ? {} : { 'X-Total-Count': String(total) }),
    ...headers,
  });
}

/** Characters. Shorter lists are sent whole, with a length and a tag. */
const GATHERED_LENGTH = 64 * 1024;

async function gather(all: AsyncGenerator<string>): Promise<Answer['body']> {
  let text = '';
  while (text.length <= GATHERED_LENGTH) {
    const next = await all.next();
    if (next.done === true) return text;
    text += next.value;
  }
  return prefixed(text, all);
}

async function* prefixed(text: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield text;
  yield* rest;
}

const NEEDS_QUOTES = /[",\r\n]|^$|^\s|\s$/;

/** Leaves a leading `=` unescaped: exported tables must be importable. */
const quoted = (text: string): string => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A cell contains strings unquoted, other values as JSON. */
function cellOf(json: string): string {
  if (json === 'null') return '';
  return quoted(json.startsWith('"') ? String(JSON.parse(json)) : json);
}

/** `cells`: returns the cells of a row, quoted if needed. */
const csvRows = (names: readonly string[], cells: (text: string) => readonly string[]): RowFormat => ({
  open: `${names.map(quoted).join(',')}\r\n`,
  row: (text) => `${cells(text).join(',')}\r\n`,
  between: '',
  close: '',
});

/** Shows related records by their identifiers only. */
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

function relationInTable(parameter: string, reason: string): Problem {
  const message = `${CSV_TYPE} holds one value in each cell; ${reason}. Take ${NDJSON_TYPE} for records with relations`;
  return faultyRequest('invalid-query', [{ parameter, code: 'relation-in-table', message }]);
}

function recordRows({ type: { identifier, open }, fields, relations }: View): RowFormat {
  const asItIs = (text: string): string => text;
  const cells = new Map<string, (text: string) => string>();
  if (identifier.inRecord) cells.set(identifier.name, asItIs);
  for (const field of fields) cells.set(field.name, cellForm(field) === 'either' ? eitherCell : asItIs);
  for (const { relation } of relations) cells.set(relation.name, linkCell);
  const names = [...cells.keys()];
  const columns = [...cells.values()];
  // Parsing loses nothing here, and is much faster than keeping the source of values.
  if (!open && fields.every(isUnambiguous))
    return csvRows(names, (row) => {
      const record = JSON.parse(row) as JsonObject;
      return names.map((name) => plainCell(record[name] ?? null));
    });
  const members = membersAt(names);
  return csvRows(names, (row) => members(row).map((text, index) => cellOf(columns[index]?.(text) ?? text)));
}

/** Whether each value has only one JSON form. */
const isUnambiguous = (field: Field): boolean =>
  ['string', 'integer', 'boolean'].includes(String(field.type.schema(field).type));

/** An object is a link: its cell is the identifier. */
const plainCell = (value: JsonValue): string =>
  value === null ? '' : quoted(String(typeof value === 'object' ? Object.values(value)[0] : value));

/** The 9 of `{"zone_id":9}`. */
const linkCell = (text: string): string => (text === 'null' ? text : text.slice(text.indexOf(':') + 1, -1).trim());

function groupRows({ keys, measures }: SummaryQuery): RowFormat {
  const [by, values] = [keys, measures].map((columns) => columns.map(({ name }) => name));
  const parts = membersAt(['by', 'measures']);
  const cellsOf = [membersAt(by ?? []), membersAt(values ?? [])];
  return csvRows([...(by ?? []), ...(values ?? [])], (row) =>
    parts(row).flatMap((part, index) => (cellsOf[index]?.(part) ?? []).map(cellOf)),
  );
}

const membersAt =
  (names: readonly string[]) =>
  (text: string): readonly string[] => {
    const members = membersOf(text);
    return names.map((name) => members.get(name)?.text ?? 'null');
  };
