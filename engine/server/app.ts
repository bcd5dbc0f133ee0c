/**
 * The Express app: everything that is not a record. Records never pass through it; what holds for them holds here as well:
 * the log, the rate limit, slow readers, and problems as answers to errors.
 */
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { isGuarded } from '../access/access.ts';
import type { Engine } from '../engine.ts';
import { VERSION } from '../package.ts';
import { createPages } from '../pages/pages.ts';
import type { Settings } from '../settings.ts';
import { healthRoutes, metricsRoute } from './health.ts';

export function createApp(engine: Engine, settings: Settings): Express {
  const { host, modelFor } = engine;
  const { title, schemaDirectory } = settings;
  const about = { title, schemaDirectory, version: VERSION, guarded: isGuarded(settings) };
  return (
    express()
      .disable('x-powered-by')
      .disable('etag')
      .set('query parser', false)
      .use(prepare(engine))
      .use(healthRoutes(engine))
      // Probes of health are not limited.
      .use(host.limit)
      .use(metricsRoute(engine))
      .use(createPages(about, modelFor))
      .use((request, response) => host.notFound(request, response))
      .use(answerErrors(engine))
  );
}

/** Headers of every answer: nothing comes from elsewhere, nothing inline runs, no other site frames it. */
const SECURITY_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

const prepare =
  ({ host, awaitReader, isDraining }: Engine): RequestHandler =>
  (request, response, next) => {
    host.watch(request, response);
    response.once('prefinish', () => awaitReader(request, response));
    if (isDraining()) response.shouldKeepAlive = false;
    response.set(SECURITY_HEADERS);
    next();
  };

/** A problem like any other, and never what Express would tell of the error. */
const answerErrors =
  ({ host }: Engine): ErrorRequestHandler =>
  (error, request, response, _next) => {
    if (response.headersSent) response.destroy();
    else host.refuse(error, request, response);
  };
