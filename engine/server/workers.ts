/**
 * WORKERS: several processes serve one port. The first process serves nothing itself: it starts the workers, counts for
 * their rate limit, adds up their metrics, and starts those again that end.
 * Each worker is an instance like any other, with its share of connections and memory.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { availableParallelism, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { createBudget } from '../edge/budget.ts';
import { createLog, type Log } from '../log.ts';
import { AUTO_WORKERS, automaticLimit, type Settings, settingsTable } from '../settings/settings.ts';
import { StartError } from '../problem.ts';
import { parseAddress, shareOf } from '../storage/postgres/address.ts';
import { WORKER_VARIABLE } from '../process.ts';
import { listen } from './listener.ts';
import { forHost, type Serving } from './serve.ts';

/** Milliseconds before a worker that has ended is started again; twice as many each time it ends soon. */
const FIRST_DELAY = 100;
const LONGEST_DELAY = 10_000;
/** A worker that has run for so long did not end because of its start. */
const STEADY = 10_000;
/** Milliseconds that a worker has beyond its own limits until it is killed. */
const GRACE = 1000;

const STOP = 'stop';

/** How many workers the settings ask for. Throws a StartError if they cannot have as many. */
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

/** The variables that differ in a worker's environment: its share of connections and memory. */
function sharesOf(settings: Settings, environment: NodeJS.ProcessEnv, count: number): Record<string, string> {
  const { memoryLimit, databaseUrl, readUrl } = settingsTable;
  const heap = getHeapStatistics().heap_size_limit;
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  const isAutomatic = [undefined, '', memoryLimit.default].includes(environment[memoryLimit.name]);
  const share = isAutomatic ? automaticLimit(heap, memory / count) : Math.floor(settings.memoryLimit / count);
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

type Crewed = Omit<Serving, 'engine'> & Pick<Ready, 'model'>;

/** The first process. undefined if no worker could start: it has said why. */
export async function serveByWorkers(settings: Settings, count: number): Promise<Crewed | undefined> {
  const shares = sharesOf(settings, process.env, count);
  if (forHost(settings).rateLimit !== Infinity) await countRequests();
  const crew = new Crew(createLog(settings), shares);
  if (settings.metrics) (await import('../metrics.ts')).addUpMetrics();
  await requireFreePort(settings);
  // Alone: it changes the tables if the descriptors ask for it.
  const first = await crew.first();
  if (first === undefined) return undefined;
  const { url, model } = first;
  if (settings.port === 0) shares[settingsTable.port.name] = new URL(url).port;
  for (let number = 2; number <= count; number += 1) crew.start(number);
  return { url, model, close: () => crew.stop(settings.drainDelay + settings.shutdownTimeout + GRACE) };
}

/** Workers would share it with those of another service. */
async function requireFreePort(settings: Settings): Promise<void> {
  const { server } = await listen(() => undefined, settings, createBudget(settings.memoryLimit));
  server.close();
  await once(server, 'close');
}

/** The library keeps the counter of this process. */
async function countRequests(): Promise<void> {
  const { RateLimiterClusterMaster } = await import('rate-limiter-flexible');
  void new RateLimiterClusterMaster();
}

class Crew {
  readonly #log: Log;
  readonly #shares: Record<string, string>;
  #isStopping = false;
  #restarts: NodeJS.Timeout[] = [];

  constructor(log: Log, shares: Record<string, string>) {
    this.#log = log;
    this.#shares = shares;
  }

  /** undefined if it did not start. */
  async first(): Promise<Ready | undefined> {
    const worker = this.#fork(1);
    const ended = new AbortController();
    const ready = await Promise.race([
      readyOf(worker, ended.signal),
      once(worker, 'exit', { signal: ended.signal }).then(() => undefined),
    ]);
    ended.abort();
    if (ready === undefined) return undefined;
    this.#watch(worker, 1, FIRST_DELAY);
    return ready;
  }

  start(number: number, delay = FIRST_DELAY): void {
    this.#watch(this.#fork(number), number, delay);
  }

  #fork(number: number): Worker {
    const worker = cluster.fork({ ...this.#shares, [WORKER_VARIABLE]: String(number) });
    // A message to one that has just ended.
    worker.on('error', () => undefined);
    return worker;
  }

  #watch(worker: Worker, number: number, delay: number): void {
    const began = performance.now();
    worker.once('exit', (code, signal) => {
      if (this.#isStopping) return;
      const wait = performance.now() - began > STEADY ? FIRST_DELAY : delay;
      this.#log.error({ worker: number, code, signal, milliseconds: wait }, 'a worker ended and is started again');
      const again = (): void => this.start(number, Math.min(2 * wait, LONGEST_DELAY));
      this.#restarts = [...this.#restarts.filter((timer) => timer.hasRef()), setTimeout(again, wait)];
    });
  }

  /** False if some had to be killed. */
  async stop(patience: number): Promise<boolean> {
    this.#isStopping = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    const ended = all().map((worker) => once(worker, 'exit'));
    for (const worker of all()) worker.send(STOP, () => undefined);
    const inTime = await Promise.race([Promise.all(ended).then(() => true), sleep(patience, false, { ref: false })]);
    for (const worker of all()) worker.process.kill('SIGKILL');
    return inTime;
  }
}

const all = (): readonly Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

async function readyOf(worker: Worker, signal: AbortSignal): Promise<Ready> {
  for (;;) {
    const [message] = (await once(worker, 'message', { signal })) as [unknown];
    if (typeof message === 'object' && message !== null && 'url' in message) return message as Ready;
  }
}

/** The message of a worker to the first process once it serves: its URL and its model. */
interface Ready {
  readonly url: string;
  readonly model: number | undefined;
}

export const tellReady = (ready: Ready): void => void process.send?.(ready);

/**
 * In a worker: resolves when it is to stop, by a message or by SIGTERM. A terminal sends SIGINT to all of them, which the
 * first process answers. If that one is gone, Node ends its workers at once.
 */
export async function stopMessage(): Promise<void> {
  process.on('SIGINT', () => undefined);
  const heard = new AbortController();
  const { signal } = heard;
  const told = async (): Promise<void> => {
    while (((await once(process, 'message', { signal })) as [unknown])[0] !== STOP);
  };
  await Promise.race([told(), once(process, 'SIGTERM', { signal })]);
  heard.abort();
}
