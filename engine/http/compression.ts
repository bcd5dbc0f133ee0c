/** Answers made smaller on their way out, where the client takes that and it is worth while. */
import type { IncomingMessage } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { andThen, type Awaitable } from '../awaitable.ts';
import { type Caller, PATIENT } from '../caller.ts';
import { Problem } from '../problem.ts';
import type { Answer } from './answer.ts';
import { acceptedCoding, type Coding, compress, compressor, STATE } from './coding.ts';
import { codedTag } from './entity-tag.ts';

/** Characters; below, the headers weigh more. */
const WORTH_WHILE = 2048;

/** What goes over the wire. */
export interface Coded extends Omit<Answer, 'body'> {
  readonly body: string | Buffer | AsyncIterable<string | Buffer> | undefined;
}

export function coded(request: IncomingMessage, answer: Answer, caller: Caller = PATIENT): Awaitable<Coded> {
  const { headers, body } = answer;
  if (body === undefined || (typeof body === 'string' && body.length < WORTH_WHILE)) return answer;
  const coding = acceptedCoding(String(request.headers['accept-encoding'] ?? ''));
  if (coding === undefined || !hasRoom(body, coding, caller)) return answer;
  const tag = headers['ETag'];
  const described = {
    ...headers,
    'Content-Encoding': coding,
    ...(tag === undefined ? {} : { ETag: codedTag(tag, coding) }),
  };
  const small = typeof body === 'string' ? compress(Buffer.from(body), coding) : compressed(body, coding);
  return andThen<Coded['body'], Coded>(small, (made) => ({ ...answer, headers: described, body: made }));
}

/** Whether there is memory to compress it: if not, it is sent as it is. */
function hasRoom(body: string | AsyncIterable<string>, coding: Coding, caller: Caller): boolean {
  try {
    caller.take(STATE[coding] + (typeof body === 'string' ? 2 * body.length : 0));
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

/** A fault of the source, and a reader that ends early, reach the other end. */
function compressed(pieces: AsyncIterable<string>, coding: Coding): AsyncIterable<Buffer> {
  const transform = compressor(coding);
  pipeline(Readable.from(pieces), transform, () => undefined);
  return transform;
}
