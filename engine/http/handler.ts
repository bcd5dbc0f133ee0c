/** The way of a request: route, operation, answer. Needs nothing of Express, and can be mounted in it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { andThen, type Awaitable } from '../awaitable.ts';
import type { Budget } from '../budget.ts';
import { type Caller, CallerGone } from '../caller.ts';
import type { Log } from '../log.ts';
import { Problem } from '../problem.ts';
import type { Answer } from './answer.ts';
import { createEnvelopes, type EnvelopeOptions } from './envelope.ts';
import { HttpCaller } from './http-caller.ts';
import { acceptedType } from './negotiation.ts';
import { type Observe, watchRequest } from './observe.ts';
import { problemAnswer } from './problems.ts';
import type { RateLimit } from './rate-limit.ts';
import { API_ROOT, findRoute, knownPaths, pathProblem, type Route, type Routes } from './routes.ts';
import { type Delivery, send, type SendOptions } from './send.ts';
import { fullPath, type Target, targetOf } from './target.ts';

/** What Express calls middleware, and what `http.createServer` takes. */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export type HandlerOptions = SendOptions &
  EnvelopeOptions & {
    /** Whether requests need a token: browsers send none when they ask in front whether they may. */
    readonly guarded: boolean;
    readonly log: Log;
    readonly budget: Budget;
    /** Characters that a URL may have. */
    readonly urlLimit: number;
    /** undefined where clients may ask as often as they like. */
    readonly rateLimit: RateLimit | undefined;
    /** Told of each request when it is over; undefined where nobody wants to know. */
    readonly observe: Observe | undefined;
  };

/** The routes that a client has. Throws a Problem where it has none. */
export type RoutesOf = (request: IncomingMessage) => Routes;

const PREFLIGHT: Answer = { status: 204, headers: {}, body: undefined };

export function createHandler(routesOf: RoutesOf, options: HandlerOptions): Handler {
  const envelopeOf = createEnvelopes(options);
  const { observe } = options;
  return (request, response, next) => {
    const target = targetOf(request);
    const inside = target.path.startsWith(API_ROOT) || target.path === '/api';
    if (inside || next === undefined) {
      const exchange: Delivery = { request, response, envelope: envelopeOf(request) };
      if (observe) {
        const { requestId } = exchange.envelope;
        watchRequest({ request, response, path: fullPath(target), requestId, labelOf: () => exchange.label }, observe);
      }
      void respond(routesOf, exchange, target, options);
    } else next();
  };
}

async function respond(routesOf: RoutesOf, delivery: Delivery, target: Target, options: HandlerOptions): Promise<void> {
  try {
    const { rateLimit } = options;
    if (rateLimit) withHeaders(delivery, await rateLimit(delivery.request));
    await andThen(answer(routesOf, delivery, target, options), (found) => send(delivery, found, options));
  } catch (error) {
    if (error instanceof CallerGone) return;
    await send(delivery, problemAnswer(error, fullPath(target), delivery.envelope.requestId, options.log), options);
  } finally {
    delivery.caller?.release();
  }
}

function withHeaders(delivery: Delivery, lines: readonly string[]): void {
  const { envelope } = delivery;
  delivery.envelope = { ...envelope, headers: [...envelope.headers, ...lines] };
}

/** Throws a Problem for whatever the request lacks. */
function answer(
  routesOf: RoutesOf,
  delivery: Delivery,
  target: Target,
  { guarded, urlLimit, budget }: HandlerOptions,
): Awaitable<Answer> {
  const { request } = delivery;
  refuseLong(request, urlLimit);
  if (guarded && isPreflight(request)) return PREFLIGHT;
  const routes = routesOf(request);
  if (!target.path.startsWith(API_ROOT)) throw pathProblem(fullPath(target), knownPaths(routes));
  const { route, identifier } = findRoute(routes, target.path);
  if (request.method === 'OPTIONS') return route.options;
  const { serve, mediaTypes, label } = route.offers.get(request.method ?? '') ?? refuseMethod(request, route);
  delivery.label = label;
  const mediaType = acceptedType(request.headers.accept, mediaTypes);
  const caller = new HttpCaller(request, delivery.response, budget);
  delivery.caller = caller;
  return serve({ request, caller, target, identifier, mediaType });
}

function refuseLong({ url = '' }: IncomingMessage, limit: number): void {
  if (url.length > limit)
    throw new Problem('uri-too-long', `The URL has ${url.length} characters; at most ${limit} are taken`);
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

function refuseMethod({ method = '' }: IncomingMessage, { allow, withheld }: Route): never {
  if (withheld.has(method))
    throw new Problem('forbidden', `The token does not allow ${method} here; it allows ${allow}`);
  throw new Problem('method-not-allowed', `${method} is not offered here; ${allow} are`, { headers: { Allow: allow } });
}

// A request on its way through the engine: what was asked, and where.

export interface Exchange {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly target: Target;
  /** The identifier as the path writes it; the empty string for a collection. */
  readonly identifier: string;
  /** The media type of the answer. */
  readonly mediaType: string;
}

export type ServeOperation = (exchange: Exchange) => Awaitable<Answer>;
