/** The way of a request: route, operation, answer. Needs nothing of Express, and can be mounted in it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Awaitable } from '../awaitable.ts';
import type { Budget } from '../edge/budget.ts';
import { CallerGone } from '../caller.ts';
import { Problem } from '../problem.ts';
import { DRY_RUN } from '../query/accepted.ts';
import { Outdated } from '../storage/unavailable.ts';
import type { Answer } from './answer.ts';
import type { AddressOf } from '../edge/client-address.ts';
import { type Admit, createAdmission, createAgentAdmission } from './admission.ts';
import { acceptedType } from './negotiation.ts';
import { problemAnswer, problemFor } from './problems.ts';
import type { RateLimit } from '../edge/rate-limit.ts';
import {
  askedFor,
  type AskedFor,
  fullPath,
  HttpCaller,
  type Observe,
  type Target,
  targetOf,
  watchRequest,
} from './request.ts';
import { API_ROOT, findRoute, knownPaths, pathProblem, rootOf, type Route, type Routes } from './routes.ts';
import {
  type Cors,
  createCors,
  createEnvelopes,
  type Delivery,
  type EnvelopeOptions,
  requestIdOf,
  send,
  type SendOptions,
} from './send.ts';

/** What Express calls middleware, and `http.createServer` a listener. Without `next`, paths outside of the interface are 404. */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export type HandlerOptions = SendOptions &
  EnvelopeOptions & {
    readonly budget: Budget;
    readonly addressOf: AddressOf;
    /** Names that requests may be for; empty if the host application decides that. */
    readonly allowedHosts: readonly string[];
    /** Where clients reach the service behind a proxy; the empty string if there is none. */
    readonly publicUrl: string;
    /** Characters that a URL may have. */
    readonly urlLimit: number;
    /** undefined if the number of requests is not limited. */
    readonly rateLimit: RateLimit | undefined;
    /** The roots of dialects. */
    readonly roots: readonly string[];
    /** Told of each request when it is over; undefined if neither log nor metrics want to know. */
    readonly observe: Observe | undefined;
    /** Runs work so that the log of slow statements knows the request; undefined if there is none. */
    readonly within: ((asked: AskedFor, work: () => void) => void) | undefined;
  };

type Handling = HandlerOptions & { readonly admit: Admit };

/** The routes below a root that the client of a request has. Throws a Problem if it has none. */
type RoutesOf = (request: IncomingMessage, root: string) => Routes;

const PREFLIGHT: Answer = { status: 204, headers: {}, body: undefined };

export function createHandler(routesOf: RoutesOf, given: HandlerOptions): Handler {
  const envelopeOf = createEnvelopes(given);
  const options = { ...given, admit: createAdmission({ ...given, cors: createCors(given.corsOrigins) }) };
  const { observe, within, roots, addressOf } = options;
  return (request, response, next) => {
    const target = targetOf(request);
    if (next !== undefined && rootOf(target.path, roots) === undefined) return next();
    const delivery: Delivery = { request, response, envelope: envelopeOf(request) };
    if (observe === undefined && within === undefined) return void respond(routesOf, delivery, target, options);
    const asked = askedFor(request, delivery.envelope.requestId, addressOf(request), () => delivery.label);
    if (observe) watchRequest(asked, response, observe);
    if (within) within(asked, () => void respond(routesOf, delivery, target, options));
    else void respond(routesOf, delivery, target, options);
  };
}

async function respond(routesOf: RoutesOf, delivery: Delivery, target: Target, options: Handling): Promise<void> {
  let found: Answer | undefined;
  try {
    // On SQLite a GET by id has its answer at once, and is sent without waiting for a promise.
    const asked = answer(routesOf, delivery, target, options);
    found = placed(delivery, asked instanceof Promise ? await asked : asked);
  } catch (error) {
    found =
      error instanceof Outdated
        ? await again(routesOf, delivery, target, options)
        : refusal(error, delivery, target, options);
  }
  if (found) await send(delivery, found, options);
  delivery.caller?.release();
}

/** The operation once more, after the tables have changed. */
async function again(
  routesOf: RoutesOf,
  delivery: Delivery,
  target: Target,
  options: Handling,
): Promise<Answer | undefined> {
  try {
    return placed(delivery, await operate(routesOf, delivery, target, options));
  } catch (error) {
    return refusal(error, delivery, target, options);
  }
}

/** The answer to a write says where the log of the database stands. */
function placed(delivery: Delivery, found: Answer): Answer {
  const position = delivery.caller?.written;
  if (position !== undefined) withHeaders(delivery, ['X-Position', position]);
  return found;
}

/** undefined if the client has left. */
function refusal(error: unknown, delivery: Delivery, target: Target, { log }: HandlerOptions): Answer | undefined {
  if (error instanceof CallerGone) return undefined;
  const { request, envelope } = delivery;
  return problemAnswer(error, { request, instance: fullPath(target), requestId: envelope.requestId }, log);
}

function withHeaders(delivery: Delivery, lines: readonly string[]): void {
  const { envelope } = delivery;
  delivery.envelope = { ...envelope, headers: [...envelope.headers, ...lines] };
}

