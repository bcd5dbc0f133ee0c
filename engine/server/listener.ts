/** The HTTP server: listens, reports why it cannot, and stops after open requests. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Budget } from '../edge/budget.ts';
import { codeOf } from '../files.ts';
import type { Settings } from '../settings/settings.ts';
import { StartError } from '../problem.ts';
import { workerNumber } from '../process.ts';
import { Connections } from './connections.ts';

/** Longer than in clients and proxies: the side that sends requests should close. */
const KEEP_ALIVE_MS = 75_000;
/** Connections waiting to be accepted; clients retry others only after seconds. */
const BACKLOG = 4096;
const CONNECTION_BYTES = 16 * 1024;
const CHECK_MS = 5000;

/** Each worker listens itself, so that killing one affects no other. Only Linux balances connections. */
const PORT_SHARING =
  workerNumber !== undefined && process.platform === 'linux' ? { exclusive: true, reusePort: true } : {};

export async function listen(serve: RequestListener, settings: Settings, budget: Budget) {
  const server = createServer(serverOptions(settings));
  const options = { serve, most: mostConnections(settings), budget, bodyLimit: settings.bodyLimit };
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
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
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
