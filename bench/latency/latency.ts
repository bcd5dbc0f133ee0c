/** `bench -- latency`: how long a record is waited for while the server is alone, and while it has much else to do. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { contenders, type Contender, SCHEMA } from '../contenders.ts';
import { chooseCores, type Cores } from '../cores.ts';
import { copyDatabase, createDatabase } from '../database.ts';
import { dialects } from '../dialects.ts';
import { type Assistant, startAssistant } from '../driver/assistant.ts';
import { startDriver } from '../driver/driver.ts';
import { type Options, UsageError } from '../options.ts';
import { type Running, start } from '../process.ts';
import { createProgress, type Progress } from '../report/progress.ts';
import type { Report } from '../report/report.ts';
import { inFolder } from '../servers.ts';
import type { Probing } from './probe.ts';
import { latencies } from './report.ts';
import { type Crowd, type Situation, situations } from './situations.ts';
import type { Waited, Waits } from './waits.ts';

/** Requests in a second: few, so that what they cost themselves is no load. */
const RATE = 250;
/** The driver's processes that are load give way to the one that measures. */
const NICENESS = 10;
/** Until the load is there, if so much time is given. */
const AHEAD_SECONDS = 1;

type Probe = Assistant<Probing, Waits>;

interface Scene {
  readonly rows: number;
  readonly seconds: number;
  readonly probe: Probe;
  readonly crowd: Crowd;
  readonly progress: Progress;
}

const placements = (cores: Cores): readonly { readonly name: string; readonly cores: readonly number[] }[] => [
  { name: 'one core', cores: [cores.server] },
  ...(cores.all.length > 1 ? [{ name: 'all cores', cores: cores.all }] : []),
];

const suits = ({ dialect }: Contender, { streams }: Situation): boolean => !streams || dialects[dialect].streams;

export async function latency(options: Options): Promise<Report> {
  const cores = chooseCores();
  const {
    rows: [rows = 0],
    seconds,
  } = options;
  const chosen = contenders.filter(({ name }) => options.contenders.includes(name));
  const elsewhere = chosen.find(({ database }) => database !== 'sqlite');
  if (elsewhere) throw new UsageError(`latency is measured on SQLite alone, and ${elsewhere.name} is not on it`);
  const offered = chosen.flatMap((contender) => situations.filter((situation) => suits(contender, situation)));
  const places = placements(cores);
  const progress = createProgress(offered.length * places.length);
  const waited = await inFolder(async (folder) => {
    const original = join(folder, 'original.db');
    await createDatabase(original, rows, SCHEMA, 0);
    return withAssistants(cores, async (probe, crowd) => {
      const scene = { rows, seconds, probe, crowd, progress };
      const all: Waited[] = [];
      for (const contender of chosen)
        for (const place of places) {
          const data = copyDatabase(original, join(folder, `${contender.name}, ${place.name}.db`), rows);
          const server = await start(contender, data, place.cores);
          all.push(...(await waits(server, place.name, scene)));
        }
      return all;
    });
  });
  progress.end();
  return latencies(waited, rows, RATE);
}

async function withAssistants<T>(cores: Cores, use: (probe: Probe, crowd: Crowd) => Promise<T>): Promise<T> {
  const probe: Probe = startAssistant(join(__dirname, 'probe.js'), cores.driver);
  const reader: Crowd['reader'] = startAssistant(join(__dirname, '../driver/list-reader.js'), cores.driver, NICENESS);
  const driver = startDriver(cores.driver, NICENESS);
  try {
    return await use(probe, { reader, driver });
  } finally {
    await Promise.all([probe.stop(), reader.stop(), driver.stop()]);
  }
}

/** One situation after the other; the server ends with the last. */
async function waits(server: Running, cores: string, scene: Scene): Promise<readonly Waited[]> {
  const { contender } = server;
  const ahead = Math.min(AHEAD_SECONDS, scene.seconds);
  const all: Waited[] = [];
  try {
    await probed(server, scene, ahead);
    for (const situation of situations.filter((one) => suits(contender, one))) {
      const busy = situation.run(server, scene.crowd, scene.seconds + 2 * ahead);
      await sleep(ahead * 1000);
      const [found, beside] = await Promise.all([probed(server, scene, scene.seconds), busy]);
      all.push({ contender: contender.name, cores, situation: situation.name, beside, ...found });
      scene.progress.step(`${contender.name}, ${cores}, ${situation.name}`);
    }
    return all;
  } finally {
    await server.stop();
  }
}

const probed = ({ contender, url }: Running, { rows, probe }: Scene, seconds: number): Promise<Waits> =>
  probe.ask({ url: `${url}${dialects[contender.dialect].path('items')}`, rows, rate: RATE, seconds });
