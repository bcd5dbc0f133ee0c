/** The one writer of answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { andThen, type Awaitable } from '../awaitable.ts';
import type { Answer } from './answer.ts';
import type { Envelope } from './envelope.ts';
import { linger } from './content.ts';
import type { HttpCaller, Label } from './request.ts';
import { type Caller, CallerGone, PATIENT } from '../caller.ts';
import type { AwaitReader } from './slow-readers.ts';
import type { Log } from '../log.ts';
import { Problem } from '../problem.ts';
import { acceptedCoding, type Coding, compress, compressor, STATE } from './negotiation.ts';
import { codedTag } from './conditions.ts';

/** Characters. */
const LONG = 64 * 1024;

export interface SendOptions extends StreamOptions {
  /** Whether the service is about to stop, so that each answer is the last one on its connection. */
  readonly isDraining: () => boolean;
}

/** Where an answer goes, and what stands on its envelope. */
export interface Delivery {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  envelope: Envelope;
  /** Which operation it is, once that is known. */
  label?: Label;
  /** Who asks, once that is known. */
  caller?: HttpCaller;
}

/** Never fails: where the answer cannot be sent to its end, the connection is closed. */
export function send(delivery: Delivery, answer: Answer, options: SendOptions): Awaitable<void> {
  const { request, response } = delivery;
  // Pieces must be begun to be ended, whoever is there.
  if (response.destroyed && typeof answer.body !== 'object') return;
  if (options.isDraining()) response.shouldKeepAlive = false;
  const sent = andThen(coded(request, answer, delivery.caller), (ready) => write(delivery, ready, options));
  // An answer that closes the connection does so at once: what comes still is for nobody.
  return answer.headers['Connection'] === 'close' ? sent : andThen(sent, () => linger(request));
}

function write(
  { response, request, envelope }: Delivery,
  { status, headers, body }: Coded,
  options: SendOptions,
): Awaitable<void> {
  const lines = headerLines(envelope, headers);
  if (typeof body === 'object' && !Buffer.isBuffer(body)) {
    response.writeHead(status, lines);
    return sendPieces({ request, response, envelope }, body, options);
  }
  // Of a long text Node would make a copy to put the head before it, and one more to send it.
  const bytes = typeof body === 'string' && body.length > LONG ? Buffer.from(body) : body;
  if (bytes !== undefined) lines.push('Content-Length', String(Buffer.byteLength(bytes)));
  response.writeHead(status, lines);
  // Node leaves the body of an answer to HEAD out.
  response.end(bytes);
  options.awaitReader(request, response);
}

/** Names and values in turn: to spread headers into an object for each answer would cost as much as its record. */
function headerLines(envelope: Envelope, headers: Answer['headers']): string[] {
  const lines = [...envelope.headers];
  for (const name of Object.keys(headers)) lines.push(name, headers[name] ?? '');
  return lines;
}

// Answers that are sent as they come: no faster than they are read, and cut off where nobody reads.

export interface StreamOptions {
  readonly awaitReader: AwaitReader;
  readonly log?: Log;
}

export async function sendPieces(
  delivery: Delivery,
  pieces: AsyncIterable<string | Buffer>,
  { awaitReader, log }: StreamOptions,
): Promise<void> {
  const { request, response, envelope } = delivery;
  try {
    for await (const piece of pieces) {
      if (request.method === 'HEAD' || response.destroyed) break;
      if (response.write(piece) || (await caughtUp(delivery, awaitReader))) continue;
      response.destroy();
      break;
    }
    response.end();
    awaitReader(request, response);
  } catch (error) {
    // The status is sent: only a broken connection can still say that the answer is not whole.
    if (!(error instanceof CallerGone))
      log?.error({ requestId: envelope.requestId, err: error }, 'an answer broke off');
    response.destroy();
  }
}

/** Whether the reader has taken what was written; false where it has gone, or took too long. */
function caughtUp({ request, response }: Delivery, awaitReader: AwaitReader): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = awaitReader(request, response);
    const onDrain = (): void => settle(true);
    const onClose = (): void => settle(false);
    const settle = (inTime: boolean): void => {
      stop();
      // The next piece may take its time.
      response.setTimeout(0);
      response.off('drain', onDrain).off('close', onClose);
      resolve(inTime);
    };
    response.once('drain', onDrain).once('close', onClose);
  });
}

// Answers made smaller on their way out, where the client takes that and it is worth while.

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
