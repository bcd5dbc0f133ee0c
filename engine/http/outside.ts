/** Requests for what is no record: who serves that lets them be limited like all others. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createEnvelopes } from './envelope.ts';
import { createHandler, type HandlerOptions, type RoutesOf } from './handler.ts';
import { problemAnswer } from './problem-answer.ts';
import { send } from './send.ts';
import { fullPath, targetOf } from './target.ts';

export interface Outside {
  /** Counts the request, and serves it where its client has not sent too many. */
  limit(request: IncomingMessage, response: ServerResponse, serve: () => void): void;
  /** Answers that there is nothing here, to a request that was counted. */
  notFound(request: IncomingMessage, response: ServerResponse): void;
}

export function createOutside(routesOf: RoutesOf, options: HandlerOptions): Outside {
  const { rateLimit } = options;
  const refuse = createRefuse(options);
  return {
    limit: (request, response, serve) => {
      if (rateLimit === undefined) return serve();
      const counted = (lines: readonly string[]): void => {
        for (let at = 0; at < lines.length; at += 2) response.setHeader(lines[at] ?? '', lines[at + 1] ?? '');
        serve();
      };
      void rateLimit(request).then(counted, (error: unknown) => refuse(request, response, error));
    },
    notFound: createHandler(routesOf, { ...options, rateLimit: undefined }),
  };
}

function createRefuse(options: HandlerOptions) {
  const envelopeOf = createEnvelopes(options);
  return (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    const envelope = envelopeOf(request);
    const answer = problemAnswer(error, fullPath(targetOf(request)), envelope.requestId, options.log);
    void send({ request, response, envelope }, answer, options);
  };
}
