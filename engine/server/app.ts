/** The Express app for all paths except records. */
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import type { Engine, EngineSettings } from '../engine.ts';
import type { Handler } from '../http/handler.ts';
import type { Watched } from '../http/observers.ts';
import { redirection, refusesVersion, render, renderForAgent, UNEMBEDDED } from '../http/answer.ts';
import { lazy } from '../memo.ts';
import { createPages } from '../pages/pages.ts';
import { contentPolicy, readOnly } from '../pages/page.ts';
import { readinessOf } from '../storage/unavailable.ts';
import { readsAll } from '../model/rights.ts';
import { Problem } from '../problem.ts';

const AGENTS = ['/mcp', '/mcp/'];

const UNCACHED = { ...UNEMBEDDED, 'Cache-Control': 'no-store' };
const TEXT = { ...UNCACHED, 'Content-Type': 'text/plain; charset=utf-8' };

export function createApp(engine: Engine, settings: EngineSettings): Express {
  const { host } = engine;
  const app = newApp();
  app.use(prepare(engine), host.identify);
  // Probes have no rate limit.
  readOnly(app, '/health/live', (request, response) =>
    host.sendPage({ status: 200, headers: TEXT, body: 'live\n' }, request, response),
  );
  readOnly(app, '/health/ready', async (request, response) => {
    const { isReady, text } = await readinessOf(engine);
    await host.sendPage({ status: isReady ? 200 : 503, headers: TEXT, body: `${text}\n` }, request, response);
  });
  app.use(host.limit);
  app.use(asterisk(engine));
  readOnly(app, '/metrics', ...metrics(engine));
  if (settings.mcp) app.all(AGENTS, agents(engine, settings));
  app.use(createPages(settings, settings.mcp, engine).pages);
  app.use((request, response) => host.notFound(request, response, watchedBy(response)));
  app.use(answerErrors(engine));
  return app;
}

/** Handlers for a host application; pass other paths to `next`, or send 404. */
export function createMounted(
  engine: Engine,
  settings: EngineSettings,
  which: 'pages' | 'documents' | 'agents',
): Handler {
  const app = newApp();
  const first = [prepare(engine), engine.host.identify, engine.host.limit];
  if (which === 'agents') app.all(AGENTS, ...first, agents(engine, settings));
  else {
    if (which === 'pages') app.get('/', addSlash(engine));
    if (which === 'pages' && engine.metrics) readOnly(app, '/metrics', ...first, ...metrics(engine));
    app.use(createPages(settings, false, engine, ...first)[which]);
  }
  app.use(answerErrors(engine));
  // Express types `next` for its own requests only.
  const handle: Handler = app as unknown as Handler;
  return (request, response, next) => {
    if (refusesVersion(request, response)) return;
    const prototypes = [request, response].map((one) => [one, Object.getPrototypeOf(one) as object] as const);
    handle(request, response, () => {
      // Restores the prototypes that Express has replaced.
      for (const [one, prototype] of prototypes) Object.setPrototypeOf(one, prototype);
      if (next) next();
      else engine.host.notFound(request, response);
    });
  };
}

/** Without the slash, the start page's relative links would miss the mount path. */
const addSlash =
  ({ host }: Engine): RequestHandler =>
  (request, response, next) => {
    const { baseUrl, originalUrl } = request;
    const [path = '', ...query] = originalUrl.split('?');
    if (baseUrl === '' || path.endsWith('/')) return next();
    const location = [`${baseUrl.split('/').at(-1)}/`, ...query].join('?');
    return host.sendPage(redirection(location), request, response);
  };

function newApp(): Express {
  const app = express();
  app.enable('case sensitive routing').enable('strict routing');
  app.disable('x-powered-by').set('query parser', false);
  return app;
}

const SECURITY_HEADERS = {
  'Content-Security-Policy': contentPolicy(),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

const WATCHED = 'watched';
const watchedBy = ({ locals }: Response): Watched | undefined => locals[WATCHED] as Watched | undefined;

const prepare =
  ({ host }: Engine): RequestHandler =>
  (request, response, next) => {
    response.set(SECURITY_HEADERS);
    host.watch(request, response, (watched) => {
      response.locals[WATCHED] = watched;
      host.admit(request);
      next();
    });
  };

/** `OPTIONS *` asks about the whole server (RFC 9110, 9.3.7). */
const asterisk =
  ({ host }: Engine): RequestHandler =>
  (request, response, next) => {
    if (request.url !== '*') return next();
    const headers = { Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' };
    return host.sendPage({ status: 204, headers, body: undefined }, request, response);
  };

/** Loads the SDK, which takes 100 ms, on the first request. */
function agents(engine: Engine, settings: EngineSettings): RequestHandler {
  const load = lazy(async () => (await import('../mcp/endpoint.ts')).createAgentEndpoint(engine, settings));
  return async (request, response) => (await load())(request, response);
}

const answerErrors =
  ({ host }: Engine): ErrorRequestHandler =>
  (error, request, response, _next) => {
    if (response.headersSent) response.destroy();
    else {
      const rendered = AGENTS.includes(request.path) ? renderForAgent : render;
      host.refuse(error, request, response, { watched: watchedBy(response), rendered });
    }
  };

/** Metrics name every type, so they require a token that can read all types. */
const metrics = ({ metrics: kept, model, modelFor, clients, host }: Engine): readonly RequestHandler[] => [
  (request, _, next) => {
    if (kept === undefined) throw new Problem('path-not-found', 'METRICS is off; METRICS=on turns it on');
    const readable = modelFor(request).types.size;
    const message = 'Metrics need a token that may read every type';
    if (readable === 0 && model.types.size > 0)
      throw new Problem('unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } });
    if (!readsAll(clients().of(request).rights, model)) throw new Problem('forbidden', message);
    next();
  },
  async (request, response) => {
    const headers = { ...UNCACHED, 'Content-Type': kept?.contentType ?? '' };
    await host.sendPage({ status: 200, headers, body: await kept?.text() }, request, response);
  },
];
