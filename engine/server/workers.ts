/** WORKERS: several processes on one port. The first process starts the others, counts their requests for the rate limit, and sums metrics. */
import cluster, { type Worker } from 'node:cluster';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Budget } from '../edge/budget.ts';
import { createLog } from '../log.ts';
import { AUTO_WORKERS, automaticLimit, type Settings, settingsTable } from '../settings/settings.ts';
import { StartError } from '../problem.ts';
import { parseAddress, shareOf } from '../storage/postgres/address.ts';
import { ignoreSignals, STOP_SIGNALS, WORKER_VARIABLE } from '../process.ts';
import { forHost, listen } from './serve.ts';

/** Milliseconds before restarting a worker; doubled each time that it ends soon. */
const FIRST_DELAY = 100;
const LONGEST_DELAY = 10_000;
/** Milliseconds after which a start counts as successful. */
const STEADY = 10_000;
const GRACE = 1000;

const STOP = 'stop';

export function countWorkers({ workers, databaseUrl }: Settings): number {
  if (workers === 1) return 1;
  if (databaseUrl.startsWith('sqlite:'))
    throw new StartError(
      `WORKERS is ${workers === AUTO_WORKERS ? 'auto' : workers}, but one process serves an SQLite file. Leave WORKERS at 1, or use PostgreSQL`,
    );
  const { pool } = parseAddress(databaseUrl);
  if (workers > pool)
    throw new StartError(
      `WORKERS is ${workers}, more than the ${pool} connections that they share; give DATABASE_URL a larger pool`,
    );
  return workers === AUTO_WORKERS ? Math.min(availableParallelism(), pool) : workers;
}

function sharesOf(settings: Settings, environment: NodeJS.ProcessEnv, count: number): Record<string, string> {
  const { memoryLimit, databaseUrl, readUrl } = settingsTable;
  const isAutomatic = (environment[memoryLimit.name] || memoryLimit.default) === memoryLimit.default;
  const share = isAutomatic ? automaticLimit(count) : Math.floor(settings.memoryLimit / count);
  if (memoryLimit.parse(String(share)) === undefined)
    throw new StartError(
      `MEMORY_LIMIT is ${settings.memoryLimit} for ${count} workers; expected ${memoryLimit.expected} for each`,
    );
  return {
    [settingsTable.workers.name]: '1',
    [databaseUrl.name]: shareOf(settings.databaseUrl, databaseUrl.name, count),
    ...(settings.readUrl === '' ? {} : { [readUrl.name]: shareOf(settings.readUrl, readUrl.name, count) }),
    [memoryLimit.name]: String(share),
  };
}

interface Ready {
  readonly url: string;
  readonly model: number | undefined;
}

export const sendReady = (ready: Ready): void => void process.send?.(ready);

const isReady = (message: unknown): message is Ready =>
  typeof message === 'object' && message !== null && 'url' in message;

/** In the first process. undefined if no worker could start; the worker has printed why. */
export async function serveByWorkers(settings: Settings, count: number) {
  const shares = sharesOf(settings, process.env, count);
  if (forHost(settings).rateLimit !== Infinity)
    void new (await import('rate-limiter-flexible')).RateLimiterClusterMaster();
  if (settings.metrics) (await import('../metrics.ts')).addUpMetrics();
  // Checks that no other service's workers share the port.
  await (await listen(() => undefined, settings, new Budget(settings.memoryLimit))).drain(0);
  const log = createLog(settings);
  let isStopping = false;

  function start(number: number, delay = FIRST_DELAY): Worker {
    const worker = cluster.fork({ ...shares, [WORKER_VARIABLE]: String(number) });
    // The worker may have exited before a message.
    worker.on('error', () => undefined);
    const began = performance.now();
    let serves = number > 1 || delay > FIRST_DELAY;
    worker.on('message', (message) => (serves ||= isReady(message)));
    worker.once('exit', (code, signal) => {
      if (isStopping || !serves) return;
      const wait = performance.now() - began > STEADY ? FIRST_DELAY : delay;
      log.error({ worker: number, code, signal, milliseconds: wait }, 'a worker ended and is started again');
      setTimeout(() => isStopping || start(number, Math.min(2 * wait, LONGEST_DELAY)), wait);
    });
    return worker;
  }

  async function close(): Promise<boolean> {
    isStopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const ended = Promise.all(workers.map(hasEnded)).then(() => true);
    for (const worker of workers) worker.send(STOP, () => undefined);
    const most = settings.drainDelay + settings.shutdownTimeout + GRACE;
    const inTime = await Promise.race([ended, sleep(most, false, { ref: false })]);
    for (const worker of workers) worker.process.kill('SIGKILL');
    return inTime;
  }

  // Starts the first worker before the others, since it may migrate the tables.
  const first = start(1);
  const ready = await new Promise<Ready | undefined>((resolve) =>
    first.on('message', (message) => isReady(message) && resolve(message)).once('exit', () => resolve(undefined)),
  );
  if (ready === undefined) return undefined;
  if (settings.port === 0) shares[settingsTable.port.name] = new URL(ready.url).port;
  for (let number = 2; number <= count; number += 1) start(number);
  return { ...ready, close };
}

/** `once` of node:events would reject when a message, such as the count of a request, finds no worker any more. */
const hasEnded = (worker: Worker): Promise<void> =>
  new Promise((resolve) => void (worker.isDead() ? resolve() : worker.once('exit', () => resolve())));

/** In a worker: waits for the stop message or SIGTERM. Only the first process handles the signals of a terminal. */
export function stopMessage(): Promise<void> {
  ignoreSignals(STOP_SIGNALS.filter((signal) => signal !== 'SIGTERM'));
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve()).on('message', (message) => message === STOP && resolve());
  });
}
