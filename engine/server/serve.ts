/** The service of `npm start`: opens and closes engine and listener; resolves settings that depend on the host. */
import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGuarded } from '../access/access.ts';
import { type Engine, type EngineSettings, startEngine } from '../engine.ts';
import { AUTO_RATE, type Settings } from '../settings/settings.ts';
import { StartError } from '../problem.ts';
import { studioBuild } from '../pages/studio.ts';
import { createApp } from './app.ts';
import { refuseAmbiguous } from './connections.ts';
import { listen } from './listener.ts';

export interface Serving {
  readonly url: string;
  readonly engine: Engine;
  /** Completes open requests and closes the database. Resolves with false if `shutdownTimeout` cut some off. */
  close(): Promise<boolean>;
}

export async function serve(settings: Settings & Pick<EngineSettings, 'clock' | 'waits'>): Promise<Serving> {
  const engine = await startEngine({ ...settings, ...forHost(settings) });
  try {
    const listener = await listen(answering(engine, settings), settings, engine.budget);
    const close = async (): Promise<boolean> => {
      const { drainDelay, shutdownTimeout } = settings;
      engine.drain();
      await sleep(drainDelay);
      // Reserves half a second for closing the database.
      const inTime = await listener.drain(shutdownTimeout - Math.min(500, shutdownTimeout / 4));
      await engine.close();
      return inTime;
    };
    return { url: listener.url, engine, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** What a started service prints: text for people, else one JSON object, as collectors of logs expect. */
export function announcement(msg: string, url: string, { studio }: Settings, isText: boolean): string {
  const pages = { ...(studio && studioBuild() ? { Studio: `${url}/studio` } : {}), Documentation: `${url}/docs` };
  if (!isText) return JSON.stringify({ msg, ...pages });
  return [msg, ...Object.entries(pages).map(([name, address]) => `${name}: ${address}`)].join('\n');
}

/** Requests per minute if others than this machine can connect, maybe through a proxy: too few for guessing tokens. */
const OPEN_RATE = 1200;

/** Resolves automatic `rateLimit` and `allowedHosts`. Throws a StartError if strangers could write. */
export function forHost(settings: Settings): Settings {
  const { host, rateLimit, allowedHosts, trustedProxies } = settings;
  const isOpen = !isGuarded(settings);
  const [opening] = openings(settings);
  if (isOpen && opening !== undefined)
    throw new StartError(
      `${opening}, and there are no tokens: anybody could read and write. Make one with "records token NAME --write '*'" and put its line into TOKENS or TOKENS_FILE, or serve this machine alone`,
    );
  const usualRate = opening === undefined && trustedProxies.length === 0 ? Infinity : OPEN_RATE;
  return {
    ...settings,
    rateLimit: rateLimit === AUTO_RATE ? usualRate : rateLimit,
    // With tokens, any host is safe: strangers have no access.
    allowedHosts: allowedHosts.length > 0 ? allowedHosts : [isOpen ? host : '*'],
  };
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
const isHere = (name: string): boolean => LOOPBACK.test(name.replace(/^\[|\]$/g, '')) || name.endsWith('.localhost');

function* openings({ host, corsOrigins, publicUrl, allowedHosts }: Settings): Generator<string> {
  if (!LOOPBACK.test(host)) yield `HOST is "${host}", which other machines can reach`;
  if (corsOrigins.includes('*')) yield 'CORS_ORIGINS is "*", so that pages of every site may use the service';
  if (publicUrl !== '' && !isHere(new URL(publicUrl).hostname)) yield `PUBLIC_URL is "${publicUrl}", another machine`;
  const other = allowedHosts.find((name) => !isHere(name));
  if (other !== undefined) yield `ALLOWED_HOSTS has "${other}", the name of another machine`;
}

/** Bypasses Express for records: its router takes longer than reading a record. */
export function answering(engine: Engine, settings: Settings): RequestListener {
  const { handler, host } = engine;
  const app = createApp(engine, settings);
  // A proxy strips this path; links and Location headers need it.
  const { pathname } = new URL(settings.publicUrl || 'http://localhost');
  const baseUrl = pathname.replace(/\/$/, '');
  return refuseAmbiguous(host, (request, response) => {
    if (baseUrl !== '') Object.assign(request, { baseUrl });
    handler(request, response, () => app(request, response));
  });
}
