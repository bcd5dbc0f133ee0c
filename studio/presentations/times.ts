/** Dates and points in time: shown and typed in local time, stored and sent as the service writes them. */

/** The value of an `<input type="datetime-local">`: local time without a zone, or only its date. */
const LOCAL = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

const two = (value: number): string => String(value).padStart(2, '0');

const dateOf = (time: Date): string =>
  `${String(time.getFullYear()).padStart(4, '0')}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;

/** A stored point in time for an input of local time; undefined if the text is no point in time. */
export function localInput(text: string): string | undefined {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || time.getFullYear() > 9999 || time.getFullYear() < 0) return undefined;
  const ms = time.getMilliseconds();
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':');
  return `${dateOf(time)}T${clock}${ms === 0 ? '' : `.${String(ms).padStart(3, '0')}`}`;
}

/** The point in time that a person means by local time; a text that is none stays as it is. */
export const storedTime = (local: string): string =>
  LOCAL.test(local) ? (localTime(local)?.toISOString() ?? local) : local;

function localTime(local: string): Date | undefined {
  const time = new Date(local.includes('T') ? local : `${local}T00:00`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** The points in time that a text stands for: a whole day, minute or second of local time. `to` is behind the last one. */
export function spanOf(local: string): { readonly from: string; readonly to: string } | undefined {
  const from = LOCAL.test(local) ? localTime(local) : undefined;
  if (from === undefined) return undefined;
  const to = new Date(from);
  if (DATE.test(local)) to.setDate(to.getDate() + 1);
  else if (local.length === 16) to.setMinutes(to.getMinutes() + 1);
  else to.setTime(to.getTime() + (local.length === 19 ? 1000 : 1));
  return { from: from.toISOString(), to: to.toISOString() };
}

export const PERIODS = ['today', 'last_7_days', 'this_month'] as const;
export type Period = (typeof PERIODS)[number];

/** The first day of a period, and the day behind its last one. */
export function periodDays(period: Period, now: Date): { readonly from: string; readonly to: string } {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const days = {
    today: [new Date(year, month, day), new Date(year, month, day + 1)],
    last_7_days: [new Date(year, month, day - 6), new Date(year, month, day + 1)],
    this_month: [new Date(year, month, 1), new Date(year, month + 1, 1)],
  } as const satisfies Record<Period, readonly [Date, Date]>;
  const [from, to] = days[period];
  return { from: dateOf(from), to: dateOf(to) };
}

/** A date has no time zone. */
export function dateText(text: string, language: string): string {
  const time = new Date(`${text}T00:00:00Z`);
  if (!DATE.test(text) || Number.isNaN(time.getTime())) return text;
  return formatOf(language, { dateStyle: 'medium', timeZone: 'UTC' }).format(time);
}

/** In local time, with its zone, and with seconds where there are any. `isShort`: to the minute, without the zone. */
export function timeText(text: string, language: string, isShort = false): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  return formatOf(language, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    ...(isShort ? {} : { timeZoneName: 'short' }),
    ...(isShort || time.getSeconds() === 0 ? {} : { second: '2-digit' }),
  }).format(time);
}

/** A format takes far longer to make than to use. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = language + JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat(language, options);
  formats.set(key, format);
  return format;
}

/** A point in time of so many seconds since 1970. */
export function fromSeconds(text: string): string | undefined {
  const time = new Date(Number(text) * 1000);
  return text === '' || Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

// Months as summaries write them: `2026-11`.

const monthAt = (month: string, ahead: number): string => {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + ahead, 1)).toISOString().slice(0, 7);
};

/** So many months, of which this is the last one. */
export const monthsBefore = (last: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => monthAt(last, index - count + 1));

/** The first day of a month, and the day behind its last one. */
export const monthDays = (month: string): { readonly from: string; readonly to: string } => ({
  from: `${month}-01`,
  to: `${monthAt(month, 1)}-01`,
});

export const monthText = (month: string, language: string, style: 'short' | 'long' = 'long'): string =>
  formatOf(language, { year: 'numeric', month: style, timeZone: 'UTC' }).format(new Date(`${month}-01T00:00:00Z`));

/** The month that lies between two limits; undefined if it is another period. */
export function monthBetween(from: string, to: string): string | undefined {
  const [month = '', next] = [from, to].map((limit) => {
    const day = DATE.test(limit) ? limit : localInput(limit)?.replace(/T00:00:00$/, '');
    return /^(\d{4}-\d{2})-01$/.exec(day ?? '')?.[1];
  });
  return month !== '' && next === monthAt(month, 1) ? month : undefined;
}
