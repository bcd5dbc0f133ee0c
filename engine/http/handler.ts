/** Serves requests for records: route, operation, answer. An Express middleware, and a listener of `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallerGone } from '../edge/caller.ts';
import type { Budget } from '../edge/budget.ts';
import type { AddressOf } from '../edge/client-address.ts';
import type { RateLimit } from '../edge/rate-limit.ts';
import { withCurrentModel } from '../operations/operation.ts';
import { Problem } from '../problem.ts';
import { DRY_RUN } from '../query/resolve.ts';
import { type Admit, createAdmission, createAgentAdmission } from './admission.ts';
import type { Answer, HeaderMap } from './answer.ts';
import { acceptedType } from './negotiation.ts';
import { problemAnswer, problemFor } from './problems.ts';
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
  createHead,
  type HeadOptions,
  requestIdOf,
  send,
  type SendOptions,
  setHeaders,
} from './send.ts';

/** Without `next`, paths outside of the interface are 404. */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export type HandlerOptions = SendOptions &
  HeadOptions & {
    readonly budget: Budget;
    readonly addressOf: AddressOf;
    /** Names that requests may be for; empty if the host application decides that. */
    readonly allowedHosts: readonly string[];
    /** The address behind a proxy; the empty string if there is none. */
    readonly publicUrl: string;
    /** Characters that a URL may have. */
    readonly urlLimit: number;
    /** undefined if the number of requests is not limited. */
    readonly rateLimit: RateLimit | undefined;
    /** The roots of dialects. */
    readonly roots: readonly string[];
    /** Called for each request when it is over; undefined if neither log nor metrics are on. */
    readonly observe: Observe | undefined;
    /** Runs work so that the log of slow statements knows the request; undefined if there is none. */
    readonly within: ((asked: AskedFor, work: () => void) => void) | undefined;
  };

/** The routes below a root that the client of a request has. Throws a Problem if it has none. */
type RoutesOf = (request: IncomingMessage, root: string) => Routes;

