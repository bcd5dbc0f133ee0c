/** What the statements of a reader say: a page is one row, with its total. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { pageTooLong } from '../../problem.ts';
import { NeedsSnapshot, type PageRequest, type Reader, type Statement, type Values } from '../driver.ts';
import { SHORT_PAGE, weighed } from '../lengths.ts';
import { numberedBehind } from './connection.ts';
import type { Answered } from './prepared.ts';

/** JSON texts never contain these characters. */
const TOO_LONG = '\u0002';
const BETWEEN = '\u0003';

type WholePages = WeakMap<Statement, Map<Statement | undefined, Statement>>;

/** By the statement of the page and that of its count. The same statement can read pages that are short, and others. */
const shortPages: WholePages = new WeakMap();
const guardedPages: WholePages = new WeakMap();

/** One row: the page as one text, and the total if it is to be counted and the page does not tell. */
function wholePage(request: PageRequest): Statement {
  const { statement, count, isShort } = request;
  const pages = isShort ? shortPages : guardedPages;
  const statements = pages.get(statement) ?? new Map<Statement | undefined, Statement>();
  pages.set(statement, statements);
  const known = statements.get(count?.statement);
  if (known) return known;
  const fresh: Statement = { sql: isShort ? shortPage(request) : guardedPage(request) };
  statements.set(count?.statement, fresh);
  if (count) {
    const page = wholePage({ ...request, count: undefined });
    parts.set(fresh, { page, count: count.statement, values: request.values.length + (isShort ? 0 : 1) });
  }
  return fresh;
}

/** A page and its total as two statements, which have to see the same snapshot. */
export interface PageParts {
  /** Its last column is for the total. */
  readonly page: Statement;
  readonly count: Statement;
  /** How many values the page has. Those of the total come behind them. */
  readonly values: number;
}

const parts = new WeakMap<Statement, PageParts>();

/** Of a statement that reads a page and counts its total. */
export const pageParts = (statement: Statement): PageParts | undefined => parts.get(statement);

const TEXTS = `string_agg(text, '${BETWEEN}')`;

const shortPage = (request: PageRequest): string =>
  `select ${TEXTS}, ${totalOf(request, request.values.length)} from (${request.statement.sql}) as page(text)`;

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
  const whole = (column: string): string => `(select max(${column}) from running)`;
  return [
    `with page(text) as materialized (${request.statement.sql}),`,
    'running as materialized (select sum(octet_length(text)) over sofar as total, max(octet_length(text)) over sofar as longest',
    'from page window sofar as (rows unbounded preceding)),',
    `beyond as materialized (select total, longest from running where total - longest > $${most} limit 1)`,
    `select ${figures('total', 'longest')}, null from beyond union all`,
    `select case when count(*) = 0 then null when ${whole('total')} > ${SHORT_PAGE} then ${figures(whole('total'), whole('longest'))} else ${TEXTS} end,`,
    `${totalOf(request, most)} from page where not exists (select from beyond) having not exists (select from beyond)`,
  ].join(' ');
}

const tooLongIn = (first: SqlValue | undefined): readonly number[] =>
  typeof first === 'string' && first.startsWith(TOO_LONG) ? first.slice(1).split(' ').map(Number) : [];

export type RunQuery = (statement: Statement, values: Values) => Promise<Answered>;

const textsIn = (text: SqlValue): readonly string[] => (typeof text === 'string' ? text.split(BETWEEN) : []);

/** `single`: each statement is a transaction of its own. */
export function readerOf(ask: RunQuery, single = false): Reader {
  return {
    get: async (statement, values) => (await ask(statement, values)).rows[0],
    all: async (statement, values) => (await ask(statement, values)).rows,
    value: async (statement, values) => (await ask(statement, values)).rows[0]?.[0],
    page: async (request, caller) => {
      const { statement, values, most, isShort, count } = request;
      const limits = isShort ? [] : [Math.min(most, Number.MAX_SAFE_INTEGER)];
      const { rows } = await ask(wholePage(request), [...values, ...limits, ...(count?.values ?? [])]);
      const [text = null, total] = rows[0] ?? [];
      const counted = typeof total === 'number' ? total : undefined;
      if (isShort) return { texts: textsIn(text), counted };
      const [bytes = 0, beyond = 0] = tooLongIn(text);
      if (beyond > most) throw pageTooLong(most);
      if (bytes === 0) return { texts: weighed(textsIn(text), caller, most), counted };
      if (single) throw new NeedsSnapshot();
      // Drawn before it is read, for the copy in the answer as well.
      caller.take(bytes);
      const long = await ask(statement, values);
      return { texts: weighed(long.rows.map(String), caller, most), counted };
    },
    count: async (statement, values) => Number((await ask(statement, values)).rows[0]?.[0]),
    column: async (statement, values) => (await ask(statement, values)).rows.map(([value = null]) => value),
  };
}
