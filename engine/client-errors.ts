/** Requests that Node refuses before they are requests: answered in the words of all others, and closed. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { PROBLEM_TYPE } from './http/answer.ts';
import { type ProblemCode, problemKinds } from './problem.ts';

interface Refusal {
  readonly code: ProblemCode;
  readonly detail: string;
}

const REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    { code: 'headers-too-large', detail: 'The headers of the request, with its URL, are too large' },
  ],
  ['ERR_HTTP_REQUEST_TIMEOUT', { code: 'request-timeout', detail: 'The request did not arrive in time' }],
]);
const MALFORMED: Refusal = { code: 'bad-request', detail: 'This is not a valid HTTP request' };

export function answerClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { code, detail } = REFUSALS.get(error.code ?? '') ?? MALFORMED;
  const { status, title } = problemKinds[code];
  const body = JSON.stringify({ type: `urn:problem:${code}`, title, status, detail, message: detail });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-cache',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
