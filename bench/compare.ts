/** `bench`: each work, by each contender, with each number of connections. */
import { contenders } from './contenders.ts';
import type { Cores } from './cores.ts';
import { type Measured, measure, offers } from './measure.ts';
import type { Options } from './options.ts';
import { createProgress } from './report/progress.ts';
import { onStage } from './servers.ts';
import { work } from './work.ts';

export async function compare(options: Options, cores: Cores): Promise<readonly Measured[]> {
  const { connections: counts, rounds, seconds } = options;
  const [rows = 0] = options.rows;
  const chosen = contenders.filter(({ name }) => options.contenders.includes(name));
  const wanted = work.filter(({ name }) => options.work.includes(name));
  const lanes = wanted.flatMap((one) => chosen.filter((contender) => offers(contender, one)));
  const progress = createProgress(lanes.length * counts.length * (rounds + 1));
  return onStage(chosen, rows, cores, async ({ servers, driver }) => {
    const measured: Measured[] = [];
    for (const one of wanted)
      for (const connections of counts) {
        const setting = { work: one, connections, plan: { rounds, seconds }, driver, progress };
        measured.push(...(await measure(servers, setting)));
      }
    progress.end();
    return measured;
  });
}
