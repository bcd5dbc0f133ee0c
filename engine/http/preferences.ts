/** `Prefer` (RFC 7240): what a client would like, and the headers that say what was done of it. */
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { Problem } from '../problem.ts';

type AppliedPreferences = Readonly<Record<string, string>>;

/** What a client wants of a write. */
interface WritePreferences {
  /** `return=minimal`: no record is answered. */
  readonly minimal: boolean;
  /** How many records may be deleted or unlinked. */
  readonly most: number;
  readonly applied: AppliedPreferences;
}

type PreferHeader = string | readonly string[] | undefined;

const NOTHING: AppliedPreferences = Object.freeze({});
const NO_PREFERENCES: WritePreferences = Object.freeze({ minimal: false, most: 0, applied: NOTHING });

const RETURNS = ['minimal', 'representation'] as const;

/** `isLimited`: the client must say how many records may be affected. */
export function writePreferences(header: PreferHeader, isLimited: boolean): WritePreferences {
  if (header === undefined && !isLimited) return NO_PREFERENCES;
  const known = preferences(header);
  const value = RETURNS.find((one) => one === known.get('return'));
  const most = isLimited ? maxAffected(known.get('max-affected')) : 0;
  const names = [...(isLimited ? [`max-affected=${most}`] : []), ...(value === undefined ? [] : [`return=${value}`])];
  const applied = names.length === 0 ? NOTHING : { 'Preference-Applied': names.join(', ') };
  return { minimal: value === 'minimal', most, applied };
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
function maxAffected(text: string | undefined): number {
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