/** For a host that serves more than records: the steps that hold for its other requests as well. */
export interface HostSteps {
  /** Logs and counts the request when it is over, and calls `next`. */
  watch(request: IncomingMessage, response: ServerResponse, next?: () => void): void;
  readonly addressOf: AddressOf;
  /** Throws a Problem if the request must not reach the service. */
  readonly admit: Admit;
  /** The same for agents. */
  readonly admitAgent: Admit;
  /** Counts the request against the rate limit. `next` gets the Problem if the client has sent too many. */
  limit(request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void;
  readonly cors: Cors;
  /** Answers that there is nothing at this path. */
  readonly notFound: Handler;
  /** Sends an answer that is not about a record. */
  reply(answer: Answer, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The Problem that a client gets for an error; logs what is a fault of the service. */
  problemFor(error: unknown, requestId: string): Problem;
  /** Answers an error. */
  refuse(error: unknown, request: IncomingMessage, response: ServerResponse): void;
}

const PREFLIGHT: Answer = { status: 204, headers: {}, body: undefined };

export function createHandler(routesOf: RoutesOf, options: HandlerOptions): { handler: Handler; host: HostSteps } {
  const { observe, within, roots, addressOf, rateLimit, guarded, urlLimit, budget, log, publicUrl } = options;
  const cors = createCors(options.corsOrigins);
  const admission = { guarded, publicUrl, cors, allowedHosts: options.allowedHosts };
  const admit = createAdmission(admission);
  const setHead = createHead(options);

  function watch(
    request: IncomingMessage,
    response: ServerResponse,
    next: (asked?: AskedFor) => void = () => undefined,
  ): void {
    if (observe === undefined && within === undefined) return next();
    const asked = askedFor(request, requestIdOf(request, response), addressOf(request));
    if (observe) watchRequest(asked, response, observe);
    if (within) within(asked, () => next(asked));
    else next(asked);
  }

  /** The problem as an answer; undefined if the client has left. */
  function refusal(error: unknown, request: IncomingMessage, response: ServerResponse): Answer | undefined {
    if (error instanceof CallerGone) return undefined;
    const instance = fullPath(targetOf(request));
    return problemAnswer(error, { request, instance, requestId: requestIdOf(request, response) }, log);
  }

  function operate(serving: Serving): Answer | Promise<Answer> {
    const { request, response, target, asked } = serving;
    const { url = '', method = '' } = request;
    if (url.length > urlLimit)
      throw new Problem('uri-too-long', `The URL has ${url.length} characters; at most ${urlLimit} are allowed`);
    // Browsers send preflight requests without a token.
    if (guarded && method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined)
      return PREFLIGHT;
    const root = rootOf(target.path, roots) ?? API_ROOT;
    const routes = routesOf(request, root);
    if (!target.path.startsWith(root)) throw pathProblem(fullPath(target), knownPaths(routes, root));
    const { route, identifier } = findRoute(routes, target.path, root);
    if (method === 'OPTIONS') return route.options;
    const { serve, mediaTypes, tried, label } = route.offers.get(method) ?? refuseMethod(method, route);
    if (asked) asked.label = label;
    const offered = tried !== undefined && isDryRun(target.query) ? tried : mediaTypes;
    const mediaType = acceptedType(request.headers.accept, offered);
    const caller = (serving.caller ??= new HttpCaller(request, response, budget, addressOf));
    return serve({ request, caller, target, identifier, mediaType });
  }

  async function respond(serving: Serving, isLimited = true): Promise<void> {
    const { request, response } = serving;
    let answer: Answer | undefined;
    setHead(request, response);
    try {
      admit(request);
      if (isLimited && rateLimit) setHeaders(response, await rateLimit(request));
      const given = withCurrentModel(() => operate(serving));
      // On SQLite a GET by id has its answer at once, and is sent in this turn.
      answer = given instanceof Promise ? await given : given;
    } catch (error) {
      answer = refusal(error, request, response);
    }
    if (answer) await send(request, response, answer, options, serving.caller);
    serving.caller?.release();
  }

  const reply: HostSteps['reply'] = (answer, request, response) => {
    setHead(request, response);
    return send(request, response, answer, options);
  };

  return {
    handler: (request, response, next) => {
      const target = targetOf(request);
      if (next !== undefined && rootOf(target.path, roots) === undefined) return next();
      watch(request, response, (asked) => void respond({ request, response, target, asked }));
    },
    host: {
      addressOf,
      admit,
      admitAgent: createAgentAdmission(admission),
      watch: (request, response, next) => watch(request, response, () => next?.()),
      limit: (request, response, next) => {
        if (rateLimit === undefined) return next();
        const counted = (headers: HeaderMap): void => {
          setHeaders(response, headers);
          next();
        };
        void rateLimit(request).then(counted, next);
      },
      cors,
      notFound: (request, response) =>
        void respond({ request, response, target: targetOf(request), asked: undefined }, false),
      reply,
      problemFor: (error, requestId) => problemFor(error, requestId, log),
      refuse: (error, request, response) => {
        const answer = refusal(error, request, response);
        if (answer) void reply(answer, request, response);
      },
    },
  };
}

/** A request while it is served. */
interface Serving {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  /** undefined if neither log nor metrics are on. */
  readonly asked: AskedFor | undefined;
  caller?: HttpCaller;
}

/** The media type of its report is offered before the rest of the query is parsed. */
const isDryRun = (query: string): boolean => query !== '' && new URLSearchParams(query).get(DRY_RUN) === 'true';

function refuseMethod(method: string, { allow, withheld }: Route): never {
  if (withheld.has(method))
    throw new Problem('forbidden', `The token does not allow ${method} here; it allows ${allow}`);
  throw new Problem('method-not-allowed', `${method} is not offered here; ${allow} are`, { headers: { Allow: allow } });
}
