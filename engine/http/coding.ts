/** Content codings: which one a client takes (RFC 9110, 12.5.3), and texts that it makes smaller. */
import { promisify } from 'node:util';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  type BrotliOptions,
  type ZlibOptions,
} from 'node:zlib';
import type { Transform } from 'node:stream';

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
