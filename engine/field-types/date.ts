/** Calendar dates (RFC 3339, section 5.6: full-date). */
import { COMPARING, type FieldType } from './field-type.ts';
import { asWritten, NOT_STRINGS, postgresText, textColumn } from './columns.ts';
import { postgresPeriods, sqlitePeriods } from './periods.ts';

const DAY = 86_400_000;

/** Whether the day exists, in a year from 0001: Date.parse would turn February 30 into March 2. */
export function isDate(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return (
    /^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
  );
}

/** A point in time in UTC, without trailing zeros of the fraction. Keeps other strings as they are. */
export function inUtc(text: string): string {
  const fraction = /\.(\d*?)0*(?:Z|[+-]\d\d:\d\d)$/.exec(text)?.[1] ?? '';
  const time = Date.parse(text);
  if (Number.isNaN(time)) return text;
  const seconds = new Date(Math.floor(time / 1000) * 1000).toISOString().slice(0, 19);
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`;
}

/** Sortable string for SQLite: a `Z` would sort after the point of a fraction. */
export const sortable = (text: string): string => inUtc(text).slice(0, -1);

/** SQL whose result does not depend on settings of the session. */
const postgresDate = (column: string, format: string): string => `to_char((${column})::date, '${format}')`;

/** SQL for a date in PostgreSQL, as text. */
export const dateText = (column: string): string => postgresDate(column, 'YYYY-MM-DD');

export const date: FieldType = {
  operators: COMPARING,
  name: 'date',
  schema: () => ({ type: 'string', format: 'date' }),
  expected: () => 'a date such as "2030-12-31"',
  faults: () => [],
  parse: (text) => (isDate(text) ? text : undefined),
  ...asWritten,
  now: (time) => time.toISOString().slice(0, 10),
  columns: {
    sqlite: {
      ...textColumn,
      periods: sqlitePeriods((column) => column),
      now: `date('now')`,
    },
    postgres: {
      ...postgresText,
      sqlType: 'date',
      read: dateText,
      json: (column) => `'"' || ${dateText(column)} || '"'`,
      extracted: (document, path) => `(${document} ->> ${path})::date`,
      periods: postgresPeriods(postgresDate),
      now: `(now() at time zone 'UTC')::date`,
    },
  },
  temporary: (index) => new Date(Date.UTC(9999, 11, 31) - index * DAY).toISOString().slice(0, 10),
  good: (_shape, seed) => new Date(Date.UTC(2020, 0, 1) + (seed % 100_000) * DAY).toISOString().slice(0, 10),
  edges: () => ['0001-01-01', '2024-02-29', '9999-12-31'],
  bad: () => [...NOT_STRINGS, '', '0000-01-01', '2023-02-29', '2024-1-1', '2024-01-01T00:00:00Z', '31.12.2024'],
};
