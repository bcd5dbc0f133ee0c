/** The one writer of answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { andThen, type Awaitable } from '../awaitable.ts';
import type { Answer } from './answer.ts';
import { type Coded, coded } from './compression.ts';
import type { Envelope } from './envelope.ts';
import type { HttpCaller } from './http-caller.ts';
import { linger } from './linger.ts';
import type { Label } from './observe.ts';
import { sendPieces, type StreamOptions } from './stream.ts';

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
