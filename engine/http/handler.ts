/** Serves requests for records, as an Express middleware and a listener of `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressOf, createAdmission, type RateLimit } from '../edge/admission.ts';
import type { Budget } from '../edge/budget.ts';
import { CallerGone, type Position } from '../edge/caller.ts';
import type { Log } from '../log.ts';
import { withCurrentModel } from '../operations/operation.ts';
import { notOffered, Problem } from '../problem.ts';
import { DRY_RUN } from '../query/resolve.ts';
import type { Settings } from '../settings/settings.ts';
import * as answers from './answer.ts';
import type { Answer, SendOptions } from './answer.ts';
import { rootOf } from './dialects/dialect.ts';
import type { Exchange } from './exchange.ts';
import type { Watch, Watched } from './observers.ts';
import {
  acceptedType,
  BudgetCaller,
  type Content,
  fullPath,
  HttpClient,
  type ReadContent,
  requestIdOf,
  targetOf,
} from './request.ts';
import { API_ROOT, findRoute, isBelow, type Route, type RoutesByRoot } from './routes.ts';

/** Passes other paths to `next`, or sends 404 without it. */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export interface HandlerOptions
  extends
    Omit<SendOptions, 'headOf' | 'isDraining'>,
    Pick<Settings, 'corsOrigins' | 'allowedHosts' | 'publicUrl' | 'urlLimit' | 'dialects'> {
  readonly guarded: boolean;
  /** Awaits who sends a request; undefined if there is nothing to await. */
  readonly identify: ((request: IncomingMessage) => Promise<void> | undefined) | undefined;
  /** Whether requests may be identified by what browsers send to every site, such as cookies. */
  readonly isAmbient: boolean;
  readonly budget: Budget;
  readonly addressOf: AddressOf;
  readonly rateLimit: RateLimit | undefined;
  readonly watch: Watch | undefined;
  readonly readContent: ReadContent;
}

/** Steps shared with requests for pages, documents and agents. */
export type HostSteps = ReturnType<typeof createHandler>['host'];

/** Finds the routes for a request's client; throws a Problem if it has no access. */
type RoutesOf = (request: IncomingMessage) => RoutesByRoot;

export function createHandler(routesOf: RoutesOf, options: HandlerOptions) {
  const { watch = UNWATCHED, addressOf, rateLimit, guarded, log } = options;
  const roots = [API_ROOT, ...options.dialects.map(rootOf)];
  let isStopping = false;
  const isDraining = (): boolean => isStopping;
  const cors = answers.createCors(options.corsOrigins);
  const sending: SendOptions = { ...options, isDraining, headOf: answers.createHead(cors, guarded) };
  const admission = { ...options, cors, guarded: guarded && !options.isAmbient };
  const admit = createAdmission(admission);
  const serve = createServe(routesOf, { ...options, sending, admit });

  const replying = (how: SendOptions) => (answer: Answer, request: IncomingMessage, response: ServerResponse) =>
    answers.send(request, response, answer, how);
  const reply = replying(sending);
  // Pages have other headers of their own.
  const sendPage = replying({ ...sending, headOf: (...given) => ({ 'X-Request-Id': requestIdOf(...given) }) });

  const handler: Handler = (request, response, next) => {
    const { path } = targetOf(request);
    if (next !== undefined && !roots.some((root) => isBelow(path, root))) return next();
    if (answers.refusesVersion(request, response)) return;
    watch(request, response, (watched) => void serve(request, response, rateLimit, watched));
  };

  const refuse = (
    error: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    { watched, rendered }: { readonly watched?: Watched | undefined; readonly rendered?: typeof answers.render } = {},
  ): void => {
    if (error instanceof CallerGone) return;
    void reply(refusalOf(error, request, response, log, watched, rendered), request, response);
  };

  const notFound = (request: IncomingMessage, response: ServerResponse, watched?: Watched): void =>
    void serve(request, response, undefined, watched);

  /** Express middleware that finds who sends the request. */
  const identify = async (request: IncomingMessage, _response: ServerResponse, next: () => void): Promise<void> => {
    await options.identify?.(request);
    next();
  };

  /** Express middleware. Rejects with a Problem if the client has sent too many requests. */
  const limit = async (request: IncomingMessage, response: ServerResponse, next: () => void): Promise<void> => {
    if (rateLimit) answers.setHeaders(response, await rateLimit(request));
    next();
  };

  const admitAgent = createAdmission(admission, true);
  const problemOf = (error: unknown, requestId: string): Problem => answers.problemFor(error, requestId, log);
  /** Steps of the handler that a host application applies to its other requests too. */
  const host = {
    watch,
    identify,
    addressOf,
    admit,
    admitAgent,
    limit,
    cors,
    notFound,
    reply,
    sendPage,
    problemOf,
    refuse,
  };
  return { handler, host, isDraining, drain: (): void => void (isStopping = true) };
}

