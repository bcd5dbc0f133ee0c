/**
 * `npm run test:chaos -- [MINUTES] [--seed N] [--on sqlite|postgres] [--deeds kill,freeze] [--workers 2]`: rounds of
 * chaos, each with a seed of its own, until the time is over or a promise is broken. `--workers`: of each instance on
 * PostgreSQL.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import buildAll from '../support/build.setup.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { openBuild } from '../support/compiled.ts';
import { DEEDS, type DeedName } from './faults.ts';
import { describeOp, type History, type Violation } from './history.ts';
import { runRound } from './round.ts';

/** Long enough for a dozen faults, short enough for the history to be judged at once. */
const ROUND_SECONDS = 20;
/** Events around the requests of a violation. */
const CONTEXT = 40;

function report({ rule, ops }: Violation, history: History): string {
  const all = [...new Set(ops)].toSorted((one, other) => one.number - other.number);
  const from = Math.min(...all.map((op) => op.from)) - CONTEXT;
  const to = Math.max(...all.map((op) => (op.to === Infinity ? op.from : op.to))) + CONTEXT;
  const faults = history.faults.filter(({ at }) => at >= from && at <= to).map(({ at, what }) => `  [${at}] ${what}`);
  const file = join(mkdtempSync(join(tmpdir(), 'chaos-history-')), 'history.txt');
  const lines = [
    ...history.ops.map((op) => ({ at: op.from, text: describeOp(op) })),
    ...history.faults.map(({ at, what }) => ({ at, text: `==== [${at}] ${what}` })),
  ];
  writeFileSync(
    file,
    lines
      .toSorted((one, other) => one.at - other.at)
      .map(({ text }) => `${text}\n`)
      .join(''),
  );
  return [rule, '', ...all.map(describeOp), '', 'Meanwhile:', ...faults, '', `The whole history: ${file}`].join('\n');
}

async function clusterIfAny(): Promise<Cluster | undefined> {
  try {
    return await startCluster();
  } catch (error) {
    if (!String(error).includes('PostgreSQL is missing')) throw error;
    console.log('PostgreSQL is missing; this runs on SQLite alone. To install it: .ci/install postgresql');
    return undefined;
  }
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      seed: { type: 'string' },
      on: { type: 'string' },
      deeds: { type: 'string' },
      workers: { type: 'string', default: '1' },
    },
    allowPositionals: true,
  });
  const deeds = (values.deeds?.split(',') as DeedName[] | undefined) ?? DEEDS;
  const workers = Number(values.workers);
  await buildAll();
  const compiled = openBuild();
  const cluster = values.on === 'sqlite' ? undefined : await clusterIfAny();
  // Not before: on a busy machine, no time would be left.
  const end = Date.now() + Number(positionals[0] ?? 5) * 60_000;
  try {
    for (let seed = Number(values.seed ?? Date.now() % 1_000_000); Date.now() < end; seed += 1)
      for (const on of values.on === 'postgres' || cluster === undefined ? [cluster] : [cluster, undefined]) {
        const seconds = Math.min(ROUND_SECONDS, Math.max(5, (end - Date.now()) / 1000));
        const { history, violation, summary } = await runRound({
          compiled,
          cluster: on,
          seed,
          seconds,
          deeds,
          workers,
        });
        const kind = on === undefined ? 'sqlite' : `postgres, ${workers === 1 ? '1 worker' : `${workers} workers`}`;
        console.log(`seed ${seed} on ${kind}: ${summary}`);
        if (violation === undefined) continue;
        console.log(`\nseed ${seed} on ${kind}: ${report(violation, history)}`);
        return 1;
      }
    return 0;
  } finally {
    await compiled.stop();
    await cluster?.remove();
  }
}

void main().then((code) => (process.exitCode = code));
