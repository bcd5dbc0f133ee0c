/**
 * `npm run test:nightly -- chaos [MINUTES] [--seed N] [--on sqlite|postgres] [--workers 2]`: rounds of chaos, each with a
 * seed of its own, until the time is over or a promise is broken. `--workers`: of each instance on PostgreSQL.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { foldedAndStored } from '../../log/fold.ts';
import type { Draw } from '../../oracle/random-operations.ts';
import buildAll from '../../support/build.setup.ts';
import { type Cluster, signal, startCluster } from '../../support/cluster.ts';
import { type Compiled, openBuild } from '../../support/compiled.ts';
import { connectTo, type TestDatabase } from '../../support/databases.ts';
import { loadModel } from '../../support/model.ts';
import { randomOf } from '../../support/random.ts';
import { History, type Op, outcomeOf, runClients } from './clients.ts';
import { createInstance, type Instance } from './instance.ts';
import { judge, type Violation } from './judge.ts';

/** Long enough for a dozen faults, short enough for the history to be judged at once. */
const ROUND_SECONDS = 20;
const CLIENTS = 8;
const SCHEMA = 'tests/fixtures/durability';
const LONGEST_PAUSE_MS = 900;
const LONGEST_FREEZE_MS = 2500;

interface Place {
  readonly databaseUrl: string;
  readonly instances: readonly Instance[];
  readonly cluster: Cluster | undefined;
  readonly draw: Draw;
}

async function query(url: string, sql: string, milliseconds = 0): Promise<readonly { readonly pid: number }[]> {
  const client = await connectTo(url);
  try {
    const { rows } = await client.query<{ pid: number }>(sql);
    await pause(milliseconds);
    return rows;
  } finally {
    await client.end();
  }
}

const OURS = `from pg_stat_activity where application_name = 'records' and datname = current_database()`;

type Deed = (place: Place, instance: Instance) => Promise<unknown>;

const DEEDS: Readonly<Record<string, Deed>> = {
  'kill -9': (_, instance) => instance.renew('SIGKILL'),
  restart: (_, instance) => instance.renew('SIGTERM'),
  freeze: async ({ draw }, instance) => {
    instance.signal('SIGSTOP');
    await pause(draw(LONGEST_FREEZE_MS));
    instance.signal('SIGCONT');
  },
};
/** Failures of a stopped server do not count against the service. */
const SERVER_DEEDS: Readonly<Record<string, Deed>> = {
  'end about half of the backends': ({ databaseUrl }) =>
    query(databaseUrl, `select pg_terminate_backend(pid) ${OURS} and random() < 0.5`).catch(() => undefined),
  'freeze the backends': async ({ databaseUrl, draw }) => {
    const pids = (await query(databaseUrl, `select pid ${OURS}`).catch(() => [])).map(({ pid }) => pid);
    for (const pid of pids) signal(pid, 'SIGSTOP');
    await pause(draw(LONGEST_FREEZE_MS));
    for (const pid of pids) signal(pid, 'SIGCONT');
  },
  'lock all rows': ({ databaseUrl }) =>
    query(databaseUrl, 'begin; select 1 as pid from assemblies for update', 700).catch(() => undefined),
  'restart PostgreSQL': async ({ cluster, draw }) => {
    await cluster?.stop(draw(2) === 0 ? 'fast' : 'immediate');
    await pause(draw(500));
    await cluster?.again();
  },
};

/** Injects faults until the time is over, then restores everything. */
async function wreak(place: Place, history: History, isOver: () => boolean): Promise<void> {
  const { draw, instances, cluster } = place;
  const possible = Object.entries({ ...DEEDS, ...(cluster ? SERVER_DEEDS : {}) });
  while (!isOver()) {
    await pause(draw(LONGEST_PAUSE_MS));
    const [what, deed] = possible[draw(possible.length)] ?? [];
    const instance = instances[draw(instances.length)];
    if (deed === undefined || !instance?.isUp) continue;
    history.note(`${what} (${instance.name})`);
    await deed(place, instance);
    history.note(`done: ${what}`);
  }
  await Promise.all(instances.map((one) => one.start()));
}

async function databaseFor(cluster: Cluster | undefined, seed: number) {
  if (cluster === undefined) {
    const directory = mkdtempSync(join(tmpdir(), 'chaos-'));
    const remove = async (): Promise<void> => rmSync(directory, { recursive: true });
    return { url: `sqlite:${join(directory, 'records.db')}`, remove };
  }
  const url = new URL(cluster.url);
  await query(url.href, `create database chaos_${seed}`);
  url.pathname = `/chaos_${seed}`;
  url.searchParams.set('lock_timeout', '2000');
  return { url: url.href, remove: () => query(cluster.url, `drop database chaos_${seed} with (force)`) };
}

