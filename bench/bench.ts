/** `npm run bench`: what a request costs this engine, beside a server written by hand with Fastify for the same tables. */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cautions, chooseCores } from './cores.ts';
import { postgresData, sqliteData } from './data.ts';
import { type Figures, measure, startDriver, startServer } from './measure.ts';
import { NODE_OPTIONS } from './node-options.ts';
import { work } from './work.ts';

const USAGE = `npm run bench -- [options]
  --database sqlite|postgres   sqlite by default; postgres needs TEST_POSTGRES_URL (.ci/postgres with npm run bench …)
  --work NAME,NAME             ${work.map(({ name }) => name).join(', ')}; all by default
  --connections N              16 by default
  --rows N                     10000 by default
  --rounds N                   9 by default
  --seconds N                  of a round; 0.5 by default
  --schema FOLDER              schema by default: content images and shipping markups
  --json                       all figures, for programs`;

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    work: { type: 'string', default: work.map(({ name }) => name).join() },
    connections: { type: 'string', default: '16' },
    rows: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '0.5' },
    schema: { type: 'string', default: 'schema' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) return console.log(USAGE);
  const [rows, connections, rounds, seconds] = [values.rows, values.connections, values.rounds, values.seconds].map(
    Number,
  ) as [number, number, number, number];
  const names = values.work.split(',');
  const wanted = work.filter(({ name }) => names.includes(name));
  const isPostgres = values.database === 'postgres';
  if (wanted.length < names.length || (!isPostgres && values.database !== 'sqlite')) throw new Error(USAGE);
  if (isPostgres && !process.env['TEST_POSTGRES_URL']) throw new Error(USAGE);

  const cores = chooseCores();
  const notes = cautions(cores);
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const data = await (isPostgres ? postgresData(values.schema, rows) : sqliteData(folder, values.schema, rows));
  const stops: (() => void | Promise<void>)[] = [data.remove, () => rmSync(folder, { recursive: true })];
  try {
    const engine = [...NODE_OPTIONS, join(__dirname, '../server.js')];
    const byHand = [join(__dirname, 'hand', `${values.database}.js`)];
    const servers = [
      await startServer(
        'engine',
        engine,
        { DATABASE_URL: await data.copy('engine'), SCHEMA_DIR: values.schema, RATE_LIMIT: 'off' },
        cores,
      ),
      await startServer('fastify', byHand, { DATABASE_URL: await data.copy('fastify') }, cores),
    ];
    const driver = startDriver(cores);
    stops.unshift(...servers.map(({ stop }) => stop), driver.stop);
    const results = new Map<string, ReadonlyMap<string, Figures>>();
    for (const one of wanted) {
      process.stderr.write(`${one.name}\n`);
      results.set(one.name, await measure(servers, one, { rows, connections, rounds, seconds }, driver));
    }
    print(results, notes);
  } finally {
    for (const stop of stops) await stop();
  }
}

function print(results: ReadonlyMap<string, ReadonlyMap<string, Figures>>, notes: readonly string[]): void {
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`;
  const about = `${values.database}, ${values.connections} connections, ${values.rows} rows`;
  if (values.json) {
    const figures = Object.fromEntries([...results].map(([name, found]) => [name, Object.fromEntries(found)]));
    console.log(JSON.stringify({ machine, about, notes, figures }, undefined, 2));
    return;
  }
  const lines = [...results].map(([name, found]) => {
    const [ours, theirs] = [found.get('engine'), found.get('fastify')];
    if (ours === undefined || theirs === undefined) throw new Error(`${name} was not measured`);
    const shown = [
      [ours.cpu, theirs.cpu].map((cpu) => cpu.toFixed(1)).join(', '),
      (theirs.cpu / ours.cpu).toFixed(2),
      (theirs.leastCpu / ours.leastCpu).toFixed(2),
      [ours.rate, theirs.rate].map((rate) => rate.toFixed(0)).join(', '),
      [ours.p99, theirs.p99].map((p99) => p99.toFixed(1)).join(', '),
    ];
    return `| ${[name, ...shown].join(' | ')} |`;
  });
  console.log(
    [
      `${machine}; ${about}`,
      ...notes,
      '',
      '| work | CPU us: engine, Fastify | ratio | of the cheapest rounds | requests/s | p99 ms |',
      '| --- | ---: | ---: | ---: | ---: | ---: |',
      ...lines,
    ].join('\n'),
  );
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
});
