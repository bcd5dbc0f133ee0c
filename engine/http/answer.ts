/** What a request is answered with: operations build it, and one writer sends it. */
import type { IncomingMessage } from 'node:http';
import type { RecordType } from '../model/model.ts';
import { asNamed, entityTag, isKnown } from './preconditions.ts';
import { JSON_TYPE } from './negotiation.ts';
import { writePreferences } from './preferences.ts';

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

/** Of a write: the record, or nothing if the client prefers that. A create stays one. */
export function writeAnswer({ headers }: IncomingMessage, status: number, body: string, more: HeaderMap): Whole {
  const { minimal, applied } = writePreferences(headers.prefer);
  if (minimal && status === 201) return { status, headers: { ...more, ...applied }, body: '' };
  if (minimal) return { status: 204, headers: { ...more, ...applied }, body: undefined };
  return { status, headers: { ...JSON_CONTENT, ...more, ...applied }, body };
}

/** The header of the record's tag, unless its type goes without. */
export const tagHeader = ({ preconditions }: RecordType, body: string): HeaderMap =>
  preconditions === 'off' ? {} : { ETag: entityTag(body) };
