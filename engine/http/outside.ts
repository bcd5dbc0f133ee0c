/** Requests for what is no record: who serves that lets them be limited and told of like all others. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createEnvelopes, requestIdOf } from './envelope.ts';
import { createHandler, type HandlerOptions, type RoutesOf } from './handler.ts';
import { type Observe, watchRequest } from './observe.ts';
import { problemAnswer } from './problems.ts';
import { send } from './send.ts';
import { fullPath, targetOf } from './target.ts';

export interface Outside {
  /** Tells of the request when it is over, where somebody wants to know. */
  watch(request: IncomingMessage, response: ServerResponse): void;
  /** Counts the request, and serves it where its client has not sent too many. */
  limit(request: IncomingMessage, response: ServerResponse, serve: () => void): void;
  /** Answers that there is nothing here, to a request that is watched and was counted. */
  notFound(request: IncomingMessage, response: ServerResponse): void;
}

export function createOutside(routesOf: RoutesOf, options: HandlerOptions): Outside {
  const { rateLimit, observe } = options;
  const refuse = createRefuse(options);
  return {
    watch: (request, response) => {
      if (observe) watchOutside(request, response, observe);
    },
    limit: (request, response, serve) => {
      if (rateLimit === undefined) return serve();
      const counted = (lines: readonly string[]): void => {
        for (let at = 0; at < lines.length; at += 2) response.setHeader(lines[at] ?? '', lines[at + 1] ?? '');
        serve();
      };
      void rateLimit(request).then(counted, (error: unknown) => refuse(request, response, error));
    },
    notFound: createHandler(routesOf, { ...options, rateLimit: undefined, observe: undefined }),
  };
}

function watchOutside(request: IncomingMessage, response: ServerResponse, observe: Observe): void {
  const path = fullPath(targetOf(request));
  const requestId = requestIdOf(request);
  // Where the answer names the request as well, it is by this name.
  request.headers['x-request-id'] = requestId;
  watchRequest({ request, response, path, requestId, labelOf: () => undefined }, observe);
}

function createRefuse(options: HandlerOptions) {
  const envelopeOf = createEnvelopes(options);
  return (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    const envelope = envelopeOf(request);
    const answer = problemAnswer(error, fullPath(targetOf(request)), envelope.requestId, options.log);
    void send({ request, response, envelope }, answer, options);
  };
}
