/** Serves requests for records: route, operation, answer. An Express middleware, and a listener of `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Admit, createAdmission, createAgentAdmission } from '../edge/admission.ts';
import type { Budget } from '../edge/budget.ts';
import { CallerGone } from '../edge/caller.ts';
import type { AddressOf, RateLimit } from '../edge/clients.ts';
import { withCurrentModel } from '../operations/operation.ts';
import { Problem } from '../problem.ts';
import { DRY_RUN } from '../query/resolve.ts';
import { type Answer, DRY_RUN_TYPE, send, type SendOptions } from './answer.ts';
import { type Cors, createCors, createHead, type HeaderMap, requestIdOf, setHeaders } from './answer.ts';
import { acceptedType } from './request.ts';
import { type AskedFor, type Observe, watchRequest } from './observed.ts';
import { problemAnswer, problemFor } from './problems.ts';
import { fullPath, HttpCaller, targetOf } from './request.ts';
import { API_ROOT, findRoute, knownPaths, pathProblem, rootOf, type Route, type Routes } from './routes.ts';

/** Without `next`, paths outside of the interface are 404. */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export interface HandlerOptions extends SendOptions {
  /** Origins whose pages may use the service. */
  readonly corsOrigins: readonly string[];
  /** Whether requests need a token. */
  readonly guarded: boolean;
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
  readonly observe: Observe | undefined;
  readonly within: ((asked: AskedFor, work: () => void) => void) | undefined;
}

/** Finds the routes below a root for the client of a request. Throws a Problem if the client has no access. */
type RoutesOf = (request: IncomingMessage, root: string) => Routes;

/** The steps that a host which serves more than records applies to its other requests as well. */
export interface HostSteps {
  /** Logs and counts the request when it is over, and calls `next`. */
  watch(request: IncomingMessage, response: ServerResponse, next?: () => void): void;
  readonly addressOf: AddressOf;
  /** Throws a Problem if the request must not reach the service. */
  readonly admit: Admit;
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
  const { observe, within, roots, addressOf, rateLimit, guarded, urlLimit, budget, log } = options;
  const cors = createCors(options.corsOrigins);
  const admit = createAdmission({ ...options, cors });
  const setHead = createHead(cors, guarded);

  function watch(request: IncomingMessage, response: ServerResponse, next: (asked?: AskedFor) => void): void {
    if (observe === undefined && within === undefined) return next();
    const requestId = requestIdOf(request, response);
    const asked: AskedFor = { request, requestId, address: addressOf(request), label: undefined };
    if (observe) watchRequest(asked, response, observe);
    if (within) within(asked, () => next(asked));
    else next(asked);
  }

  function operate(request: IncomingMessage, caller: HttpCaller, asked?: AskedFor): Answer | Promise<Answer> {
    const { url = '', method = '', headers } = request;
    const target = targetOf(request);
    if (url.length > urlLimit)
      throw new Problem('uri-too-long', `The URL has ${url.length} characters; at most ${urlLimit} are allowed`);
    // Browsers send preflight requests without a token.
    if (guarded && method === 'OPTIONS' && headers['access-control-request-method'] !== undefined) return PREFLIGHT;
    const root = rootOf(target.path, roots) ?? API_ROOT;
    const routes = routesOf(request, root);
    if (!target.path.startsWith(root)) throw pathProblem(fullPath(target), knownPaths(routes, root));
    const { route, identifier } = findRoute(routes, target.path, root);
    if (method === 'OPTIONS') return route.options;
    const { serve, mediaTypes, label } = route.offers.get(method) ?? refuseMethod(method, route);
    if (asked) asked.label = label;
    const offered = isDryRun(method, target.query) ? [...mediaTypes, DRY_RUN_TYPE] : mediaTypes;
    const mediaType = acceptedType(headers.accept, offered);
    return serve({ request, caller, target, identifier, mediaType });
  }

  const refusal = (error: unknown, request: IncomingMessage, response: ServerResponse): Answer =>
    problemAnswer(error, request, fullPath(targetOf(request)), requestIdOf(request, response), log);

  async function respond(
    request: IncomingMessage,
    response: ServerResponse,
    { asked, isLimited = true }: { readonly asked?: AskedFor | undefined; readonly isLimited?: boolean },
  ): Promise<void> {
    const caller = new HttpCaller(request, response, budget, addressOf);
    setHead(request, response);
    let answer: Answer | undefined;
    try {
      admit(request);
      if (isLimited && rateLimit) setHeaders(response, await rateLimit(request));
      const given = withCurrentModel(() => operate(request, caller, asked));
      // On SQLite a GET by id has its answer at once, and is sent in this turn.
      answer = given instanceof Promise ? await given : given;
    } catch (error) {
      if (!(error instanceof CallerGone)) answer = refusal(error, request, response);
    }
    if (caller.written !== undefined) setHeaders(response, { 'X-Position': caller.written });
    if (answer) await send(request, response, answer, options);
    caller.release();
  }

  const reply: HostSteps['reply'] = (answer, request, response) => {
    setHead(request, response);
    return send(request, response, answer, options);
  };

  return {
    handler: (request, response, next) => {
      if (next !== undefined && rootOf(targetOf(request).path, roots) === undefined) return next();
      watch(request, response, (asked) => void respond(request, response, { asked }));
    },
    host: {
      addressOf,
      admit,
      admitAgent: createAgentAdmission({ ...options, cors }),
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
      notFound: (request, response) => void respond(request, response, { isLimited: false }),
      reply,
      problemFor: (error, requestId) => problemFor(error, requestId, log),
      refuse: (error, request, response) => {
        if (!(error instanceof CallerGone)) void reply(refusal(error, request, response), request, response);
      },
    },
  };
}

/** The media type of the report is offered before the rest of the query is parsed. */
const isDryRun = (method: string, query: string): boolean =>
  method !== 'GET' && method !== 'HEAD' && query !== '' && new URLSearchParams(query).get(DRY_RUN) === 'true';

function refuseMethod(method: string, { allow, withheld }: Route): never {
  if (withheld.has(method))
    throw new Problem('forbidden', `The token does not allow ${method} here; it allows ${allow}`);
  throw new Problem('method-not-allowed', `${method} is not offered here; ${allow} are`, { headers: { Allow: allow } });
}
