/** One round: a new database, instances on it, clients, faults, and the verdict. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Compiled } from '../support/compiled.ts';
import type { Cluster } from '../support/cluster.ts';
import { connectTo, type DatabaseKind } from '../support/databases.ts';
import { randomOf } from '../support/random.ts';
import { Clients, overHttp } from './clients.ts';
import { type DeedName, wreak } from './faults.ts';
import { History, outcomeOf, type Violation } from './history.ts';
import { DoesNotStart, freePort, Instance } from './instances.ts';
import { judge } from './judge.ts';

export interface RoundOptions {
  readonly compiled: Compiled;
  /** undefined on SQLite. */
  readonly cluster: Cluster | undefined;
  readonly seed: number;
  readonly seconds: number;
  readonly deeds: readonly DeedName[];
  /** Of each instance on PostgreSQL. */
  readonly workers: number;
}

export interface Round {
  readonly history: History;
  readonly violation: Violation | undefined;
  /** Requests, acknowledged writes and so on, for people. */
  readonly summary: string;
}

const CLIENTS = 8;

export async function runRound(options: RoundOptions): Promise<Round> {
  const { compiled, cluster, seed, seconds, deeds } = options;
  // One process serves an SQLite file.
  const workers = cluster ? options.workers : 1;
  const database = await createDatabase(cluster, seed);
  const history = new History();
  const http = overHttp();
  const names = cluster ? ['A', 'B', 'C'] : ['A'];
  const environment = { DATABASE_URL: database.url, WORKERS: String(workers) };
  const ports = await Promise.all(names.map(freePort));
  const instances = names.map((name, at) => new Instance(compiled, name, ports[at] ?? 0, environment));
  const serving = (): readonly Instance[] => {
    const up = instances.filter(({ isUp }) => isUp);
    return up.length > 0 ? up : instances;
  };
  try {
    await Promise.all(instances.map((instance) => instance.start()));
    const clients = new Clients(history, http, () => serving().map(({ target }) => target));
    const end = Date.now() + seconds * 1000;
    let healed = false;
    const place = { compiled, cluster, databaseUrl: database.url, instances, workers, history, draw: randomOf(seed) };
    const wreaking = wreak(place, deeds, () => Date.now() > end).finally(() => (healed = true));
    const notStarted = wreaking.then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof DoesNotStart) return { rule: `An instance does not start: ${error.message}`, ops: [] };
        throw error;
      },
    );
    // Awaited below, after the clients.
    notStarted.catch(() => undefined);
    await clients.run(seed, CLIENTS, () => healed);
    const stuck = await notStarted;
    if (stuck) return { history, violation: stuck, summary: summarize(history) };
    // What the first version does not show is read, too.
    if (deeds.includes('roll')) await instances[0]?.renew('SIGTERM', 'second');
    for (const { target } of instances) await clients.readAll(target);
    const ended = instances.flatMap(({ ends }) => ends).find(isFault);
    const violation = ended === undefined ? judge(history) : { rule: ended, ops: [] };
    return { history, violation, summary: summarize(history) };
  } finally {
    http.close();
    await Promise.all(instances.map((instance) => instance.end()));
    await database.remove();
  }
}

/** A start may fail while the database is gone, in words that an operator understands. */
const isFault = (end: string): boolean => end.includes('ended by itself') || /\n\s+at /.test(end);

function summarize({ ops, faults }: History): string {
  const writes = ops.filter(({ write }) => write !== undefined);
  const count = (outcome: string): number => writes.filter((op) => outcomeOf(op) === outcome).length;
  const statuses = [...Map.groupBy(ops, ({ status }) => status)]
    .toSorted(([one], [other]) => one - other)
    .map(([status, all]) => `${status === 0 ? 'none' : status}: ${all.length}`);
  return `${ops.length} requests, ${faults.length} events; writes ${count('done')} done, ${count('refused')} refused, ${count('unknown')} unknown; ${statuses.join(', ')}`;
}

interface Created {
  readonly kind: DatabaseKind;
  readonly url: string;
  remove(): Promise<void>;
}

async function createDatabase(cluster: Cluster | undefined, seed: number): Promise<Created> {
  if (cluster === undefined) {
    const directory = mkdtempSync(join(tmpdir(), 'chaos-'));
    const remove = async (): Promise<void> => rmSync(directory, { recursive: true });
    return { kind: 'sqlite', url: `sqlite:${join(directory, 'records.db')}`, remove };
  }
  const name = `chaos_${seed}`;
  const administer = async (sql: string): Promise<void> => {
    const client = await connectTo(cluster.url);
    await client.query(sql);
    await client.end();
  };
  await administer(`create database ${name}`);
  const url = new URL(cluster.url);
  url.pathname = `/${name}`;
  url.searchParams.set('lock_timeout', '2000');
  return { kind: 'postgres', url: url.href, remove: () => administer(`drop database ${name} with (force)`) };
}
