/** Lists and summaries over HTTP: their formats, headers, tags and links. */
import { memoized } from '../memo.ts';
import type { Relation } from '../model/model.ts';
import { list, type ListResult, type PageResult, summary, type SummaryResult } from '../operations/read.ts';
import { listTag } from '../operations/preconditions.ts';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../operations/table.ts';
import { Problem } from '../problem.ts';
import type { ListQuery, SummaryQuery, View } from '../query/list-query.ts';
import { offsetSearches } from '../query/parameters.ts';
import { isLink, rowView } from '../query/views.ts';
import { type Answer, type HeaderMap, readAnswer } from './answer.ts';
import { cellForm, csvHead, csvLine, eitherCell } from './csv.ts';
import { countPreference } from './negotiation.ts';
import { type Exchange, preconditionsOf, type Server, type Service } from './request.ts';
import { membersOf } from '../json/tokenizer.ts';

/** Headers that name the page, and the format of the body. */
interface ListFrame {
  readonly headers: HeaderMap;
  readonly format: ListFormat;
}

interface FramedList {
  readonly query: ListQuery;
  readonly format: ListFormat;
  readonly result: ListResult;
}

export type FrameList = (service: Service, exchange: Exchange, found: FramedList) => ListFrame;

interface Framing {
  readonly frame: FrameList;
  /** Whether lists are counted, as an estimate at least, if the type says that they are not. */
  readonly needsTotal: boolean;
}

const linked: FrameList = ({ path }, { target }, { query, format, result }) => ({
  headers: 'rows' in result ? { Link: pageLinks(target.base + path, target.query, query, result) } : {},
  format,
});

export const linkedList: Server = (service) => framedList(service, { frame: linked, needsTotal: false });

export function framedList(service: Service, { frame, needsTotal }: Framing): ReturnType<Server> {
  const { type, queries } = service;
  const counted = needsTotal && type.count === 'none' ? { count: 'estimated' as const } : type;
  return async (exchange) => {
    const { request, target, mediaType, caller } = exchange;
    const asked = queries.list(target.query);
    const wanted = formatOf(mediaType);
    const query = wanted.isTable ? asTable(asked) : asked;
    const { count, applied } = countPreference(request.headers.prefer, counted);
    const result = await list(service, { query, count, caller });
    const { headers: framed, format } = frame(service, exchange, { query, format: wanted, result });
    const table = (): Table => recordTable(query.view);
    return rowsAnswer(service, exchange, {
      body: 'rows' in result ? format.whole(result.rows, table) : await gather(format.pieces(result.stream, table)),
      headers: { ...contentHeaders(format, result.total), ...framed, ...applied },
      // An estimate differs from one request to the next: the page is still the same.
      total: count === 'estimated' ? undefined : result.total,
      links: Object.values(framed).join(),
    });
  };
}

export const summaryServer: Server = (service) => {
  const { type, path, queries } = service;
  return async (exchange) => {
    const { request, target, mediaType, caller } = exchange;
    const format = formatOf(mediaType);
    const query = queries.summary(target.query);
    const related = format.isTable ? query.keys.find(({ shown }) => shown) : undefined;
    if (related) throw relationInTable('by', `"${related.name}" is a record; name one of its fields`);
    const { count, applied } = countPreference(request.headers.prefer, type);
    const result = await summary(service, { query, count, caller });
    const links = groupLinks(`${target.base}${path}/${SUMMARY}`, target.query, query, result);
    return rowsAnswer(service, exchange, {
      body: format.whole(result.rows, () => groupTable(query)),
      headers: { ...contentHeaders(format, result.total), ...links, ...(count === 'estimated' ? {} : applied) },
      total: result.total,
      links: links.Link ?? '',
    });
  };
};

/** The last step of the path of a summary, where a record has its identifier. */
export const SUMMARY = '$summary';

function formatOf(mediaType: string): ListFormat {
  const format = LIST_FORMATS.get(mediaType);
  if (format === undefined) throw new Error(`no list is answered as ${mediaType}`);
  return format;
}

interface AnsweredRows {
  readonly body: Answer['body'];
  readonly headers: HeaderMap;
  /** The tag covers the total and the links as well. */
  readonly total: number | undefined;
  readonly links: string;
}

/** Answers in pieces have no tag. */
function rowsAnswer({ type }: Service, { request }: Exchange, { body, headers, total, links }: AnsweredRows): Answer {
  const tag = typeof body !== 'string' || type.preconditions === 'off' ? undefined : listTag(body, total, links);
  return readAnswer(preconditionsOf(request), body, tag, headers);
}

const contentHeaders = ({ contentType }: ListFormat, total: number | undefined): HeaderMap => ({
  'Content-Type': contentType,
  ...(total === undefined ? {} : { 'X-Total-Count': String(total) }),
});

