/** `Prefer` (RFC 7240): what a client would like, and the headers that say what was done of it. */
import type { IncomingMessage } from 'node:http';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { Problem } from '../problem.ts';

type AppliedPreferences = Readonly<Record<string, string>>;

/** What a client wants of a write. */
interface WritePreferences {
  /** `return=minimal`: no record is answered. */
  readonly minimal: boolean;
  readonly applied: AppliedPreferences;
}

/** Whether a write answers no record. */
export const isMinimal = ({ headers }: IncomingMessage): boolean => writePreferences(headers.prefer).minimal;

type PreferHeader = string | readonly string[] | undefined;

const NOTHING: AppliedPreferences = Object.freeze({});
const NO_PREFERENCES: WritePreferences = Object.freeze({ minimal: false, applied: NOTHING });

const RETURNS = ['minimal', 'representation'] as const;

export function writePreferences(header: PreferHeader): WritePreferences {
  const value = preferred(header, 'return', RETURNS);
  return value === undefined ? NO_PREFERENCES : { minimal: value === 'minimal', applied: applied('return', value) };
}

/** How a list is counted. */
export interface CountPreference {
  readonly count: CountMode;
  readonly applied: AppliedPreferences;
}

/** Without a preference the descriptor decides. A client must be able to tell an estimate. */
export function countPreference(header: PreferHeader, { count }: Pick<RecordType, 'count'>): CountPreference {
  const value = preferred(header, 'count', COUNT_MODES);
  if (value !== undefined) return { count: value, applied: applied('count', value) };
  return { count, applied: count === 'estimated' ? applied('count', count) : NOTHING };
}

const applied = (name: string, value: string): AppliedPreferences => ({ 'Preference-Applied': `${name}=${value}` });

/** How many records the client lets the request affect. Without a number, a filter that is too wide could empty a table. */
export function maxAffected({ headers }: IncomingMessage): number {
  const text = preferences(headers.prefer).get('max-affected');
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
  const given = text === undefined ? 'is missing' : `is "${text.slice(0, 40)}"`;
  const message = `Prefer: max-affected=N must say how many records may be deleted or unlinked at most; it ${given}`;
  const code = text === undefined ? 'required' : 'invalid-value';
  throw new Problem('invalid-header', message, { errors: [{ header: 'Prefer', code, message }] });
}

/** An operation knows one preference, of which the first mention counts; others are for other servers. */
function preferred<T extends string>(header: PreferHeader, name: string, values: readonly T[]): T | undefined {
  if (header === undefined) return undefined;
  const value = preferences(header).get(name);
  return values.find((known) => known === value);
}

const preferences = (header: PreferHeader = ''): ReadonlyMap<string, string> =>
  new Map(String(header).split(',').map(preference).toReversed());

function preference(text: string): readonly [string, string] {
  const [name = '', value = ''] = (text.split(';', 1)[0] ?? '').split('=');
  return [name.trim().toLowerCase(), value.trim().replaceAll('"', '').toLowerCase()];
}
