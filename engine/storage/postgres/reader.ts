/** What the statements of a reader say: a page is one row, with its total. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Caller } from '../../caller.ts';
import { pageTooLong } from '../../problem.ts';
import type { PageRequest, PageRows, Reader, Statement, Values } from '../driver.ts';
import { SHORT_PAGE, weighed } from '../lengths.ts';
import { numberedBehind } from './connection.ts';
import type { Answered } from './prepared.ts';

/** JSON texts never contain these characters. */
const TOO_LONG = '\u0002';
const BETWEEN = '\u0003';

type WholePages = WeakMap<Statement, Map<Statement | undefined, Statement>>;

/** By the statement of the page and that of its count. The same statement can read pages of any length. */
const shortPages: WholePages = new WeakMap();
const guardedPages: WholePages = new WeakMap();
const longPages: WholePages = new WeakMap();

/** The statement made from that of the page and that of its count, which is compiled once. */
function madeOnce(pages: WholePages, request: PageRequest, make: (request: PageRequest) => Statement): Statement {
  const { statement, count } = request;
  const known = pages.get(statement)?.get(count?.statement);
  if (known) return known;
  const made = make(request);
  const statements = pages.get(statement) ?? new Map<Statement | undefined, Statement>();
  pages.set(statement, statements.set(count?.statement, made));
  return made;
}

/** One row: the page as one text, and the total if it is to be counted and the page does not tell. */
const wholePage = (request: PageRequest): Statement =>
  madeOnce(request.isShort ? shortPages : guardedPages, request, makeWholePage);

const makeWholePage = (request: PageRequest): Statement => ({
  sql: request.isShort ? shortPage(request) : guardedPage(request),
});

const TEXTS = `string_agg(text$, '${BETWEEN}')`;

const shortPage = (request: PageRequest): string =>
  `select ${TEXTS}, ${totalOf(request, request.values.length)} from (${request.statement.sql}) as page$(text$)`;

/**
 * Counted only if the page does not tell. The last two values of a page are the limit, which is one more than asked for,
 * and the offset.
 */
function totalOf({ values: { length }, count }: PageRequest, behind: number): string {
  if (!count) return 'null';
  const total = `(${numberedBehind(behind, count.statement.sql)})`;
  if (count.range.offset === undefined) return total;
  return `case when count(*) >= $${length - 1} or (count(*) = 0 and $${length} > 0) then ${total} end`;
}

/**
 * The same, or how many bytes the page has instead, altogether and without the longest text. It takes one more value: how
 * many it may have. Records beyond that are not put together.
 */
function guardedPage(request: PageRequest): string {
  const most = request.values.length + 1;
  const figures = (total: string, longest: string): string =>
    `concat('${TOO_LONG}', ${total}, ' ', ${total} - ${longest})`;
  const whole = (column: string): string => `(select max(${column}) from running$)`;
  return [
    `with page$(text$) as materialized (${request.statement.sql}),`,
    'running$ as materialized (select sum(octet_length(text$)) over sofar$ as total$, max(octet_length(text$)) over sofar$ as longest$',
    'from page$ window sofar$ as (rows unbounded preceding)),',
    `beyond$ as materialized (select total$, longest$ from running$ where total$ - longest$ > $${most} limit 1)`,
    `select ${figures('total$', 'longest$')}, null from beyond$ union all`,
    `select case when count(*) = 0 then null when ${whole('total$')} > ${SHORT_PAGE} then ${figures(whole('total$'), whole('longest$'))} else ${TEXTS} end,`,
    `${totalOf(request, most)} from page$ where not exists (select from beyond$) having not exists (select from beyond$)`,
  ].join(' ');
}

/**
 * A row for each record, so that the texts are put together once, and are nowhere all at once: the text, or a mark where
 * the page has more bytes than it may have, and the total. Takes the same values as a page that is measured.
 */
function longPage({ statement, values: { length }, count }: PageRequest): string {
  const most = length + 1;
  const total = count ? `(${numberedBehind(most, count.statement.sql)})` : 'null';
  const told = count?.range.offset === undefined ? '1' : `$${length - 1}`;
  return [
    `select case when total$ - longest$ > $${most} then '${TOO_LONG}' else text$ end, case when place$ = ${told} then ${total} end from`,
    '(select text$, row_number() over sofar$ as place$, sum(octet_length(text$)) over sofar$ as total$,',
    `max(octet_length(text$)) over sofar$ as longest$ from (${statement.sql}) as page$(text$)`,
    'window sofar$ as (rows unbounded preceding)) as running$',
  ].join(' ');
}

const tooLongIn = (first: SqlValue | undefined): readonly number[] =>
  typeof first === 'string' && first.startsWith(TOO_LONG) ? first.slice(1).split(' ').map(Number) : [];

const totalIn = (total: SqlValue | undefined): number | undefined => (typeof total === 'number' ? total : undefined);

const limitOf = (most: number): number => Math.min(most, Number.MAX_SAFE_INTEGER);

export type RunQuery = (statement: Statement, values: Values) => Promise<Answered>;

const textsIn = (text: SqlValue): readonly string[] => (typeof text === 'string' ? text.split(BETWEEN) : []);

/** `askLong`: for what takes long to send. */
export function readerOf(ask: RunQuery, askLong = ask): Reader {
  /** `bytes`: drawn before they are read, for the copy in the answer as well. Its records may have been deleted meanwhile. */
  async function readLong(request: PageRequest, bytes: number, caller: Caller): Promise<PageRows> {
    const { values, most, count } = request;
    caller.take(bytes);
    const statement = madeOnce(longPages, request, (asked) => ({ sql: longPage(asked) }));
    const { rows } = await askLong(statement, [...values, limitOf(most), ...(count?.values ?? [])]);
    const found = rows.flatMap(([text = null]) => (text === null ? [] : String(text)));
    if (found.at(-1) === TOO_LONG) throw pageTooLong(most);
    const texts = weighed(found, caller, most);
    const counted = rows.map(([, total]) => totalIn(total)).find((total) => total !== undefined);
    return { texts, counted };
  }

  return {
    get: async (statement, values) => (await ask(statement, values)).rows[0],
    all: async (statement, values) => (await ask(statement, values)).rows,
    value: async (statement, values) => (await ask(statement, values)).rows[0]?.[0],
    page: async (request, caller) => {
      const { values, most, isShort, count } = request;
      const limits = isShort ? [] : [limitOf(most)];
      const { rows } = await ask(wholePage(request), [...values, ...limits, ...(count?.values ?? [])]);
      const [text = null, total] = rows[0] ?? [];
      const counted = totalIn(total);
      if (isShort) return { texts: textsIn(text), counted };
      const [bytes = 0, beyond = 0] = tooLongIn(text);
      if (beyond > most) throw pageTooLong(most);
      if (bytes === 0) return { texts: weighed(textsIn(text), caller, most), counted };
      return readLong(request, bytes, caller);
    },
    count: async (statement, values) => Number((await ask(statement, values)).rows[0]?.[0]),
    column: async (statement, values) => (await ask(statement, values)).rows.map(([value = null]) => value),
  };
}
