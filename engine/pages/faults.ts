/** What becomes of an error behind the records' handler: a problem like any other, and never what Express would tell of it. */
import type { ErrorRequestHandler } from 'express';
import { requestIdOf } from '../http/envelope.ts';
import { problemAnswer } from '../http/problem-answer.ts';
import type { Log } from '../log.ts';
import { SECURITY_HEADERS } from './security.ts';

export const answerFaults =
  (log: Log): ErrorRequestHandler =>
  (error, request, response, _next) => {
    if (response.headersSent) return void response.destroy();
    const requestId = requestIdOf(request);
    const { status, headers, body } = problemAnswer(error, request.path, requestId, log);
    const common = { ...SECURITY_HEADERS, 'Cache-Control': 'no-cache', 'X-Request-Id': requestId };
    response.writeHead(status, { ...common, ...headers });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
