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

interface Range {
  readonly name: string;
  readonly quality: number;
}

function rangeOf(text: string): Range {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return { name, quality: weight(parameters) };
}

/** Where several ranges hold a type, the most specific one decides (RFC 9110, 12.5.1). */
function quality(type: string, ranges: readonly Range[]): number {
  const [major = ''] = type.split('/');
  const found = [type, `${major}/*`, '*/*'].map((name) => ranges.find((range) => range.name === name));
  return found.find((range) => range !== undefined)?.quality ?? 0;
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
