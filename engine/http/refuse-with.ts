/** A problem as the whole answer, for requests that no route sees. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import type { Problem } from '../problem.ts';
import { problemAnswer } from './problem-answer.ts';
import { fullPath, targetOf } from './target.ts';

export function refuseWith(problem: Problem, request: IncomingMessage, response: ServerResponse, log: Log): void {
  const { status, headers, body } = problemAnswer(problem, fullPath(targetOf(request)), '', log);
  const text = String(body);
  response.writeHead(status, {
    ...headers,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}
