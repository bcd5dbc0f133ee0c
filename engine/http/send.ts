/** The one writer of answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { COMMON_HEADERS, type Answer } from './answer.ts';
import { linger } from './linger.ts';
import { sendPieces, type StreamOptions } from './stream.ts';

export interface SendOptions extends StreamOptions {
  /** Whether the service is about to stop, so that each answer is the last one on its connection. */
  readonly isDraining: () => boolean;
}

/** Never rejects: where the answer cannot be sent to its end, the connection is closed. */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  options: SendOptions,
): Promise<void> {
  // Pieces must be begun to be ended, whoever is there.
  if (response.destroyed && typeof answer.body !== 'object') return;
  if (options.isDraining()) response.shouldKeepAlive = false;
  if (typeof answer.body === 'object') await sendPieces(request, response, answer, answer.body, options);
  else sendWhole(response, answer, answer.body);
  linger(request);
}

function sendWhole(response: ServerResponse, { status, headers }: Answer, body: string | undefined): void {
  if (body === undefined) {
    response.writeHead(status, { ...COMMON_HEADERS, ...headers }).end();
    return;
  }
  response.writeHead(status, { ...COMMON_HEADERS, ...headers, 'Content-Length': Buffer.byteLength(body) });
  // Node leaves the body of an answer to HEAD out.
  response.end(body);
}
