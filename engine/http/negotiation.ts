/** Negotiation: media types and content codings of answers and bodies, and `Prefer` (RFC 7240). */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import {
  brotliCompress,
  type BrotliOptions,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  type ZlibOptions,
} from 'node:zlib';
import type { Transform } from 'node:stream';
import Negotiator from 'negotiator';
import { createBoundedCache } from '../memo.ts';
import { CODING_NAMES } from '../operations/preconditions.ts';
import { JSON_TYPE, type OperationEntry } from '../operations/table.ts';
import { Problem } from '../problem.ts';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';

export const PROBLEM_TYPE = 'application/problem+json';

/** The media types of bodies. A 415 names them in the header (RFC 9110, 15.5.16). */
export interface BodyTypes {
  readonly accepted: readonly string[];
  readonly header: 'Accept' | 'Accept-Patch';
}

export const bodyTypesOf = ({ method, body }: Pick<OperationEntry, 'method' | 'body'>): BodyTypes => ({
  accepted: body?.mediaTypes ?? [],
  header: method === 'PATCH' ? 'Accept-Patch' : 'Accept',
});

/** Clients repeat themselves: what they accept is worked out once for each header. */
const MAX_HEADERS = 200;
const MAX_LENGTH = 256;
/** Characters of such a header that are read: ranges by the thousand would take milliseconds. */
const MAX_READ = 1024;
const typesKnown = createBoundedCache<string>(MAX_HEADERS, MAX_LENGTH);
const codingsKnown = createBoundedCache<Coding | 'identity'>(MAX_HEADERS, MAX_LENGTH);

/** The media type of the answer: of those that are offered, the one that the client likes best. */
export function acceptedType(accept: string | undefined, offered: readonly string[]): string {
  const [first = JSON_TYPE] = offered;
  if (accept === undefined || accept === '*/*' || accept === first) return first;
  const key = `${offered.join()} ${accept}`;
  const known = typesKnown.get(key);
  if (known !== undefined) return known;
  const best = preferredType(accept, offered);
  typesKnown.set(key, best);
  return best;
}

/** A range with a parameter takes only types that have it: texts are in UTF-8, and may be asked for as such. */
function preferredType(accept: string, offered: readonly string[]): string {
  const variants = offered.flatMap((type) => [type, `${type}; charset=utf-8`]);
  const [best] =
    new Negotiator({ headers: { accept: accept.slice(0, MAX_READ) } }).mediaType(variants)?.split(';') ?? [];
  if (best !== undefined) return best;
  const message = `Accept is "${excerpt(accept)}"; this can be answered as ${offered.join(', ')}`;
  throw new Problem('not-acceptable', message, { errors: [{ header: 'Accept', code: 'not-acceptable', message }] });
}

/** Refuses a body of another media type or charset before any of it is read. */
export function requireBodyType({ headers }: IncomingMessage, types: BodyTypes): void {
  const type = headers['content-type'];
  if (type !== JSON_TYPE) requireMediaType(type, types);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw encoded(encoding);
}

/** The media type of a body, which was accepted. */
export const bodyTypeOf = ({ headers }: IncomingMessage): string => namedType(headers['content-type'] ?? JSON_TYPE);

const namedType = (header: string): string => (header.split(';', 1)[0] ?? '').trim().toLowerCase();

function requireMediaType(header: string | undefined, types: BodyTypes): void {
  if (header === undefined) throw unsupported(types, 'Content-Type is missing');
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  if (!types.accepted.includes(type)) throw unsupported(types, `Content-Type is "${excerpt(header)}"`);
  if (!parameters.every(isUtf8OrNoCharset)) throw unsupported(types, `Content-Type names a charset other than utf-8`);
}

const CHARSET = /^charset\s*=/;
const UTF8 = /^charset\s*=\s*"?utf-?8"?$/;
const isUtf8OrNoCharset = (parameter: string): boolean => !CHARSET.test(parameter) || UTF8.test(parameter);

function unsupported({ accepted, header }: BodyTypes, fault: string): Problem {
  const message = `${fault}; expected ${accepted.join(' or ')}, in UTF-8`;
  const errors = [{ header: 'Content-Type', code: 'unsupported-media-type', message }];
  return new Problem('unsupported-media-type', message, { errors, headers: { [header]: accepted.join(', ') } });
}

function encoded(encoding: string): Problem {
  const message = `Content-Encoding is "${excerpt(encoding)}"; expected a body without encoding`;
  const errors = [{ header: 'Content-Encoding', code: 'unsupported-encoding', message }];
  return new Problem('unsupported-media-type', message, { errors, headers: { 'Accept-Encoding': 'identity' } });
}

const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

// Content codings (RFC 9110, 8.4.1).

interface CodingKind {
  readonly whole: (text: Buffer) => Promise<Buffer>;
  readonly stream: () => Transform;
}

/** Fast rather than small: answers are compressed for each request. */
const GZIP: ZlibOptions = { level: 5 };
const BROTLI: BrotliOptions = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 },
};

/** Bytes that a compressor takes while it works. */
export const STATE: Readonly<Record<Coding, number>> = { br: 2 * 1024 ** 2, gzip: 512 * 1024 };

const [gzipped, brotlied] = [promisify(gzip), promisify(brotliCompress)];

export type Coding = (typeof CODING_NAMES)[number];

const CODINGS: Readonly<Record<Coding, CodingKind>> = {
  br: { whole: (text) => brotlied(text, BROTLI), stream: () => createBrotliCompress(BROTLI) },
  gzip: { whole: (text) => gzipped(text, GZIP), stream: () => createGzip(GZIP) },
};

/** Async, so that its promise belongs to this realm. */
export const compress = async (text: Buffer, coding: Coding): Promise<Buffer> => CODINGS[coding].whole(text);
export const compressor = (coding: Coding): Transform => CODINGS[coding].stream();

/** As @types/negotiator does not know yet: of codings that the client likes alike, the first preferred one. */
interface PreferringNegotiator {
  encoding(available: string[], options: { readonly preferred: readonly string[] }): string | undefined;
}

const OFFERED_CODINGS = [...CODING_NAMES, 'identity'];

/** The coding that the client likes best; undefined if it takes none, or likes plain text better. */
export function acceptedCoding(header: string | undefined): Coding | undefined {
  if (header === undefined || header === '' || header === 'identity') return undefined;
  const known = codingsKnown.get(header) ?? preferredCoding(header);
  codingsKnown.set(header, known);
  return known === 'identity' ? undefined : known;
}

function preferredCoding(header: string): Coding | 'identity' {
  // Another name of the same (RFC 9110, 8.4.1.3).
  const headers = { 'accept-encoding': header.slice(0, MAX_READ).replace('x-gzip', 'gzip') };
  const negotiator: PreferringNegotiator = new Negotiator({ headers });
  const best = negotiator.encoding(OFFERED_CODINGS, { preferred: OFFERED_CODINGS });
  return CODING_NAMES.find((name) => name === best) ?? 'identity';
}

type AppliedPreferences = Readonly<Record<string, string>>;

/** Preferences of a write. */
interface WritePreferences {
  /** `return=minimal`: no record is answered. */
  readonly minimal: boolean;
  /** Records that may be deleted or unlinked. */
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

/** The preferred way to count a list. */
interface CountPreference {
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

/** The number is required: a filter that is too wide could empty a table. */
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
