/** Metrics for Prometheus: requests by type and operation, statements, connections, and Node itself. */
import cluster from 'node:cluster';
import {
  type Aggregator,
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client';
import type { OnWait } from './storage/admission.ts';
import type { ServerUsage } from './storage/driver.ts';
import { Problem } from './problem.ts';
import { workerNumber } from './process.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export interface AnsweredRequest {
  readonly label: { readonly type: string; readonly operation: string } | undefined;
  readonly status: number;
  readonly problem: string | undefined;
  readonly milliseconds: number;
}

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createMetrics() {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  // Removes gauges with the suffix `_total`, reserved for counters.
  for (const what of ['handles', 'requests', 'resources']) register.removeSingleMetric(`nodejs_active_${what}_total`);
  const requests = new Counter({
    name: 'records_http_requests_total',
    help: 'Answered requests by type, operation, status and code of the problem; each is empty where there is none',
    labelNames: ['type', 'operation', 'status', 'problem'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'records_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer',
    labelNames: ['type', 'operation'] as const,
    buckets: SECONDS,
    registers,
  });
  const waits = new Histogram({
    name: 'records_database_wait_seconds',
    help: 'Time that work has waited for a connection to PostgreSQL',
    labelNames: ['work'] as const,
    buckets: SECONDS,
    registers,
  });
  const statements = new Histogram({
    name: 'records_database_statement_duration_seconds',
    help: 'Time from the start of a statement to its rows',
    buckets: [0.0001, 0.0005, ...SECONDS],
    registers,
  });
  return {
    observe: ({ label = { type: '', operation: '' }, status, problem = '', milliseconds }: AnsweredRequest): void => {
      const { type, operation } = label;
      requests.inc({ type, operation, status, problem });
      durations.observe({ type, operation }, milliseconds / 1000);
    },
    statement: (milliseconds: number): void => statements.observe(milliseconds / 1000),
    wait: ((purpose, milliseconds) => waits.observe({ work: purpose }, milliseconds / 1000)) satisfies OnWait,
    /** Each read of the metrics calls both functions. */
    watch: (
      usage: () => readonly ServerUsage[],
      ask: () => Promise<{ isReady: boolean; isReachable: boolean }>,
    ): void => {
      const gauge = <L extends string>(
        name: string,
        help: string,
        labelNames: readonly L[],
        collect: (gauge: Gauge<L>) => unknown,
        aggregator: Aggregator = 'sum',
      ): void =>
        void new Gauge({
          name: `records_${name}`,
          help,
          labelNames,
          registers,
          aggregator,
          async collect() {
            await collect(this);
          },
        });
      // The worst of the workers' values: 0 if one is not ready.
      const reachable = 'Whether the database answers: 1 or 0';
      gauge('database_reachable', reachable, [], async (one) => one.set(Number((await ask()).isReachable)), 'min');
      const isReady = 'Whether /health/ready says so: 1 or 0';
      gauge('ready', isReady, [], async (one) => one.set(Number((await ask()).isReady)), 'min');
      if (usage().length === 0) return;
      const connections = 'Connections to each PostgreSQL server by pool and state; "most" is how many there may be';
      gauge('database_connections', connections, ['server', 'pool', 'state'], (one) => {
        for (const { server, pools } of usage())
          for (const [pool, states] of Object.entries(pools))
            for (const [state, count] of Object.entries(states)) one.set({ server, pool, state }, count);
      });
      const waiting = 'Requests that wait for a connection to each PostgreSQL server, by what they want to do';
      gauge('database_waiting', waiting, ['server', 'work'], (one) => {
        for (const { server, waiting: works } of usage())
          for (const [work, count] of Object.entries(works)) one.set({ server, work }, count);
      });
      const shortage =
        'Whether requests of the last minute waited in vain for connections of a server or for locks: 1 or 0';
      const setShortages = (one: Gauge<'server' | 'of'>): void => {
        for (const { server, shortages } of usage())
          for (const [of, isShort] of Object.entries(shortages)) one.set({ server, of }, Number(isShort));
      };
      gauge('database_shortage', shortage, ['server', 'of'], setShortages, 'max');
      if (usage().every(({ lag }) => lag === undefined)) return;
      const setLag = (one: Gauge<'server'>): void => {
        for (const { server, lag } of usage()) if (lag !== undefined) one.set({ server }, lag);
      };
      gauge('replica_lag_seconds', 'Seconds that each replica is behind the primary', ['server'], setLag, 'max');
    },
    contentType: register.contentType,
    text: workerNumber === undefined ? () => register.metrics() : textOfAll(register),
  };
}

// A worker requests metrics from the first process, which adds up all workers' values.

const QUESTION = 'metrics';

interface Answer {
  readonly metrics: string;
}

const isAnswer = (message: unknown): message is Answer =>
  typeof message === 'object' && message !== null && 'metrics' in message;

function textOfAll(register: Registry): () => Promise<string> {
  AggregatorRegistry.setRegistries([register]);
  void new AggregatorRegistry();
  return async () => {
    const text = await new Promise<string>((resolve) => {
      const listen = (message: unknown): void => {
        if (!isAnswer(message)) return;
        process.off('message', listen);
        resolve(message.metrics);
      };
      process.on('message', listen);
      process.send?.(QUESTION);
    });
    if (text === '') throw new Problem('overloaded', 'A worker did not say its metrics in time; try again in a second');
    return text;
  };
}

export function addUpMetrics(): void {
  const all = new AggregatorRegistry();
  cluster.on('message', (worker, message: unknown) => {
    if (message !== QUESTION) return;
    void all
      .clusterMetrics()
      .catch(() => '')
      .then((metrics) => worker.send({ metrics } satisfies Answer, () => undefined));
  });
}
