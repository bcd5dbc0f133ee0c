/** Metrics for Prometheus: requests by type and operation, statements, and those of Node itself. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DatabaseUsage, OnWait } from './storage/driver.ts';
import type { Label, Observed } from './http/request.ts';

export interface Metrics {
  observe(observed: Observed): void;
  statement(milliseconds: number): void;
  /** How long work has waited for a connection to the database. */
  readonly wait: OnWait;
  /** Where connections are counted whenever metrics are read. */
  watch(usage: () => DatabaseUsage | undefined): void;
  readonly contentType: string;
  text(): Promise<string>;
}

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const NO_OPERATION: Label = Object.freeze({ type: '', operation: '' });

export function createMetrics(): Metrics {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const requests = new Counter({
    name: 'records_http_requests_total',
    help: 'Answered requests by type, operation and status; type and operation are empty if none was found',
    labelNames: ['type', 'operation', 'status'] as const,
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
    observe: ({ label = NO_OPERATION, status, milliseconds }) => {
      const { type, operation } = label;
      requests.inc({ type, operation, status });
      durations.observe({ type, operation }, milliseconds / 1000);
    },
    statement: (milliseconds) => statements.observe(milliseconds / 1000),
    wait: (purpose, milliseconds) => waits.observe({ work: purpose }, milliseconds / 1000),
    watch: (usage) => {
      watchConnections(register, usage);
    },
    contentType: register.contentType,
    text: () => register.metrics(),
  };
}

/** Connections are counted whenever metrics are read. */
function watchConnections(register: Registry, usage: () => DatabaseUsage | undefined): void {
  if (usage() === undefined) return;
  const registers = [register];
  const connections = new Gauge({
    name: 'records_database_connections',
    help: 'Connections to PostgreSQL by pool and state; "most" is how many there may be',
    labelNames: ['pool', 'state'] as const,
    registers,
    collect: () => {
      for (const [pool, states] of Object.entries(usage()?.pools ?? {}))
        for (const [state, count] of Object.entries(states)) connections.set({ pool, state }, count);
    },
  });
  const waiting = new Gauge({
    name: 'records_database_waiting',
    help: 'Requests that wait for a connection to PostgreSQL, by what they want to do',
    labelNames: ['work'] as const,
    registers,
    collect: () => {
      for (const [work, count] of Object.entries(usage()?.waiting ?? {})) waiting.set({ work }, count);
    },
  });
}
