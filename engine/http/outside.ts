/** For a host that serves more than records: the steps that hold for its other requests as well. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createEnvelopes, requestIdOf } from './envelope.ts';
import { createHandler, type Handler, type HandlerOptions, type RoutesOf } from './handler.ts';
import { watchRequest } from './observe.ts';
import { problemAnswer } from './problems.ts';
import { send } from './send.ts';
import { fullPath, targetOf } from './target.ts';

export interface HostSteps {
  /** Logs and counts the request when it is over. */
  watch(request: IncomingMessage, response: ServerResponse): void;
  /** Counts the request against the rate limit. `next` gets the Problem if the client has sent too many. */
  limit(request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void;
  /** Answers that there is nothing at this path. */
  readonly notFound: Handler;
  /** The one answer to an error, whatever it is about. */
  refuse(error: unknown, request: IncomingMessage, response: ServerResponse): void;
}

export function createHostSteps(routesOf: RoutesOf, options: HandlerOptions): HostSteps {
  const { rateLimit, observe, log } = options;
  const envelopeOf = createEnvelopes(options);
  return {
    watch: (request, response) => {
      if (observe === undefined) return;
      const requestId = requestIdOf(request);
      // Where the answer names the request as well, it is by this name.
      request.headers['x-request-id'] = requestId;
      const path = fullPath(targetOf(request));
      watchRequest({ request, response, path, requestId, labelOf: () => undefined }, observe);
    },
    limit: (request, response, next) => {
      if (rateLimit === undefined) return next();
      const counted = (lines: readonly string[]): void => {
        for (let at = 0; at < lines.length; at += 2) response.setHeader(lines[at] ?? '', lines[at + 1] ?? '');
        next();
      };
      void rateLimit(request).then(counted, next);
    },
    notFound: createHandler(routesOf, { ...options, rateLimit: undefined, observe: undefined }),
    refuse: (error, request, response) => {
      const envelope = envelopeOf(request);
      const answer = problemAnswer(error, fullPath(targetOf(request)), envelope.requestId, log);
      void send({ request, response, envelope }, answer, options);
    },
  };
}