/** Throws a Problem for anything that is wrong with the request. */
function answer(routesOf: RoutesOf, delivery: Delivery, target: Target, options: Handling): Awaitable<Answer> {
  const { rateLimit, admit } = options;
  admit(delivery.request);
  if (rateLimit === undefined) return operate(routesOf, delivery, target, options);
  return rateLimit(delivery.request).then((lines) => {
    withHeaders(delivery, lines);
    return operate(routesOf, delivery, target, options);
  });
}

function operate(
  routesOf: RoutesOf,
  delivery: Delivery,
  target: Target,
  { guarded, urlLimit, budget, roots, addressOf }: HandlerOptions,
): Awaitable<Answer> {
  const { request } = delivery;
  refuseLong(request, urlLimit);
  // Browsers send preflight requests without a token.
  if (guarded && isPreflight(request)) return PREFLIGHT;
  const root = rootOf(target.path, roots) ?? API_ROOT;
  const routes = routesOf(request, root);
  if (!target.path.startsWith(root)) throw pathProblem(fullPath(target), knownPaths(routes, root));
  const { route, identifier } = findRoute(routes, target.path, root);
  if (request.method === 'OPTIONS') return route.options;
  const { serve, mediaTypes, tried, label } = route.offers.get(request.method ?? '') ?? refuseMethod(request, route);
  delivery.label = label;
  const offered = tried !== undefined && isDryRun(target.query) ? tried : mediaTypes;
  const mediaType = acceptedType(request.headers.accept, offered);
  const caller = (delivery.caller ??= new HttpCaller(request, delivery.response, budget, addressOf));
  return serve({ request, caller, target, identifier, mediaType });
}

/** The media type of its report is offered before the rest of the query is parsed. */
const isDryRun = (query: string): boolean => query !== '' && new URLSearchParams(query).get(DRY_RUN) === 'true';

function refuseLong({ url = '' }: IncomingMessage, limit: number): void {
  if (url.length > limit)
    throw new Problem('uri-too-long', `The URL has ${url.length} characters; at most ${limit} are allowed`);
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

function refuseMethod({ method = '' }: IncomingMessage, { allow, withheld }: Route): never {
  if (withheld.has(method))
    throw new Problem('forbidden', `The token does not allow ${method} here; it allows ${allow}`);
  throw new Problem('method-not-allowed', `${method} is not offered here; ${allow} are`, { headers: { Allow: allow } });
}

/** For a host that serves more than records: the steps that hold for its other requests as well. */
export interface HostSteps {
  /** Logs and counts the request when it is over. `next` goes on with it. */
  watch(request: IncomingMessage, response: ServerResponse, next?: () => void): void;
  readonly addressOf: AddressOf;
  /** Throws a Problem if the request must not reach the service. */
  readonly admit: Admit;
  /** The same for agents. */
  readonly admitAgent: Admit;
  /** Counts the request against the rate limit. `next` gets the Problem if the client has sent too many. */
  limit(request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void;
  /** The headers that let pages of other origins read what else the host serves for programs. */
  readonly cors: Cors;
  /** Answers that there is nothing at this path. */
  readonly notFound: Handler;
  /** Sends an answer that is not about a record. */
  reply(answer: Answer, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** What a client is told of an error; logs what is a fault of the service. */
  problemFor(error: unknown, requestId: string): Problem;
  /** The one answer to an error, whatever it is about. */
  refuse(error: unknown, request: IncomingMessage, response: ServerResponse): void;
}

export function createHostSteps(routesOf: RoutesOf, options: HandlerOptions): HostSteps {
  const { rateLimit, observe, within, log, addressOf } = options;
  const envelopeOf = createEnvelopes(options);
  const cors = createCors(options.corsOrigins);
  return {
    addressOf,
    admit: createAdmission({ ...options, cors }),
    admitAgent: createAgentAdmission({ ...options, cors }),
    watch: (request, response, next = () => undefined) => {
      if (observe === undefined && within === undefined) return next();
      const requestId = requestIdOf(request);
      // Where the answer names the request as well, it is by this name.
      request.headers['x-request-id'] = requestId;
      const asked = askedFor(request, requestId, addressOf(request));
      if (observe) watchRequest(asked, response, observe);
      if (within) within(asked, next);
      else next();
    },
    limit: (request, response, next) => {
      if (rateLimit === undefined) return next();
      const counted = (lines: readonly string[]): void => {
        for (let at = 0; at < lines.length; at += 2) response.setHeader(lines[at] ?? '', lines[at + 1] ?? '');
        next();
      };
      void rateLimit(request).then(counted, next);
    },
    cors,
    notFound: createHandler(routesOf, { ...options, rateLimit: undefined, observe: undefined, within: undefined }),
    reply: (answered, request, response) =>
      send({ request, response, envelope: envelopeOf(request) }, answered, options),
    problemFor: (error, requestId) => problemFor(error, requestId, log),
    refuse: (error, request, response) => {
      const envelope = envelopeOf(request);
      const failed = { request, instance: fullPath(targetOf(request)), requestId: envelope.requestId };
      const problem = problemAnswer(error, failed, log);
      void send({ request, response, envelope }, problem, options);
    },
  };
}
