/** What a request is answered with: operations build it, and one writer sends it. */
import type { IncomingMessage } from 'node:http';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { asNamed, entityTag, isKnown } from './conditions.ts';
import { JSON_TYPE } from './negotiation.ts';

type HeaderMap = Readonly<Record<string, string>>;

export interface Answer {
  readonly status: number;
  readonly headers: HeaderMap;
  /** Text is sent whole, with its length; pieces are sent as they come; undefined is no content at all. */
  readonly body: string | AsyncIterable<string> | undefined;
}

/** An answer that is not a stream. */
export interface Whole extends Answer {
  readonly body: string | undefined;
}

const JSON_CONTENT: HeaderMap = Object.freeze({ 'Content-Type': JSON_TYPE });

/** Of a read: the text, or 304 if the client has it already. Without a tag it is always the text. */
export function readAnswer(
  request: IncomingMessage,
  body: Answer['body'],
  tag: string | undefined,
  headers: HeaderMap = JSON_CONTENT,
): Answer {
  if (tag === undefined) return { status: 200, headers, body };
  if (isKnown(request, tag))
    return { status: 304, headers: { ETag: asNamed(request.headers['if-none-match'] ?? '', tag) }, body: undefined };
  // Most reads: a literal costs a fraction of a spread.
  if (headers === JSON_CONTENT) return { status: 200, headers: { 'Content-Type': JSON_TYPE, ETag: tag }, body };
  return { status: 200, headers: { ...headers, ETag: tag }, body };
}

/** Of a write: the record, or nothing if the client prefers that. */
export function writeAnswer({ headers }: IncomingMessage, status: number, body: string, more: HeaderMap): Whole {
  const { minimal, applied } = writePreferences(headers.prefer);
  if (minimal) return { status: 204, headers: { ...more, ...applied }, body: undefined };
  return { status, headers: { ...JSON_CONTENT, ...more, ...applied }, body };
}

/** The header of the record's tag, unless its type goes without. */
export const tagHeader = ({ preconditions }: RecordType, body: string): HeaderMap =>
  preconditions === 'off' ? {} : { ETag: entityTag(body) };

/** `Prefer` (RFC 7240): what a client would like, and which of it was done. */
export interface Preferences {
  /** `return=minimal`: a write answers no record. */
  readonly minimal: boolean;
  /** Headers that say which preferences were followed. */
  readonly applied: HeaderMap;
}

/** Whether a write answers no record. */
export const isMinimal = ({ headers }: IncomingMessage): boolean => writePreferences(headers.prefer).minimal;

type PreferHeader = string | readonly string[] | undefined;

const NOTHING: HeaderMap = Object.freeze({});
const NO_PREFERENCES: Preferences = Object.freeze({ minimal: false, applied: NOTHING });

const RETURNS = ['minimal', 'representation'] as const;

function writePreferences(header: PreferHeader): Preferences {
  const value = preferred(header, 'return', RETURNS);
  return value === undefined ? NO_PREFERENCES : { minimal: value === 'minimal', applied: applied('return', value) };
}

/** How a list is counted, and the headers that say so. */
export interface CountPreference {
  readonly count: CountMode;
  readonly applied: HeaderMap;
}

/** Without a preference the descriptor decides. A client must be able to tell an estimate. */
export function countPreference(header: PreferHeader, { count }: Pick<RecordType, 'count'>): CountPreference {
  const value = preferred(header, 'count', COUNT_MODES);
  if (value !== undefined) return { count: value, applied: applied('count', value) };
  return { count, applied: count === 'estimated' ? applied('count', count) : NOTHING };
}

const applied = (name: string, value: string): HeaderMap => ({ 'Preference-Applied': `${name}=${value}` });

/** `Prefer: max-affected=N`, as the client writes it. */
export const maxAffected = (header: PreferHeader): string | undefined => preferences(header).get('max-affected');

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
