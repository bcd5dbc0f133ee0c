/** Serves, logs and counts requests for records, as an Express middleware and a listener of `node:http`. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressOf, createAdmission, type RateLimit } from '../edge/admission.ts';
import type { Budget } from '../edge/budget.ts';
import { CallerGone, type Position } from '../edge/caller.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { withCurrentModel } from '../operations/operation.ts';
import { Problem, type ProblemCode } from '../problem.ts';
import { DRY_RUN } from '../query/resolve.ts';
import type { Settings } from '../settings/settings.ts';
import type { OnStatement } from '../storage/database.ts';
import * as answers from './answer.ts';
import type { Answer, SendOptions } from './answer.ts';
import { acceptedType, BudgetCaller, fullPath, HttpClient, targetOf } from './request.ts';
import { findRoute, isBelow, type Label, type Route, type RoutesByRoot } from './routes.ts';

/** Passes other paths to `next`, or sends 404 without it. */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export interface HandlerOptions
  extends Omit<SendOptions, 'headOf'>, Pick<Settings, 'corsOrigins' | 'allowedHosts' | 'publicUrl' | 'urlLimit'> {
  readonly guarded: boolean;
  readonly budget: Budget;
  readonly addressOf: AddressOf;
  readonly rateLimit: RateLimit | undefined;
  readonly roots: readonly string[];
  readonly watch: Watch | undefined;
}

/** Steps shared with requests for pages, documents and agents. */
export type HostSteps = ReturnType<typeof createHandler>['host'];

/** `routesOf` finds the routes for a request's client; throws a Problem if it has no access. */
export function createHandler(routesOf: (request: IncomingMessage) => RoutesByRoot, options: HandlerOptions) {
  const { watch, roots, addressOf, rateLimit, guarded, urlLimit, budget, log } = options;
  const cors = answers.createCors(options.corsOrigins);
  const admit = createAdmission({ ...options, cors });
  const sending: SendOptions = { ...options, headOf: answers.createHead(cors, guarded) };

  function operate(request: IncomingMessage, caller: BudgetCaller, watched?: Watched): Answer | Promise<Answer> {
    const { url = '', method = '', headers } = request;
    const target = targetOf(request);
    if (url.length > urlLimit)
      throw new Problem('uri-too-long', `The URL has ${url.length} characters; at most ${urlLimit} are allowed`);
    // Browsers send preflight requests without a token.
    if (guarded && answers.isPreflight(request)) return { status: 204, headers: {}, body: undefined };
    const { route, identifier } = findRoute(routesOf(request), target);
    if (method === 'OPTIONS') return route.options;
    const { serve, mediaTypes, label } = route.offers.get(method) ?? refuseMethod(method, route);
    if (watched) watched.label = label;
    const isWrite = method !== 'GET' && method !== 'HEAD';
    const offered = isWrite && isDryRun(target.query) ? [...mediaTypes, answers.DRY_RUN_TYPE] : mediaTypes;
    const mediaType = acceptedType(headers.accept, offered);
    return serve({ request, caller, target, identifier, mediaType });
  }

  const refusal = (
    error: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    rendered = answers.render,
  ): Answer => {
    const problem = answers.problemFor(error, answers.requestIdOf(request, response), log);
    const { code, message } = problem;
    const { method = '', headers } = request;
    answered.set(request, code);
    const isRepeatable = method === 'PUT' || method === 'DELETE' || headers['idempotency-key'] !== undefined;
    const isRetried = code === 'outcome-unknown' && isRepeatable;
    const shown = isRetried ? new Problem(code, message, { retryAfter: 1 }) : problem;
    return rendered(shown, fullPath(targetOf(request)));
  };

  async function respond(
    request: IncomingMessage,
    response: ServerResponse,
    limit: RateLimit | undefined,
    watched?: Watched,
  ): Promise<void> {
    const given = request.headers['x-position']?.toString();
    const position: Position = { last: given };
    const caller = new BudgetCaller(budget, position, new HttpClient(response, addressOf));
    let answer: Answer | undefined;
    try {
      admit(request);
      if (limit) answers.setHeaders(response, await limit(request));
      const result = withCurrentModel(() => operate(request, caller, watched));
      // On SQLite a GET by id returns no promise, and is sent in this turn.
      answer = result instanceof Promise ? await result : result;
    } catch (error) {
      if (!(error instanceof CallerGone)) answer = refusal(error, request, response);
    }
    if (position.last !== undefined && position.last !== given)
      answers.setHeaders(response, { 'X-Position': position.last });
    if (answer) await answers.send(request, response, answer, sending);
    caller.release();
  }

  const reply = (answer: Answer, request: IncomingMessage, response: ServerResponse): Promise<void> =>
    answers.send(request, response, answer, sending);

  /** Without the headers of records: pages have their own. */
  const sendPage = (answer: Answer, request: IncomingMessage, response: ServerResponse): Promise<void> =>
    answers.send(request, response, answer, { ...sending, headOf: () => ({}) });

  const handler: Handler = (request, response, next) => {
    const { path } = targetOf(request);
    if (next !== undefined && !roots.some((root) => isBelow(path, root))) return next();
    if (answers.refusesVersion(request, response)) return;
    if (watch) watch(request, response, (watched) => void respond(request, response, rateLimit, watched));
    else void respond(request, response, rateLimit);
  };

  const refuse = (...[error, request, response, rendered]: Parameters<typeof refusal>): void => {
    if (!(error instanceof CallerGone)) void reply(refusal(error, request, response, rendered), request, response);
  };

  const notFound: Handler = (request, response) => void respond(request, response, undefined);

  /** Express middleware. Rejects with a Problem if the client has sent too many requests. */
  const limit = async (request: IncomingMessage, response: ServerResponse, next: () => void): Promise<void> => {
    if (rateLimit) answers.setHeaders(response, await rateLimit(request));
    next();
  };

  const admitAgent = createAdmission({ ...options, cors }, true);
  const problemOf = (error: unknown, requestId: string): Problem => answers.problemFor(error, requestId, log);
  return {
    handler,
    host: {
      watch: watch ?? UNWATCHED,
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
    },
  };
}

