/** Answers that carry one record, or would. */
import type { IncomingMessage } from 'node:http';
import type { RecordType } from '../model/model.ts';
import { Problem } from '../problem.ts';
import { type Answer, JSON_TYPE } from './answer.ts';
import { asNamed, entityTag } from './entity-tag.ts';
import { isKnown } from './preconditions.ts';
import { writePreferences } from './preferences.ts';

type Headers = Readonly<Record<string, string>>;

/** An answer that is no stream. */
export interface Whole extends Answer {
  readonly body: string | undefined;
}

const JSON_CONTENT: Headers = Object.freeze({ 'Content-Type': JSON_TYPE });

/** Of a read: the text, or 304 where the client has it. Without a tag it is always the text. */
export function readAnswer(
  request: IncomingMessage,
  body: Answer['body'],
  tag: string | undefined,
  more: Headers = JSON_CONTENT,
): Answer {
  if (tag === undefined) return { status: 200, headers: more, body };
  if (isKnown(request, tag))
    return { status: 304, headers: { ETag: asNamed(request.headers['if-none-match'] ?? '', tag) }, body: undefined };
  return { status: 200, headers: { ...more, ETag: tag }, body };
}

/** Of a write: the record, or nothing where the client prefers that. */
export function writeAnswer({ headers }: IncomingMessage, status: number, body: string, more: Headers): Whole {
  const { minimal, applied } = writePreferences(headers.prefer);
  if (minimal) return { status: 204, headers: { ...more, ...applied }, body: undefined };
  return { status, headers: { 'Content-Type': JSON_TYPE, ...more, ...applied }, body };
}

/** The header of the record's tag, unless its type goes without. */
export const tagHeader = ({ preconditions }: RecordType, body: string): Headers =>
  preconditions === 'off' ? {} : { ETag: entityTag(body) };

export function noSuchRecord(type: RecordType, identifier: number): never {
  throw new Problem('record-not-found', `There is no ${type.name} ${identifier}`);
}
