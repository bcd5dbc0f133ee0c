/** What `npm start` runs: the engine directly on the http server, and behind it an Express app for everything else. */
import type { RequestListener } from 'node:http';
import express, { type Express } from 'express';
import { type Engine, startEngine } from './engine.ts';
import { drain, listen, urlOf } from './listener.ts';
import { VERSION } from './package.ts';
import { createPages } from './pages/pages.ts';
import type { Settings } from './settings.ts';

export interface Serving {
  readonly url: string;
  readonly engine: Engine;
  /** Answers what is open, takes nothing new, closes the database. False where requests had to be cut off. */
  close(): Promise<boolean>;
}

export async function serve(settings: Settings): Promise<Serving> {
  const engine = await startEngine(settings);
  try {
    const listener = await listen(answering(engine, settings), settings);
    const close = async (): Promise<boolean> => {
      engine.drain();
      const inTime = await drain(listener, settings.shutdownTimeout);
      await engine.close();
      return inTime;
    };
    return { url: urlOf(listener), engine, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Records by the engine's handler, everything else behind it. */
export function answering(engine: Engine, settings: Settings): RequestListener {
  const app = createApp(engine, settings);
  return (request, response) => engine.handler(request, response, () => app(request, response));
}

/** Whatever is no record. */
function createApp({ handler, model }: Engine, { title }: Settings): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use(createPages({ model, title, version: VERSION }));
  // Without a `next` the handler answers that there is nothing here.
  app.use((request, response) => handler(request, response));
  return app;
}