const UNWATCHED: Watch = (_request, _response, work) => work(undefined);

/** The life of a request for records: admitted, routed, operated, answered. */
function createServe(
  routesOf: RoutesOf,
  options: HandlerOptions & { readonly sending: SendOptions; readonly admit: (request: IncomingMessage) => void },
) {
  const { addressOf, guarded, urlLimit, budget, log, readContent, sending, admit, identify } = options;

  function operate(
    { request, caller, readBody }: Pick<Exchange, 'request' | 'caller' | 'readBody'>,
    watched: Watched | undefined,
  ): Answer | Promise<Answer> {
    const { url = '', method = '', headers } = request;
    const target = targetOf(request);
    if (url.length > urlLimit)
      throw new Problem('uri-too-long', `The URL has ${url.length} characters; at most ${urlLimit} are allowed`);
    // Browsers send preflight requests without a token.
    if (guarded && answers.isPreflight(request)) return { status: 204, headers: {}, body: undefined };
    const { route, identifier, refusal } = findRoute(routesOf(request), target);
    if (method === 'OPTIONS') return route.options({ identifier, caller });
    const { serve, mediaTypes, label } = route.offers.get(method) ?? refuseMethod(method, route);
    if (watched) watched.label = label;
    const isWrite = method !== 'GET' && method !== 'HEAD';
    const offered = isWrite && isDryRun(target.query) ? [...mediaTypes, answers.DRY_RUN_TYPE] : mediaTypes;
    const mediaType = acceptedType(headers.accept, offered);
    if (refusal) throw refusal;
    return serve({ request, caller, readBody, target, identifier, mediaType });
  }

  return async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    limit: RateLimit | undefined,
    watched: Watched | undefined,
  ): Promise<void> {
    const seen = request.headers['x-position']?.toString();
    const position: Position = { last: seen };
    const caller = new BudgetCaller(budget, position, new HttpClient(response, addressOf));
    let content: Promise<Content> | undefined;
    const readBody: Exchange['readBody'] = (accepted) => (content ??= readContent(request, caller, accepted));
    let answer: Answer | undefined;
    try {
      admit(request);
      const identifying = identify?.(request);
      if (identifying) await identifying;
      if (limit) answers.setHeaders(response, await limit(request));
      const result = withCurrentModel(() => operate({ request, caller, readBody }, watched));
      // On SQLite a GET by id returns no promise, and is sent in this turn.
      answer = result instanceof Promise ? await result : result;
    } catch (error) {
      if (!(error instanceof CallerGone)) answer = refusalOf(error, request, response, log, watched);
    }
    if (position.last !== undefined && position.last !== seen)
      answers.setHeaders(response, { 'X-Position': position.last });
    if (answer) await answers.send(request, response, answer, sending);
    caller.release();
  };
}

function refusalOf(
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
  watched?: Watched,
  rendered = answers.render,
): Answer {
  const problem = answers.problemFor(error, requestIdOf(request, response), log);
  const { code, message } = problem;
  const { method = '', headers } = request;
  if (watched) watched.problem = code;
  const isRepeatable = method === 'PUT' || method === 'DELETE' || headers['idempotency-key'] !== undefined;
  const isRetried = code === 'outcome-unknown' && isRepeatable;
  const shown = isRetried ? new Problem(code, message, { retryAfter: 1 }) : problem;
  return rendered(shown, fullPath(targetOf(request)));
}

/** Reads the raw query: the media type is negotiated before the query is parsed. */
const isDryRun = (query: string): boolean => new URLSearchParams(query).get(DRY_RUN) === 'true';

function refuseMethod(method: string, { allow, refused }: Route): never {
  const { isForbidden, why } = refused.get(method) ?? { isForbidden: false, why: '' };
  if (isForbidden) throw new Problem('forbidden', `You may not ${method} here${why}; allowed are ${allow}`);
  throw notOffered(method, allow, why);
}
