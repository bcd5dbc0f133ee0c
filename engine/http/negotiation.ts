/** Media types: what a client takes (Accept), and what a body is (Content-Type, Content-Encoding). */
import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';
import { JSON_TYPE, MERGE_PATCH_TYPE } from './answer.ts';

/** The media types of bodies, by method. The header says them to whoever sent another one (RFC 9110, 15.5.16). */
export interface BodyTypes {
  readonly accepted: readonly string[];
  readonly header: 'Accept' | 'Accept-Patch';
}

export const RECORD_BODY: BodyTypes = { accepted: [JSON_TYPE], header: 'Accept' };
export const PATCH_BODY: BodyTypes = { accepted: [MERGE_PATCH_TYPE, JSON_TYPE], header: 'Accept-Patch' };

export function requireAcceptable(accept: string | undefined): void {
  if (accept === undefined || accept === '*/*' || accept === JSON_TYPE || quality(accept) > 0) return;
  const message = `Accept leaves out ${JSON_TYPE}, the only media type of records; it says "${excerpt(accept)}"`;
  throw new Problem('not-acceptable', message, { errors: [{ header: 'Accept', code: 'not-acceptable', message }] });
}

/** Ranges that JSON lies in; where several match, the most specific one decides (RFC 9110, 12.5.1). */
const RANGES: ReadonlyMap<string, number> = new Map([
  ['*/*', 1],
  ['application/*', 2],
  [JSON_TYPE, 3],
]);

function quality(accept: string): number {
  let decisive = { rank: 0, quality: 0 };
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const rank = RANGES.get(type) ?? 0;
    if (rank > decisive.rank) decisive = { rank, quality: weight(parameters) };
  }
  return decisive.quality;
}

function weight(parameters: readonly string[]): number {
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
