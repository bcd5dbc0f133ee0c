/** Media types: what a client takes (Accept), and what a body is (Content-Type, Content-Encoding). */
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
import { Problem } from '../problem.ts';
import { JSON_TYPE, MERGE_PATCH_TYPE } from './answer.ts';

/** The media types of bodies, by method. The header says them to whoever sent another one (RFC 9110, 15.5.16). */
export interface BodyTypes {
  readonly accepted: readonly string[];
  readonly header: 'Accept' | 'Accept-Patch';
}

export const RECORD_BODY: BodyTypes = { accepted: [JSON_TYPE], header: 'Accept' };
export const PATCH_BODY: BodyTypes = { accepted: [MERGE_PATCH_TYPE, JSON_TYPE], header: 'Accept-Patch' };

/** The media type of the answer: of those that are offered, the one that the client likes best. */
export function acceptedType(accept: string | undefined, offered: readonly string[]): string {
  const [first = JSON_TYPE] = offered;
  if (accept === undefined || accept === '*/*' || accept === first) return first;
  const ranges = accept.split(',').map(rangeOf);
  const weighed = offered.map((type) => ({ type, quality: quality(type, ranges) }));
  const [best] = weighed.toSorted((a, b) => b.quality - a.quality);
  if (best !== undefined && best.quality > 0) return best.type;
  const message = `Accept is "${excerpt(accept)}"; this can be answered as ${offered.join(', ')}`;
  throw new Problem('not-acceptable', message, { errors: [{ header: 'Accept', code: 'not-acceptable', message }] });
}

interface AcceptRange {
  readonly name: string;
  readonly quality: number;
}

function rangeOf(text: string): AcceptRange {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return { name, quality: qualityOf(parameters) };
}

/** Where several ranges hold a type, the most specific one decides (RFC 9110, 12.5.1). */
function quality(type: string, ranges: readonly AcceptRange[]): number {
  const [major = ''] = type.split('/');
  const found = [type, `${major}/*`, '*/*'].map((name) => ranges.find((range) => range.name === name));
  return found.find((range) => range !== undefined)?.quality ?? 0;
}

function qualityOf(parameters: readonly string[]): number {
  const parameter = parameters.find((text) => text.startsWith('q='));
  return parameter === undefined ? 1 : Number(parameter.slice(2));
}

/** Refuses a body that is not one of these media types in UTF-8, before any of it is read. */
export function requireBodyType({ headers }: IncomingMessage, types: BodyTypes): void {
  const type = headers['content-type'];
  if (type !== JSON_TYPE) requireMediaType(type, types);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw encoded(encoding);
}

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
  const message = `Content-Encoding is "${excerpt(encoding)}"; expected a body that is not encoded`;
  const errors = [{ header: 'Content-Encoding', code: 'unsupported-encoding', message }];
  return new Problem('unsupported-media-type', message, { errors, headers: { 'Accept-Encoding': 'identity' } });
}

const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

// Content codings: which one a client takes (RFC 9110, 12.5.3), and texts that it makes smaller.

interface CodingKind {
  readonly whole: (text: Buffer) => Promise<Buffer>;
  readonly stream: () => Transform;
}

/** Fast rather than small: the answers of a moment are compressed once for each request. */
const GZIP: ZlibOptions = { level: 5 };
const BROTLI: BrotliOptions = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 },
};

/** Bytes that a compressor takes while it is at work. */
export const STATE: Readonly<Record<Coding, number>> = { br: 2 * 1024 ** 2, gzip: 512 * 1024 };

const [gzipped, brotlied] = [promisify(gzip), promisify(brotliCompress)];

/** Of two that a client takes alike, the first. */
const CODINGS = {
  br: { whole: (text) => brotlied(text, BROTLI), stream: () => createBrotliCompress(BROTLI) },
  gzip: { whole: (text) => gzipped(text, GZIP), stream: () => createGzip(GZIP) },
} as const satisfies Record<string, CodingKind>;

export type Coding = keyof typeof CODINGS;

export const CODING_NAMES = Object.keys(CODINGS) as readonly Coding[];

/** An async function, so that its promise is one of this realm, whatever made the other. */
export const compress = async (text: Buffer, coding: Coding): Promise<Buffer> => CODINGS[coding].whole(text);
export const compressor = (coding: Coding): Transform => CODINGS[coding].stream();

/** The coding that the client likes best; undefined where it takes none, or likes plain text better. */
export function acceptedCoding(header: string | undefined): Coding | undefined {
  if (header === undefined || header === '' || header === 'identity') return undefined;
  const weights = new Map(header.split(',').map(weighted));
  const weightOf = (name: string, fallback: number): number => weights.get(name) ?? weights.get('*') ?? fallback;
  const [best] = CODING_NAMES.map((name) => ({ name, weight: weightOf(name, 0) })).toSorted(
    (a, b) => b.weight - a.weight,
  );
  return best && best.weight > 0 && best.weight >= (weights.get('identity') ?? 0) ? best.name : undefined;
}

function weighted(text: string): readonly [string, number] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  return [name === 'x-gzip' ? 'gzip' : name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
}
