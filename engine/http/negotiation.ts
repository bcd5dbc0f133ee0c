/** Content negotiation: media types of answers and bodies, and `Prefer` (RFC 7240). */
import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import { JSON_TYPE, type OperationEntry } from '../operations/table.ts';
import { Problem, type ProblemCode } from '../problem.ts';
import type { HeaderMap } from './headers.ts';

const inHeader = (problem: ProblemCode, header: string, code: string, message: string, headers = {}): Problem =>
  new Problem(problem, message, { errors: [{ header, code, message }], headers });

const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** The media type of the answer: of those that are offered, the one that the client likes best. */
export function acceptedType(accept: string | undefined, offered: readonly string[]): string {
  const [first = JSON_TYPE] = offered;
  if (accept === undefined || accept === '*/*' || accept === first) return first;
  // A range with a parameter takes only types that have it: texts are in UTF-8, and may be asked for as such.
  const variants = offered.flatMap((type) => [type, `${type}; charset=utf-8`]);
  // Ranges by the thousand would take milliseconds.
  const headers = { accept: accept.slice(0, 1024) };
  const [best] = new Negotiator({ headers }).mediaType(variants)?.split(';') ?? [];
  if (best !== undefined) return best;
  const message = `Accept is "${excerpt(accept)}"; this can be answered as ${offered.join(', ')}`;
  throw inHeader('not-acceptable', 'Accept', 'not-acceptable', message);
}

/** The media types of bodies. A 415 names them in the header (RFC 9110, 15.5.16). */
export interface BodyTypes {
  readonly accepted: readonly string[];
  readonly header: 'Accept' | 'Accept-Patch';
}

export const bodyTypesOf = ({ method, body }: Pick<OperationEntry, 'method' | 'body'>): BodyTypes => ({
  accepted: body?.mediaTypes ?? [],
  header: method === 'PATCH' ? 'Accept-Patch' : 'Accept',
});

const partsOf = (header: string): readonly string[] => header.split(';').map((part) => part.trim().toLowerCase());

/** The media type of a body, which was accepted. */
export const bodyTypeOf = ({ headers }: IncomingMessage): string =>
  partsOf(headers['content-type'] ?? JSON_TYPE)[0] ?? '';

const OTHER_CHARSET = /^charset\s*=(?!\s*"?utf-?8"?$)/;

/** Refuses a body of another media type or charset before any of it is read. */
export function requireBodyType({ headers }: IncomingMessage, { accepted, header }: BodyTypes): void {
  const given = headers['content-type'];
  const [type = '', ...parameters] = partsOf(given ?? '');
  const unsupported = (fault: string): Problem => {
    const message = `${fault}; expected ${accepted.join(' or ')}, in UTF-8`;
    const code = 'unsupported-media-type';
    return inHeader(code, 'Content-Type', code, message, { [header]: accepted.join(', ') });
  };
  if (given === undefined) throw unsupported('Content-Type is missing');
  if (!accepted.includes(type)) throw unsupported(`Content-Type is "${excerpt(given)}"`);
  if (parameters.some((one) => OTHER_CHARSET.test(one)))
    throw unsupported('Content-Type names a charset other than utf-8');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() === 'identity') return;
  const message = `Content-Encoding is "${excerpt(encoding)}"; expected a body without encoding`;
  const cure = { 'Accept-Encoding': 'identity' };
  throw inHeader('unsupported-media-type', 'Content-Encoding', 'unsupported-encoding', message, cure);
}

// Preferences, of which the first mention counts. Unknown ones are for other servers.

type PreferHeader = IncomingMessage['headers'][string];

function preferencesIn(header: PreferHeader = ''): ReadonlyMap<string, string> {
  const pairs = String(header)
    .split(',')
    .map((text): [string, string] => {
      const [name = '', value = ''] = (text.split(';', 1)[0] ?? '').split('=');
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', '').toLowerCase()];
    });
  return new Map(pairs.toReversed());
}

const applying = (...names: readonly string[]): HeaderMap =>
  names.length === 0 ? {} : { 'Preference-Applied': names.join(', ') };

interface WritePreferences {
  /** `return=minimal`: no record is answered. */
  readonly minimal: boolean;
  /** Records that may be deleted or unlinked. */
  readonly most: number;
  readonly applied: HeaderMap;
}

/** `isLimited`: the client must say how many records may be affected. */
export function writePreferences(header: PreferHeader, isLimited: boolean): WritePreferences {
  if (header === undefined && !isLimited) return { minimal: false, most: 0, applied: {} };
  const known = preferencesIn(header);
  const value = ['minimal', 'representation'].find((one) => one === known.get('return'));
  const most = isLimited ? maxAffected(known.get('max-affected')) : 0;
  const limit = isLimited ? [`max-affected=${most}`] : [];
  const applied = applying(...limit, ...(value === undefined ? [] : [`return=${value}`]));
  return { minimal: value === 'minimal', most, applied };
}

/** The number is required: a filter that is too wide could empty a table. */
function maxAffected(text: string | undefined): number {
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
  const given = text === undefined ? 'is missing' : `is "${text.slice(0, 40)}"`;
  const message = `Prefer: max-affected=N must say how many records may be deleted or unlinked at most; it ${given}`;
  throw inHeader('invalid-header', 'Prefer', text === undefined ? 'required' : 'invalid-value', message);
}

/** How to count a list. Without a preference the descriptor decides; a client must be able to tell an estimate. */
export function countPreference(
  header: PreferHeader,
  usual: CountMode,
): { readonly count: CountMode; readonly applied: HeaderMap } {
  const asked = header === undefined ? undefined : preferencesIn(header).get('count');
  const value = COUNT_MODES.find((known) => known === asked);
  const count = value ?? usual;
  return { count, applied: value !== undefined || count === 'estimated' ? applying(`count=${count}`) : {} };
}
