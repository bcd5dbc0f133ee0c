/** Periods of time as text that sorts: `2026-11-28`, `2026-W48` (ISO 8601), `2026-11`, `2026-Q4`, `2026`. */
import { createCache } from '../memo.ts';
import { attempted } from '../problem.ts';

export const PERIODS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type PeriodName = (typeof PERIODS)[number];

/** SQL for each period; `zone`: the time zone of points in time, UTC by default. */
export type Periods = Readonly<Record<PeriodName, (column: string, zone?: string) => string>>;

const SQLITE: Readonly<Record<PeriodName, (column: string) => string>> = {
  day: (text) => `substr(${text}, 1, 10)`,
  week: (text) => `strftime('%G-W%V', substr(${text}, 1, 10))`,
  month: (text) => `substr(${text}, 1, 7)`,
  quarter: (text) => `substr(${text}, 1, 4) || '-Q' || ((substr(${text}, 6, 2) + 2) / 3)`,
  year: (text) => `substr(${text}, 1, 4)`,
};

const POSTGRES: Readonly<Record<PeriodName, string>> = {
  day: 'YYYY-MM-DD',
  week: 'IYYY"-W"IW',
  month: 'YYYY-MM',
  quarter: 'YYYY"-Q"Q',
  year: 'YYYY',
};

/** `local`: SQL for a text that begins with the local date. */
export const sqlitePeriods = (local: (column: string, zone?: string) => string): Periods =>
  periods((name, column, zone) => SQLITE[name](local(column, zone)));

/** `text`: SQL for the text of a column in a format. */
export const postgresPeriods = (text: (column: string, format: string, zone?: string) => string): Periods =>
  periods((name, column, zone) => text(column, POSTGRES[name], zone));

const periods = (sql: (name: PeriodName, column: string, zone?: string) => string): Periods =>
  Object.fromEntries(
    PERIODS.map((name) => [name, (column: string, zone?: string) => sql(name, column, zone)]),
  ) as Periods;

/** The name of a time zone as the tz database writes it; undefined for what is none. */
export function timeZone(text: string): string | undefined {
  if (!/^[A-Za-z][\w+/-]*$/.test(text)) return undefined;
  return attempted(() => new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone);
}

/** Offsets change at most every quarter of an hour; finding one takes longer than all else. */
const offsets = createCache<number>(20_000);
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;
const QUARTER = 900_000;

function offsetAt(time: number, zone: string): number {
  return offsets(`${Math.floor(time / QUARTER)} ${zone}`, () => {
    const text = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).format(time);
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = OFFSET.exec(text) ?? [];
    return (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * (sign === '-' ? -1000 : 1000);
  });
}

/** For SQLite: the local date of a stored point in time. */
export function localDate(text: unknown, zone: unknown): string | null {
  if (text === null) return null;
  const time = Date.parse(`${String(text)}Z`);
  return new Date(time + offsetAt(time, String(zone))).toISOString().slice(0, 10);
}