/** Problem codes of the responses, for log and metrics. */
const answered = new WeakMap<IncomingMessage, ProblemCode>();

const UNWATCHED: Watch = (_request, _response, work) => work(undefined);

/** Reads the raw query: the media type is negotiated before the query is parsed. */
const isDryRun = (query: string): boolean => new URLSearchParams(query).get(DRY_RUN) === 'true';

function refuseMethod(method: string, { allow, withheld, unsuited }: Route): never {
  const cause = withheld.get(method);
  if (cause !== undefined)
    throw new Problem('forbidden', `The token does not allow ${method} here${cause}; it allows ${allow}`);
  const reason = unsuited.get(method);
  const message = `${method} is not offered here; ${allow} are${reason === undefined ? '' : `: ${reason}`}`;
  throw new Problem('method-not-allowed', message, { headers: { Allow: allow } });
}

// Log lines and metrics of requests and of their statements.

interface Watched {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** The address of the client, read before the connection closes. */
  readonly address: string;
  label: Label | undefined;
}

/** Runs the work of a request; logs and counts it when its response closes. */
type Watch = (request: IncomingMessage, response: ServerResponse, work: (watched: Watched | undefined) => void) => void;

interface ObserverOptions {
  readonly log: Log;
  readonly metrics: Metrics | undefined;
  readonly addressOf: AddressOf;
  /** The name of the client's token. */
  readonly nameOf: (request: IncomingMessage) => string | undefined;
}

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** `watch` and `onStatement` are undefined if neither log nor metrics need them. */
export function createObservers(
  { accessLog, slowStatement }: Pick<Settings, 'accessLog' | 'slowStatement'>,
  { log, metrics, addressOf, nameOf }: ObserverOptions,
): { readonly watch: Watch | undefined; readonly onStatement: OnStatement | undefined } {
  const fieldsOf = ({ request, requestId, address, label }: Watched): object => {
    const trace = String(request.headers['traceparent'] ?? '');
    const traceparent = TRACEPARENT.test(trace) ? trace : undefined;
    return { ...label, requestId, token: nameOf(request), address, traceparent };
  };

  function observe(watched: Watched, response: ServerResponse): void {
    const { request } = watched;
    const started = performance.now();
    // Mounted routers strip the path while they run. The query string may contain values of records.
    const path = fullPath(targetOf(request));
    response.once('close', () => {
      const { statusCode: status, writableFinished } = response;
      const milliseconds = performance.now() - started;
      const problem = answered.get(request);
      metrics?.observe({ label: watched.label, status, problem, milliseconds });
      if (!accessLog) return;
      const answer = { method: request.method ?? '', path, status, aborted: !writableFinished, problem };
      const took = { milliseconds: Math.round(milliseconds * 1000) / 1000 };
      log.info({ ...answer, ...fieldsOf(watched), ...took }, 'request');
    });
  }

  const isSlowLogged = slowStatement !== Infinity;
  const current = new AsyncLocalStorage<Watched>();
  const onStatement: OnStatement = (sql, milliseconds) => {
    metrics?.statement(milliseconds);
    if (milliseconds < slowStatement) return;
    const watched = current.getStore();
    const who = watched && { ...fieldsOf(watched), query: shownQuery(targetOf(watched.request).query) };
    // The statement has placeholders instead of values.
    log.warn({ ...who, sql, milliseconds: Math.round(milliseconds) }, 'slow statement');
  };

  const watch: Watch = (request, response, work) => {
    const requestId = answers.requestIdOf(request, response);
    const watched: Watched = { request, requestId, address: addressOf(request), label: undefined };
    if (accessLog || metrics) observe(watched, response);
    if (isSlowLogged) current.run(watched, () => work(watched));
    else work(watched);
  };

  return {
    onStatement: isSlowLogged || metrics ? onStatement : undefined,
    watch: accessLog || metrics || isSlowLogged ? watch : undefined,
  };
}

const MAX_SHOWN = 1000;
const WITH_NAMES = /^(_cnd\[orderBy\]|include$|fields$)/;
const NAMES = /^[\p{L}\p{N}_.,\s-]*$/u;

/** The query string without values of records; undefined if there is none. */
function shownQuery(search: string): string | undefined {
  if (search === '') return undefined;
  const shown = [...new URLSearchParams(search)].map(
    ([key, value]) => `${key}=${WITH_NAMES.test(key) && NAMES.test(value) ? value : '…'}`,
  );
  return shown.join('&').slice(0, MAX_SHOWN);
}