/** Characters. A list that turns out to be short is sent whole, with length and tag; a longer one is streamed. */
const GATHERED_LENGTH = 64 * 1024;

/** All pieces as one text if they are short enough, else as pieces. */
async function gather(pieces: AsyncIterable<string>): Promise<string | AsyncIterable<string>> {
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

// The `Link` header (RFC 8288).

const link = (url: string, search: string, relation: string): string => `<${url}?${search}>; rel="${relation}"`;

const firstSearch = memoized(({ limit = 0 }: ListQuery, search: string) => offsetSearches(search, limit)(0));

/** By cursors, which stay right while records come and go. `search` is the query string that the client sent. */
function pageLinks(url: string, search: string, query: ListQuery, { next, previous }: PageResult): string {
  const first = firstSearch(query, search);
  return [
    link(url, first, 'first'),
    ...(next === undefined ? [] : [link(url, `${first}&after=${next}`, 'next')]),
    ...(previous === undefined ? [] : [link(url, `${first}&before=${previous}`, 'prev')]),
  ].join(', ');
}

/** By offset: the value of a group, which its position depends on, can change with every record. */
function groupLinks(
  url: string,
  search: string,
  { limit, offset }: SummaryQuery,
  { hasNext }: SummaryResult,
): { readonly Link?: string } {
  if (limit === undefined) return {};
  const searchOf = offsetSearches(search, limit);
  const links = [
    link(url, searchOf(0), 'first'),
    ...(hasNext && limit > 0 ? [link(url, searchOf(offset + limit), 'next')] : []),
    ...(offset > 0 ? [link(url, searchOf(Math.max(0, offset - limit)), 'prev')] : []),
  ];
  return { Link: links.join(', ') };
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

function relationInTable(parameter: string, reason: string): Problem {
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

function groupTable({ keys, measures }: SummaryQuery): Table {
  const namesOf = (columns: SummaryQuery['keys' | 'measures']): readonly string[] => columns.map(({ name }) => name);
  const [keyNames, measureNames] = [namesOf(keys), namesOf(measures)];
  const cellsOf = [membersAt(keyNames), membersAt(measureNames)];
  const parts = membersAt(['by', 'measures']);
  return {
    names: [...keyNames, ...measureNames],
    cells: (row) => parts(row).flatMap((part, index) => cellsOf[index]?.(part) ?? []),
  };
}

/** JSON texts as rows of a table. */
export interface Table {
  readonly names: readonly string[];
  /** The JSON texts of the cells of a row. */
  cells(row: string): readonly string[];
}

export interface ListFormat {
  /** As `Content-Type` says it. */
  readonly contentType: string;
  /** Whether the texts are rows of a table: relations have no place in it. */
  readonly isTable: boolean;
  whole(rows: readonly string[], table: () => Table): string;
  pieces(list: AsyncIterable<readonly string[]>, table: () => Table): AsyncIterable<string>;
}

const json: ListFormat = {
  contentType: JSON_TYPE,
  isTable: false,
  whole: (records) => (records.length === 0 ? '[]' : joined('[', records, ']')),
  pieces: async function* (all) {
    let before = '[';
    for await (const records of all) {
      yield joined(before, records);
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  },
};

/** Brackets are added to the first and the last text, so that the long text is built once. */
function joined(before: string, records: readonly string[], after = ''): string {
  const texts = [...records];
  texts[0] = before + texts[0];
  texts[texts.length - 1] += after;
  return texts.join(',');
}

const ndjson: ListFormat = {
  contentType: NDJSON_TYPE,
  isTable: false,
  whole: (rows) => rows.map(ended).join(''),
  pieces: async function* (all) {
    for await (const rows of all) yield rows.map(ended).join('');
  },
};

const ended = (row: string): string => `${row}\n`;

const csv: ListFormat = {
  contentType: `${CSV_TYPE}; charset=utf-8; header=present`,
  isTable: true,
  whole: (rows, table) => {
    const { names, cells } = table();
    return csvHead(names) + rows.map((row) => csvLine(cells(row))).join('');
  },
  pieces: async function* (all, table) {
    const { names, cells } = table();
    yield csvHead(names);
    for await (const rows of all) yield rows.map((row) => csvLine(cells(row))).join('');
  },
};

/** In the order in which they are preferred. */
const LIST_FORMATS: ReadonlyMap<string, ListFormat> = new Map([
  [JSON_TYPE, json],
  [NDJSON_TYPE, ndjson],
  [CSV_TYPE, csv],
]);

/** The members of a JSON text that have these names. */
export function membersAt(names: readonly string[]): Table['cells'] {
  return (text) => {
    const members = membersOf(text);
    return names.map((name) => members.get(name)?.text ?? 'null');
  };
}
