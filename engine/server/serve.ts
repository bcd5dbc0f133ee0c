/** What `npm start` runs: the engine directly on the http server, and behind it an Express app for everything else. */
import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { isGuarded } from '../access/access.ts';
import { type Engine, startEngine } from '../engine.ts';
import { inBatches } from './batches.ts';
import { createMisdirected, refuseUnclear } from './framing.ts';
import { drain, listen, urlOf } from './listener.ts';
import { VERSION } from '../package.ts';
import { createLog, type Log } from '../log.ts';
import type { Model } from '../model/model.ts';
import { answerOperator, asksHealth, type Measuring, type Operated } from './health.ts';
import { createPages } from '../pages/pages.ts';
import { AUTO_RATE, type Settings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { requestIdOf } from '../http/envelope.ts';
import { problemAnswer } from '../http/problems.ts';
import { SECURITY_HEADERS } from '../pages/layout.ts';

export interface Serving {
  readonly url: string;
  readonly engine: Engine;
  /** Answers what is open, takes nothing new, closes the database. False where requests had to be cut off. */
  close(): Promise<boolean>;
}

export async function serve(settings: Settings): Promise<Serving> {
  const engine = await startEngine(forHost(settings));
  try {
    const listener = await listen(inBatches(answering(engine, settings), engine.budget), settings);
    const close = async (): Promise<boolean> => {
      engine.drain();
      await sleep(settings.drainDelay);
      const inTime = await drain(listener, settings.shutdownTimeout - reserved(settings));
      await engine.close();
      return inTime;
    };
    return { url: urlOf(listener), engine, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Milliseconds of SHUTDOWN_TIMEOUT that are for closing the database, whatever it is doing. */
const reserved = ({ shutdownTimeout }: Settings): number => Math.min(500, shutdownTimeout / 4);

/** The settings as they are for this host. Throws a StartError where it lets strangers in. */
export function forHost(settings: Settings): Settings {
  refuseOpenDoor(settings);
  return { ...settings, rateLimit: rateOf(settings) };
}

/** Enough for a person and a program, and too little to guess or to drain. */
const OPEN_RATE = 1200;

const rateOf = ({ rateLimit, host }: Settings): number => {
  if (rateLimit !== AUTO_RATE) return rateLimit;
  return LOOPBACK.test(host) ? Infinity : OPEN_RATE;
};

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Whoever reaches the port could write: without tokens that is this machine alone. */
function refuseOpenDoor(settings: Settings): void {
  if (isGuarded(settings) || LOOPBACK.test(settings.host)) return;
  throw new StartError(
    `HOST is "${settings.host}", which other machines reach, and there are no tokens: anybody could read and write. Make one with "records token NAME --write '*'" and put its line into TOKENS or TOKENS_FILE, or listen on 127.0.0.1`,
  );
}

/** With a token nothing is done for a stranger: whoever reaches the service may call it as he likes. */
function namesOf(settings: Settings): readonly string[] {
  const { allowedHosts, host } = settings;
  if (allowedHosts.length > 0) return allowedHosts;
  return isGuarded(settings) ? ['*'] : [host];
}

/** Records by the engine's handler, everything else behind it. */
export function answering(engine: Engine, settings: Settings): RequestListener {
  const app = createApp(engine, settings);
  const operated: Operated = {
    ...engine,
    measuring: (request) => measuringOf(engine, engine.modelFor(request)),
  };
  const log = createLog(settings);
  const refuseMisdirected = createMisdirected(namesOf(settings), log);
  const { watch } = engine.outside;
  return refuseUnclear(log, watch, (request, response) => {
    if (refuseMisdirected(request, response)) return watch(request, response);
    engine.handler(request, response, () => {
      engine.outside.watch(request, response);
      response.once('prefinish', () => engine.awaitReader(request, response));
      const serveOther = (): void => {
        if (!answerOperator(operated, request, response)) app(request, response);
      };
      if (asksHealth(request)) serveOther();
      else engine.outside.limit(request, response, serveOther);
    });
  });
}

function measuringOf({ model }: Engine, { types }: Model): Measuring {
  if (types.size === model.types.size) return 'allowed';
  return types.size === 0 ? 'stranger' : 'withheld';
}

/** Whatever is no record. */
function createApp({ outside, modelFor }: Engine, settings: Settings): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  const pagesFor = pagesByModel(settings);
  app.use((request, response, next) => pagesFor(modelFor(request))(request, response, next));
  app.use((request, response) => outside.notFound(request, response));
  app.use(answerFaults(createLog(settings)));
  return app;
}

/** Who sees another model, sees other pages. */
function pagesByModel(settings: Settings): (model: Model) => RequestHandler {
  const all = new WeakMap<Model, RequestHandler>();
  const { title, schemaDirectory } = settings;
  const about = { title, schemaDirectory, version: VERSION, guarded: isGuarded(settings) };
  return (model) => {
    const pages = all.get(model) ?? createPages({ model, ...about });
    all.set(model, pages);
    return pages;
  };
}

// What becomes of an error behind the records' handler: a problem like any other, and never what Express would tell of it.

export const answerFaults =
  (log: Log): ErrorRequestHandler =>
  (error, request, response, _next) => {
    if (response.headersSent) return void response.destroy();
    const requestId = requestIdOf(request);
    const { status, headers, body } = problemAnswer(error, request.path, requestId, log);
    const common = { ...SECURITY_HEADERS, 'Cache-Control': 'no-cache', 'X-Request-Id': requestId };
    response.writeHead(status, { ...common, ...headers });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
