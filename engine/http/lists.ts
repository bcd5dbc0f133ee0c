/** Lists and summaries over HTTP: their formats, headers, tags and links. */
import { membersOf } from '../json/tokenizer.ts';
import { memoized } from '../memo.ts';
import type { Relation } from '../model/model.ts';
import { entityTag } from '../operations/operation.ts';
import { list, type ListResult, type PageResult, summary, type SummaryResult } from '../operations/read.ts';
import { CSV_TYPE, NDJSON_TYPE } from '../operations/table.ts';
import { faultyRequest, type Problem } from '../problem.ts';
import type { ListQuery, SummaryQuery, View } from '../query/list-query.ts';
import { offsetSearches } from '../query/parameters.ts';
import { isLink, rowView } from '../query/views.ts';
import { type Answer, readAnswer } from './answer.ts';
import { cellForm, csvHead, csvLine, eitherCell } from './lines.ts';
import type { HeaderMap } from './answer.ts';
import { countPreference } from './request.ts';
import { type Exchange, preconditionsOf, type Server, type Service } from './request.ts';

/** How rows, which are JSON texts, become the body of an answer. */
export interface RowFormat {
  readonly open: string;
  readonly row: (text: string) => string;
  readonly between: string;
  readonly close: string;
}

const JSON_ROWS: RowFormat = { open: '[', row: (text) => text, between: ',', close: ']' };
const NDJSON_ROWS: RowFormat = { open: '', row: (text) => `${text}\n`, between: '', close: '' };

/** `cells`: the JSON texts of the cells of a row. */
const csvRows = (names: readonly string[], cells: (text: string) => readonly string[]): RowFormat => ({
  open: csvHead(names),
  row: (text) => csvLine(cells(text)),
  between: '',
  close: '',
});

const plainRows = (mediaType: string): RowFormat => (mediaType === NDJSON_TYPE ? NDJSON_ROWS : JSON_ROWS);

const whole = (rows: readonly string[], { open, row, between, close }: RowFormat): string =>
  open + rows.map(row).join(between) + close;

async function* pieces(all: AsyncIterable<readonly string[]>, format: RowFormat): AsyncGenerator<string> {
  let before = format.open;
  for await (const rows of all) {
    yield before + rows.map(format.row).join(format.between);
    before = format.between;
  }
  yield (before === format.open ? before : '') + format.close;
}

interface FoundList {
  readonly query: ListQuery;
  readonly format: RowFormat;
  readonly result: ListResult;
}

/** Adds headers that name the page, and perhaps changes the format. */
export type FrameList = (
  service: Service,
  exchange: Exchange,
  found: FoundList,
) => { readonly headers: HeaderMap; readonly format?: RowFormat };

const linked: FrameList = ({ path }, { target }, { query, result }) => ({
  headers: 'rows' in result ? { Link: pageLinks(target.base + path, target.query, query, result) } : {},
});

export const linkedList: Server = (service) => framedList(service, linked, false);

/** `needsTotal`: lists are counted, as an estimate at least, even if the type says that they are not. */
export function framedList(service: Service, frame: FrameList, needsTotal: boolean): ReturnType<Server> {
  const { type, queries } = service;
  const usual = needsTotal && type.count === 'none' ? 'estimated' : type.count;
  return async (exchange) => {
    const { request, target, mediaType, caller } = exchange;
    const asked = queries.list(target.query);
    const query = mediaType === CSV_TYPE ? asTable(asked) : asked;
    const { count, applied } = countPreference(request.headers.prefer, usual);
    const result = await list(service, { query, count, caller });
    const own = mediaType === CSV_TYPE ? recordRows(query.view) : plainRows(mediaType);
    const { headers: framed, format = own } = frame(service, exchange, { query, format: own, result });
    return rowsAnswer(service, exchange, {
      body: 'rows' in result ? whole(result.rows, format) : await gather(pieces(result.stream, format)),
      total: result.total,
      headers: { ...framed, ...applied },
      // An estimate differs from one request to the next: the page is still the same.
      tagged: `${count === 'estimated' ? '' : (result.total ?? '')}\n${Object.values(framed).join()}`,
    });
  };
}

export const summaryServer: Server = (service) => {
  const { type, path, queries } = service;
  return async (exchange) => {
    const { request, target, mediaType, caller } = exchange;
    const query = queries.summary(target.query);
    const related = mediaType === CSV_TYPE ? query.keys.find(({ shown }) => shown) : undefined;
    if (related) throw relationInTable('by', `"${related.name}" is a record; name one of its fields`);
    const { count, applied } = countPreference(request.headers.prefer, type.count);
    const { rows, total, hasNext } = await summary(service, { query, count, caller });
    const links = groupLinks(`${target.base}${path}/${SUMMARY}`, target.query, query, hasNext);
    return rowsAnswer(service, exchange, {
      body: whole(rows, mediaType === CSV_TYPE ? groupRows(query) : plainRows(mediaType)),
      total,
      headers: { ...(links === undefined ? {} : { Link: links }), ...(count === 'estimated' ? {} : applied) },
      tagged: `${total ?? ''}\n${links ?? ''}`,
    });
  };
};

