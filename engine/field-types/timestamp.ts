/** Points in time with milliseconds (RFC 3339, section 5.6: date-time). */
import { isDate } from './date.ts';
import { type ColumnSql, type ColumnType, COMPARING, type FieldType, SHORT } from './field-type.ts';
import { ownPattern } from './patterns.ts';
import { NOT_STRINGS, postgresText, textColumn } from './text.ts';
import { call } from './totals.ts';

const PATTERN = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:[0-5]\\d(\\.\\d{1,3})?(Z|[+-]\\d\\d:\\d\\d)$';
const MINUTE = 60_000;

/** In UTC, so that its day and its month are written like others. */
const [EARLIEST, LATEST] = ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'];

const [FIRST_TIME, LAST_TIME] = [Date.parse(EARLIEST), Date.parse(LATEST)];
const WRITTEN = new RegExp(PATTERN);

/** Date.parse alone would accept the 30th of February, and 24:00. */
export function isPointInTime(text: string): boolean {
  const time = Date.parse(text);
  return (
    WRITTEN.test(text) && isDate(text.slice(0, 10)) && !text.includes('T24') && time >= FIRST_TIME && time <= LAST_TIME
  );
}

/**
 * SQL: seconds since 1970 from the text of a timestamp. PostgreSQL's own conversion cannot be used in an index, and
 * supports neither the year 0 nor offsets above 15:59. The calendar repeats after 400 years, so they are added.
 */
function epoch(column: string): string {
  const whole = (from: number, length: number): string => `substr(${column}, ${from}, ${length})::int`;
  const days = `(make_date(${whole(1, 4)} + 400, ${whole(6, 2)}, ${whole(9, 2)}) - make_date(2370, 1, 1))`;
  const seconds = `substring(${column} from '^.{17}([0-9.]+)')::numeric`;
  const zone = `right(${column}, 6)`;
  const minutes = `(substr(${zone}, 2, 2)::int * 60 + substr(${zone}, 5, 2)::int)`;
  const offset = `case when right(${column}, 1) = 'Z' then 0 when left(${zone}, 1) = '-' then -${minutes} else ${minutes} end`;
  return `(${days} * 86400::bigint + ${whole(12, 2)} * 3600 + ${whole(15, 2)} * 60 + ${seconds} - (${offset}) * 60)`;
}

/** SQL: the day in UTC. */
function postgresDay(column: string): string {
  const day = `(make_date(2370, 1, 1) + floor(${epoch(column)} / 86400)::int)`;
  return `lpad((extract(year from ${day})::int - 400)::text, 4, '0') || to_char(${day}, '-MM-DD')`;
}

/** Most are in UTC already: they begin with their day and month. */
const periodsOf = (day: ColumnSql, month: ColumnSql): Required<ColumnType>['periods'] => {
  const orBegin = (length: number, otherwise: ColumnSql): ColumnSql => {
    return (column) =>
      `case when substr(${column}, length(${column})) = 'Z' then substr(${column}, 1, ${length}) else ${otherwise(column)} end`;
  };
  return { day: orBegin(10, day), month: orBegin(7, month) };
};

/** Milliseconds before every point in time. */
const BEFORE = 62_200_000_000_000;
const DIGITS = 15;

/** The text of the earliest or the latest point in time: it stands behind its milliseconds in digits that sort. */
function extremes(sortable: ColumnSql): Required<ColumnType>['aggregates'] {
  const first =
    (aggregate: string): ColumnSql =>
    (column) =>
      `substr(${aggregate}(${sortable(column)}), ${DIGITS + 1})`;
  return { min: first('min'), max: first('max') };
}

/**
 * SQL: seconds since 1970. SQLite's own conversion gives null for offsets above 14:00: so it only sees the minutes. Of
 * whole milliseconds, the quotient is the double that is bound for them.
 */
function sqliteEpoch(column: string): string {
  const whole = (from: number): string => `cast(substr(${column}, ${from}, 2) as integer)`;
  const offset = `(${whole(-5)} * 60 + ${whole(-2)}) * case substr(${column}, -6, 1) when '-' then -60000 else 60000 end`;
  const milliseconds = `unixepoch(substr(${column}, 1, 16)) * 1000 + cast(round(substr(${column}, 18) * 1000) as integer)`;
  return `case when substr(${column}, -1) = 'Z' then unixepoch(${column}, 'subsec') else (${milliseconds} - ${offset}) / 1000.0 end`;
}

const postgresTime = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const SQLITE_TIME = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;

const milliseconds = (seconds: string): string => `cast(round(${seconds} * 1000) as bigint) + ${BEFORE}`;

export const timestamp: FieldType = {
  name: 'timestamp',
  operators: COMPARING,
  hasNoCommas: true,
  longest: () => SHORT,
  schema: () => ({
    type: 'string',
    format: 'date-time',
    pattern: ownPattern(PATTERN),
    'x-minimum': EARLIEST,
    'x-maximum': LATEST,
  }),
  expected: () =>
    'a point in time such as "2030-12-31T23:59:59Z", with at most three fractional digits, and a year from 0000 to 9999 in UTC',
  faults: () => [],
  parse: (text) => (isPointInTime(text) ? text : undefined),
  equal: (a, b) => a === b || (a !== null && b !== null && Date.parse(String(a)) === Date.parse(String(b))),
  compare: (a, b) => Date.parse(String(a)) - Date.parse(String(b)),
  generates: ['createdAt', 'updatedAt'],
  now: (time) => time.toISOString(),
  columns: {
    sqlite: {
      ...textColumn,
      now: SQLITE_TIME,
      clock: { statement: SQLITE_TIME, row: SQLITE_TIME },
      comparable: sqliteEpoch,
      operand: (value) => Date.parse(String(value)) / 1000,
      aggregates: extremes((column) => `printf('%0${DIGITS}d', ${milliseconds(sqliteEpoch(column))}) || ${column}`),
      spelling: (column) => `min(${column})`,
      periods: periodsOf(call('records_day'), call('records_month')),
    },
    postgres: {
      ...postgresText,
      now: postgresTime('now()'),
      clock: { statement: postgresTime('statement_timestamp()'), row: postgresTime('clock_timestamp()') },
      comparable: epoch,
      operand: (value) => Date.parse(String(value)) / 1000,
      aggregates: extremes(
        (column) => `(lpad((${milliseconds(epoch(column))})::text, ${DIGITS}, '0') || ${column}) collate "C"`,
      ),
      spelling: (column) => `min(${column})`,
      periods: periodsOf(postgresDay, (column) => `left(${postgresDay(column)}, -3)`),
    },
  },
  spare: (place) => new Date(Date.UTC(9999, 11, 31) - place * MINUTE).toISOString(),
  good: (_shape, seed) => new Date(Date.UTC(2020, 0, 1) + seed * MINUTE).toISOString(),
  // The third and the fourth are one point in time, on another day where its offset is.
  edges: () => [
    '1970-01-01T00:00:00Z',
    '2024-02-29T23:59:59.999+14:00',
    '2024-03-01T00:30:00+01:00',
    '2024-02-29T23:30:00Z',
    '9999-12-31T00:00:59.999-23:59',
    '0000-01-01T23:59:00+23:59',
  ],
  bad: () => [
    ...NOT_STRINGS,
    '',
    '2024-01-01',
    '2024-01-01 00:00:00Z',
    '2024-01-01T00:00:00',
    '2023-02-29T00:00:00Z',
    '2024-01-01T25:00:00Z',
    '9999-12-31T23:59:59.999-00:01',
    '0000-01-01T00:00:00+00:01',
  ],
};
