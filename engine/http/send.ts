/** The one writer of answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from './answer.ts';
import { coded } from './compression.ts';
import type { Envelope } from './envelope.ts';
import { linger } from './linger.ts';
import { sendPieces, type StreamOptions } from './stream.ts';

export interface SendOptions extends StreamOptions {
  /** Whether the service is about to stop, so that each answer is the last one on its connection. */
  readonly isDraining: () => boolean;
}

/** Where an answer goes, and what stands on its envelope. */
export interface Delivery {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly envelope: Envelope;
}

/** Never rejects: where the answer cannot be sent to its end, the connection is closed. */
export async function send(delivery: Delivery, answer: Answer, options: SendOptions): Promise<void> {
  const { request, response, envelope } = delivery;
  // Pieces must be begun to be ended, whoever is there.
  if (response.destroyed && typeof answer.body !== 'object') return;
  if (options.isDraining()) response.shouldKeepAlive = false;
  const { status, headers, body } = await coded(request, answer);
  const all = { ...envelope.headers, ...headers };
  if (typeof body === 'object' && !Buffer.isBuffer(body))
    await sendPieces(delivery, { status, headers: all }, body, options);
  else sendWhole(response, status, all, body);
  linger(request);
}

function sendWhole(
  response: ServerResponse,
  status: number,
  headers: Answer['headers'],
  body: string | Buffer | undefined,
): void {
  if (body === undefined) {
    response.writeHead(status, headers).end();
    return;
  }
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  // Node leaves the body of an answer to HEAD out.
  response.end(body);
}
