/** The service of `npm start`: engine and HTTP server, from the start to the last open request; settings that depend on the host. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGuarded } from '../access/access.ts';
import type { Budget } from '../edge/budget.ts';
import { type Engine, type EngineSettings, startEngine } from '../engine.ts';
import { codeOf } from '../files.ts';
import { workerNumber } from '../process.ts';
import { AUTO_RATE, type Settings } from '../settings/settings.ts';
import { attempted, StartError } from '../problem.ts';
import { studioBuild } from '../pages/files.ts';
import { createApp } from './app.ts';
import { Connections, refuseAmbiguous } from './connections.ts';

export type Serving = Awaited<ReturnType<typeof serve>>;

export async function serve(settings: Settings & Pick<EngineSettings, 'clock' | 'waits'>) {
  const engine = await startEngine({ ...settings, ...forHost(settings) });
  try {
    const listener = await listen(answering(engine, settings), settings, engine.budget);
    /** Completes open requests and closes the database. Resolves with false if `shutdownTimeout` cut some off. */
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

/** Longer than in clients and proxies: the side that sends requests should close. */
const KEEP_ALIVE_MS = 75_000;
/** Connections waiting to be accepted; clients retry others only after seconds. */
const BACKLOG = 4096;
const CONNECTION_BYTES = 16 * 1024;
const CHECK_MS = 5000;

/** Each worker listens itself, so that killing one affects no other. Only Linux balances connections. */
const PORT_SHARING =
  workerNumber !== undefined && process.platform === 'linux' ? { exclusive: true, reusePort: true } : {};

export async function listen(listener: RequestListener, settings: Settings, budget: Budget) {
  const server = createServer(serverOptions(settings));
  const options = { serve: listener, most: mostConnections(settings), budget, bodyLimit: settings.bodyLimit };
  const connections = new Connections(server, options);
  // A client may half-close its connection before the response.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.listen({ port: settings.port, host: settings.host, backlog: BACKLOG, ...PORT_SHARING });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new StartError(whyNot(error, settings), { cause: error });
  }
  return { url: urlOf(server), drain: (timeout: number) => drain(server, connections, timeout) };
}

const serverOptions = ({ requestTimeout, headerLimit }: Settings) => ({
  maxHeaderSize: headerLimit + 1,
  // Node would continue with requests pipelined after the refused one.
  requireHostHeader: false,
  // Requests without a body emit no stream events. Node 22 ignores this.
  optimizeEmptyRequests: true,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requestTimeout,
  headersTimeout: Math.ceil(requestTimeout / 3),
  connectionsCheckingInterval: Math.ceil(Math.min(CHECK_MS, requestTimeout / 6)),
});

/** Limited by MEMORY_LIMIT, and three quarters of the open-file limit. */
const mostConnections = ({ memoryLimit }: Settings): number =>
  Math.floor(Math.min(memoryLimit / CONNECTION_BYTES, openFiles() * 0.75));

function openFiles(): number {
  const limits = attempted(() => readFileSync('/proc/self/limits', 'utf8')) ?? '';
  const [, soft = Infinity] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return Number(soft);
}

function whyNot(error: unknown, { host, port }: Settings): string {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} of ${host} is in use; set PORT to a free one, or to 0`,
    EACCES: `This user may not use port ${port}; set PORT to a number above 1023`,
    EADDRNOTAVAIL: `HOST is "${host}", which is not an address of this machine`,
  };
  return reasons[codeOf(error)] ?? `Cannot listen on ${host}, port ${port}: ${String(error)}`;
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return String(address);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

const IDLE_CHECK_MS = 25;

/** Completes open requests. False if it cut some off at the timeout (ms). */
async function drain(server: Server, connections: Connections, timeout: number): Promise<boolean> {
  let inTime = true;
  const cutOff = (): void => {
    inTime = false;
    server.closeAllConnections();
  };
  const closeIdle = (): void => {
    server.closeIdleConnections();
    connections.closeUnused();
  };
  const timers = [setInterval(closeIdle, IDLE_CHECK_MS), setTimeout(cutOff, timeout)];
  const closed = once(server, 'close');
  server.close();
  await closed;
  for (const timer of timers) clearTimeout(timer);
  return inTime;
}
