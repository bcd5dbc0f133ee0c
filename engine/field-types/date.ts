/** Calendar dates (RFC 3339, section 5.6: full-date). */
import { COMPARING, type FieldType, SHORT } from './field-type.ts';
import { asWritten, NOT_STRINGS, postgresText, textColumn } from './text.ts';

const DAY = 86_400_000;

const PERIOD_SQL = { day: (column: string) => column, month: (column: string) => `substr(${column}, 1, 7)` };

/** Whether the day exists; Date.parse alone would turn February 30 into March 2. */
export function isDate(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

export const date: FieldType = {
  name: 'date',
  operators: COMPARING,
  hasNoCommas: true,
  longest: () => SHORT,
  schema: () => ({ type: 'string', format: 'date' }),
  expected: () => 'a date such as "2030-12-31"',
  faults: () => [],
  parse: (text) => (isDate(text) ? text : undefined),
  ...asWritten,
  now: (time) => time.toISOString().slice(0, 10),
  columns: {
    sqlite: { ...textColumn, periods: PERIOD_SQL, now: `date('now')` },
    postgres: { ...postgresText, periods: PERIOD_SQL, now: `to_char(now() at time zone 'UTC', 'YYYY-MM-DD')` },
  },
  spare: (place) => new Date(Date.UTC(9999, 11, 31) - place * DAY).toISOString().slice(0, 10),
  good: (_shape, seed) => new Date(Date.UTC(2020, 0, 1) + (seed % 100_000) * DAY).toISOString().slice(0, 10),
  edges: () => ['0001-01-01', '2024-02-29', '9999-12-31'],
  bad: () => [...NOT_STRINGS, '', '2023-02-29', '2024-1-1', '2024-01-01T00:00:00Z', '31.12.2024'],
};