/** A start may fail while the database is gone, in words that an operator understands. */
const isFault = (end: string): boolean => end.includes('ended by itself') || /\n\s+at /.test(end);

/** No write without its entry in the log, and no entry without its write. */
async function logFault(database: Pick<TestDatabase, 'kind' | 'url'>): Promise<Violation | undefined> {
  const { folded, stored } = await foldedAndStored(database, loadModel(SCHEMA));
  return isDeepStrictEqual(folded, stored) ? undefined : { rule: 'the log does not lead to the tables', ops: [] };
}

interface Round {
  readonly compiled: Compiled;
  readonly cluster: Cluster | undefined;
  readonly seed: number;
  readonly seconds: number;
  readonly workers: string;
}

async function runRound({ compiled, cluster, seed, seconds, workers }: Round, history: History) {
  const database = await databaseFor(cluster, seed);
  const environment = {
    DATABASE_URL: database.url,
    SCHEMA_DIR: SCHEMA,
    // One process serves an SQLite file.
    WORKERS: cluster ? workers : '1',
  };
  const names = cluster ? ['A', 'B', 'C'] : ['A'];
  const instances = await Promise.all(names.map((name) => createInstance(compiled, name, environment)));
  try {
    await Promise.all(instances.map((instance) => instance.start()));
    const end = Date.now() + seconds * 1000;
    let isOver = false;
    const place: Place = { databaseUrl: database.url, instances, cluster, draw: randomOf(seed) };
    const wreaking = wreak(place, history, () => Date.now() > end).finally(() => (isOver = true));
    // Awaited below, after the clients.
    wreaking.catch(() => undefined);
    const serving = (): readonly Instance[] => {
      const up = instances.filter((instance) => instance.isUp);
      return up.length > 0 ? up : instances;
    };
    await runClients(history, serving, { seed, count: CLIENTS, isOver: () => isOver });
    await wreaking;
    const fault = instances.flatMap(({ ends }) => ends).find(isFault);
    if (fault !== undefined) return { rule: fault, ops: [] };
    return judge(history) ?? (await logFault({ kind: cluster ? 'postgres' : 'sqlite', ...database }));
  } finally {
    await Promise.all(instances.map((instance) => instance.end()));
    await database.remove();
  }
}

const described = ({ number, client, instance, title, write, from, to, answer }: Op): string =>
  `[${from}, ${to}] #${number} ${client} -> ${instance} ${title} ${JSON.stringify(write) ?? ''}\n` +
  `    ${answer === undefined ? 'no answer' : `${answer.status} ${answer.headers.etag ?? ''} ${answer.text.slice(0, 500)}`}`;

function report({ rule, ops }: Violation, history: History): string {
  const file = join(mkdtempSync(join(tmpdir(), 'chaos-history-')), 'history.txt');
  const faults = history.faults.map(({ at, what }) => ({ at, text: `==== [${at}] ${what}` }));
  const all = [...history.ops.map((op) => ({ at: op.from, text: described(op) })), ...faults];
  const sorted = all.toSorted((one, other) => one.at - other.at).map(({ text }) => `${text}\n`);
  writeFileSync(file, sorted.join(''));
  return [rule, ...ops.map(described), `The whole history: ${file}`].join('\n\n');
}

function summaryOf({ ops, faults }: History): string {
  const writes = ops.filter(({ write }) => write !== undefined);
  const outcomes = [...Map.groupBy(writes, outcomeOf)].map(([outcome, all]) => `${all.length} ${outcome}`);
  return `${ops.length} requests, ${faults.length} events; writes: ${outcomes.join(', ')}`;
}

async function main(): Promise<number> {
  const options = {
    seed: { type: 'string' },
    on: { type: 'string' },
    workers: { type: 'string', default: '1' },
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const { workers } = values;
  await buildAll();
  const compiled = openBuild();
  const cluster = values.on === 'sqlite' ? undefined : await startCluster();
  const places = values.on === 'sqlite' ? [undefined] : values.on === 'postgres' ? [cluster] : [cluster, undefined];
  const end = Date.now() + Number(positionals[0] ?? 5) * 60_000;
  try {
    for (let seed = Number(values.seed ?? Date.now() % 1_000_000); Date.now() < end; seed += 1)
      for (const one of places) {
        const seconds = Math.min(ROUND_SECONDS, Math.max(5, (end - Date.now()) / 1000));
        const history = new History();
        const violation = await runRound({ compiled, cluster: one, seed, seconds, workers }, history);
        console.log(`seed ${seed} on ${one ? 'postgres' : 'sqlite'}: ${summaryOf(history)}`);
        if (violation === undefined) continue;
        console.log(`\n${report(violation, history)}`);
        return 1;
      }
    return 0;
  } finally {
    await compiled.stop();
    await cluster?.remove();
  }
}

void main().then((code) => (process.exitCode = code));
