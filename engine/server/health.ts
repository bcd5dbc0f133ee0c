/** What operators ask for: whether the service lives, whether it is ready, and its metrics. */
import { Router } from 'express';
import type { Engine } from '../engine.ts';
import { readOnly, STRICT } from '../pages/routes.ts';
import { Problem } from '../problem.ts';

/** Milliseconds that the database may take to say that it is ready. */
const MAX_WAIT = 2000;

const TEXT = 'text/plain; charset=utf-8';
/** A cached answer would say how the service was. */
const UNCACHED = { 'Cache-Control': 'no-store' };

export function healthRoutes(engine: Engine): Router {
  const router = Router(STRICT);
  readOnly(router, '/health/live', (_request, response) => {
    response.set(UNCACHED).type(TEXT).send('live\n');
  });
  readOnly(router, '/health/ready', async (_request, response) => {
    const reason = await whyNotReady(engine);
    response
      .status(reason === undefined ? 200 : 503)
      .set(UNCACHED)
      .type(TEXT)
      .send(`${reason ?? 'ready'}\n`);
  });
  return router;
}

async function whyNotReady({ isDraining, ready }: Engine): Promise<string | undefined> {
  if (isDraining()) return 'stopping';
  const late = new Promise<never>((_, reject) => setTimeout(reject, MAX_WAIT).unref());
  return Promise.race([ready(), late]).then(
    () => undefined,
    (error: unknown) => (error instanceof Problem ? error.message : 'the database does not answer'),
  );
}

/** Metrics name every type, so they need a token that may read every type. */
export function metricsRoute({ metrics, model, modelFor }: Engine): Router {
  const router = Router(STRICT);
  readOnly(router, '/metrics', async (request, response) => {
    if (metrics === undefined) throw new Problem('path-not-found', 'METRICS is off; METRICS=on turns it on');
    const readable = modelFor(request).types.size;
    if (readable < model.types.size) throw metricsRefused(readable === 0);
    const text = Buffer.from(await metrics.text());
    response.set({ ...UNCACHED, 'Content-Type': metrics.contentType }).send(text);
  });
  return router;
}

function metricsRefused(isStranger: boolean): Problem {
  const message = 'Metrics need a token that may read every type';
  if (!isStranger) return new Problem('forbidden', message);
  return new Problem('unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