/** The last step of the path of a summary, where a record has its identifier. */
export const SUMMARY = '$summary';

interface AnsweredRows {
  readonly body: Answer['body'];
  readonly total: number | undefined;
  readonly headers: HeaderMap;
  /** The text that the entity tag covers besides the body. */
  readonly tagged: string;
}

/** An answer in pieces has no tag. */
function rowsAnswer(
  { type }: Service,
  { request, mediaType }: Exchange,
  { body, total, headers, tagged }: AnsweredRows,
): Answer {
  const tag = typeof body !== 'string' || type.preconditions === 'off' ? undefined : entityTag(`${body}\n${tagged}`);
  return readAnswer(preconditionsOf(request), body, tag, {
    'Content-Type': mediaType === CSV_TYPE ? `${CSV_TYPE}; charset=utf-8; header=present` : mediaType,
    ...(total === undefined ? {} : { 'X-Total-Count': String(total) }),
    ...headers,
  });
}

/** Characters. A list that turns out to be short is sent whole, with length and tag; a longer one is streamed. */
const GATHERED_LENGTH = 64 * 1024;

/** All pieces as one text if they are short enough, else as pieces. */
async function gather(all: AsyncIterable<string>): Promise<Answer['body']> {
  const iterator = all[Symbol.asyncIterator]();
  let text = '';
  while (text.length <= GATHERED_LENGTH) {
    const next = await iterator.next();
    if (next.done === true) return text;
    text += next.value;
  }
  let first: string | undefined = text;
  const rest: AsyncIterator<string> = {
    next: async () => {
      if (first === undefined) return iterator.next();
      const value = first;
      first = undefined;
      return { done: false, value };
    },
    return: async () => iterator.return?.() ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => rest };
}

// The `Link` header (RFC 8288).

const link = (url: string, search: string, relation: string): string => `<${url}?${search}>; rel="${relation}"`;

const firstSearch = memoized(({ limit = 0 }: ListQuery, search: string) => offsetSearches(search, limit)(0));

/** Links by cursors, which stay right while records come and go. `search` is the query string that the client sent. */
function pageLinks(url: string, search: string, query: ListQuery, { next, previous }: PageResult): string {
  const first = firstSearch(query, search);
  return [
    link(url, first, 'first'),
    ...(next === undefined ? [] : [link(url, `${first}&after=${next}`, 'next')]),
    ...(previous === undefined ? [] : [link(url, `${first}&before=${previous}`, 'prev')]),
  ].join(', ');
}

/** Links by offset: the position of a group can change with every record. */
function groupLinks(
  url: string,
  search: string,
  { limit, offset }: SummaryQuery,
  hasNext: SummaryResult['hasNext'],
): string | undefined {
  if (limit === undefined) return undefined;
  const searchOf = offsetSearches(search, limit);
  return [
    link(url, searchOf(0), 'first'),
    ...(hasNext && limit > 0 ? [link(url, searchOf(offset + limit), 'next')] : []),
    ...(offset > 0 ? [link(url, searchOf(Math.max(0, offset - limit)), 'prev')] : []),
  ].join(', ');
}

// Lists as tables: a cell holds one value.

/** A related record is shown by its identifier; what the default view shows besides is left out. */
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

function recordRows({ type: { identifier }, fields, relations }: View): RowFormat {
  const columns: readonly (readonly [name: string, cell: (text: string) => string])[] = [
    ...(identifier.inRecord ? [[identifier.name, asItIs] as const] : []),
    ...fields.map((field) => [field.name, cellForm(field) === 'either' ? eitherCell : asItIs] as const),
    ...relations.map(({ relation }) => [relation.name, linkCell] as const),
  ];
  const names = columns.map(([name]) => name);
  const members = membersAt(names);
  return csvRows(names, (row) => members(row).map((text, index) => columns[index]?.[1](text) ?? text));
}

const asItIs = (text: string): string => text;

/** The 9 of `{"zone_id":9}`. */
const linkCell = (text: string): string => (text === 'null' ? text : text.slice(text.lastIndexOf(':') + 1, -1).trim());

function groupRows({ keys, measures }: SummaryQuery): RowFormat {
  const [by, values] = [keys, measures].map((columns) => columns.map(({ name }) => name));
  const parts = membersAt(['by', 'measures']);
  const cellsOf = [membersAt(by ?? []), membersAt(values ?? [])];
  return csvRows([...(by ?? []), ...(values ?? [])], (row) =>
    parts(row).flatMap((part, index) => cellsOf[index]?.(part) ?? []),
  );
}

/** Finds the members of a JSON text that have these names. */
export function membersAt(names: readonly string[]): (text: string) => readonly string[] {
  return (text) => {
    const members = membersOf(text);
    return names.map((name) => members.get(name)?.text ?? 'null');
  };
}
