/** Points in time (RFC 3339, section 5.6: date-time), returned in UTC. */
import { inUtc, isDate, sortable } from './date.ts';
import { COMPARING, type FieldType } from './field-type.ts';
import { asWritten, NOT_STRINGS, postgresText, textColumn } from './columns.ts';
import { ownPattern } from './patterns.ts';
import { postgresPeriods, sqlitePeriods } from './periods.ts';
import { call } from './totals.ts';

const PATTERN = ownPattern(
  '^\\d{4}-\\d\\d-\\d\\dT([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$',
);
const WRITTEN = new RegExp(PATTERN);
const MINUTE = 60_000;
const [EARLIEST, LATEST] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/** The pattern would accept February 30, and times in the year 0 or 10000 in UTC. */
export function isPointInTime(text: string): boolean {
  if (!WRITTEN.test(text) || !isDay(text.slice(0, 10))) return false;
  const time = Date.parse(text);
  return time >= EARLIEST && time <= LATEST;
}

/** With an offset, the 31st of December of the year 0 may be in the year 1. */
const isDay = (text: string): boolean => isDate(text) || text === '0000-12-31';

const utc = (time: Date): string => inUtc(time.toISOString());

const withoutZeros = (text: string): string => `rtrim(rtrim(${text}, '0'), '.')`;

const SQLITE_TIME = withoutZeros(`strftime('%Y-%m-%dT%H:%M:%f', 'now')`);

const postgresTime = (column: string, format: string, zone = 'UTC'): string =>
  `to_char((${column})::timestamptz at time zone '${zone}', '${format}')`;

export const instantText = {
  sqlite: (column: string): string => `${column} || 'Z'`,
  postgres: (column: string): string => `${withoutZeros(postgresTime(column, 'YYYY-MM-DD"T"HH24:MI:SS.US'))} || 'Z'`,
} as const;

/** PostgreSQL refuses the year 0 and offsets above 15:59, so this adds 400 years (146097 days), and subtracts them. */
function postgresInstant(text: string): string {
  const whole = (from: number, length: number): string => `substr(${text}, ${from}, ${length})::int`;
  const seconds = `substring(${text} from '^.{17}([0-9.]+)')::double precision`;
  const time = `make_timestamp(${whole(1, 4)} + 400, ${[6, 9, 12, 15].map((from) => whole(from, 2)).join(', ')}, ${seconds})`;
  const zone = `right(${text}, 6)`;
  const minutes = `(substr(${zone}, 2, 2)::int * 60 + substr(${zone}, 5, 2)::int)`;
  const offset = `case when right(${text}, 1) = 'Z' then 0 when left(${zone}, 1) = '-' then -${minutes} else ${minutes} end`;
  return `((${time} - interval '146097 days' - make_interval(mins => ${offset})) at time zone 'UTC')`;
}

export const timestamp: FieldType = {
  operators: COMPARING,
  name: 'timestamp',
  schema: () => ({ type: 'string', format: 'date-time', pattern: PATTERN }),
  expected: () =>
    'a point in time such as "2030-12-31T23:59:59Z", with at most six fractional digits, and a year from 0001 to 9999 in UTC',
  faults: () => [],
  parse: (text) => (isPointInTime(text) ? inUtc(text) : undefined),
  canonical: (value) => (typeof value === 'string' ? inUtc(value) : value),
  equal: (a, b) => a === b || (a !== null && b !== null && sortable(String(a)) === sortable(String(b))),
  compare: (a, b) => asWritten.compare(sortable(String(a)), sortable(String(b))),
  now: utc,
  columns: {
    sqlite: {
      ...textColumn,
      now: SQLITE_TIME,
      clock: { statement: SQLITE_TIME, row: SQLITE_TIME, given: (text) => text },
      encode: (value) => sortable(String(value)),
      decode: (value) => `${String(value)}Z`,
      json: (column) => textColumn.json(instantText.sqlite(column)),
      operand: (value) => sortable(String(value)),
      extracted: (document, path) => call('records_instant')(`${document} ->> ${path}`),
      periods: sqlitePeriods((column, zone) => (zone === undefined ? column : `records_local(${column}, '${zone}')`)),
    },
    postgres: {
      ...postgresText,
      sqlType: 'timestamptz',
      now: `date_trunc('milliseconds', now())`,
      clock: {
        statement: `date_trunc('milliseconds', statement_timestamp())`,
        row: `date_trunc('milliseconds', clock_timestamp())`,
        given: (text) => `${text}::timestamptz`,
      },
      encode: (value) => inUtc(String(value)),
      read: instantText.postgres,
      json: (column) => `'"' || ${instantText.postgres(column)} || '"'`,
      operand: (value) => inUtc(String(value)),
      extracted: (document, path) => postgresInstant(`(${document} ->> ${path})`),
      periods: postgresPeriods(postgresTime),
    },
  },
  temporary: (index) => utc(new Date(Date.UTC(9999, 11, 31) - index * MINUTE)),
  good: (_shape, seed) => utc(new Date(Date.UTC(2020, 0, 1) + seed * MINUTE)),
  edges: () => [
    '1970-01-01T00:00:00Z',
    '2024-02-29T23:59:59.999+14:00',
    '2024-03-01T00:30:00+01:00',
    '2024-02-29T23:30:00Z',
    '2024-02-29T23:30:00.500000Z',
    '2024-02-29T23:30:00.000001Z',
    '9999-12-31T00:00:59.999-23:59',
    '0001-01-01T23:59:00+23:59',
    '0000-12-31T23:59:00-23:59',
  ],
  bad: () => [
    ...NOT_STRINGS,
    '2024-01-01T00:00:00',
    '2024-01-01T00:00:00.0000001Z',
    '2023-02-29T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '9999-12-31T23:59:59.999-00:01',
    '0001-01-01T00:00:00+00:01',
  ],
};
