/** Answers that carry one record, or would. */
import type { IncomingMessage } from 'node:http';
import type { RecordType } from '../model/model.ts';
import { Problem } from '../problem.ts';
import { type Answer, JSON_TYPE } from './answer.ts';
import { asNamed, entityTag, isKnown } from './conditions.ts';

type HeaderMap = Readonly<Record<string, string>>;

/** An answer that is no stream. */
export interface Whole extends Answer {
  readonly body: string | undefined;
}

const JSON_CONTENT: HeaderMap = Object.freeze({ 'Content-Type': JSON_TYPE });

/** Of a read: the text, or 304 where the client has it. Without a tag it is always the text. */
export function readAnswer(
  request: IncomingMessage,
  body: Answer['body'],
  tag: string | undefined,
  more: HeaderMap = JSON_CONTENT,
): Answer {
  if (tag === undefined) return { status: 200, headers: more, body };
  if (isKnown(request, tag))
    return { status: 304, headers: { ETag: asNamed(request.headers['if-none-match'] ?? '', tag) }, body: undefined };
  return { status: 200, headers: { ...more, ETag: tag }, body };
}

/** Of a write: the record, or nothing where the client prefers that. */
export function writeAnswer({ headers }: IncomingMessage, status: number, body: string, more: HeaderMap): Whole {
  const { minimal, applied } = writePreferences(headers.prefer);
  if (minimal) return { status: 204, headers: { ...more, ...applied }, body: undefined };
  return { status, headers: { 'Content-Type': JSON_TYPE, ...more, ...applied }, body };
}

/** The header of the record's tag, unless its type goes without. */
export const tagHeader = ({ preconditions }: RecordType, body: string): HeaderMap =>
  preconditions === 'off' ? {} : { ETag: entityTag(body) };

export function noSuchRecord(type: RecordType, identifier: number): never {
  throw new Problem('record-not-found', `There is no ${type.name} ${identifier}`);
}

/** `Prefer` (RFC 7240): what a client would like, and which of it was done. */
export interface Preferences {
  /** `return=minimal`: a write answers no record. */
  readonly minimal: boolean;
  /** `count=none`: a list is not counted. */
  readonly uncounted: boolean;
  /** Headers that say which preferences were followed. */
  readonly applied: Readonly<Record<string, string>>;
}

type Header = string | readonly string[] | undefined;

const NONE: Preferences = Object.freeze({ minimal: false, uncounted: false, applied: Object.freeze({}) });

/** Of the preferences that an operation knows, the first of each name counts; others are for somebody else. */
function preferences(header: Header, known: readonly string[]): Preferences {
  if (header === undefined) return NONE;
  const wanted = new Map(String(header).split(',').map(preference).toReversed());
  const applied = known.filter((name) => VALUES[name]?.includes(wanted.get(name) ?? ''));
  return {
    minimal: applied.includes('return') && wanted.get('return') === 'minimal',
    uncounted: applied.includes('count') && wanted.get('count') === 'none',
    applied:
      applied.length === 0
        ? {}
        : { 'Preference-Applied': applied.map((name) => `${name}=${wanted.get(name)}`).join(', ') },
  };
}

const VALUES: Readonly<Record<string, readonly string[]>> = {
  return: ['minimal', 'representation'],
  count: ['none', 'exact'],
};

export const writePreferences = (header: Header): Preferences => preferences(header, ['return']);
export const listPreferences = (header: Header): Preferences => preferences(header, ['count']);

function preference(text: string): readonly [string, string] {
  const [name = '', value = ''] = (text.split(';', 1)[0] ?? '').split('=');
  return [name.trim().toLowerCase(), value.trim().replaceAll('"', '').toLowerCase()];
}
