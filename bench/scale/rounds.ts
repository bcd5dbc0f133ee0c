/** Servers that differ in size alone, and the rounds in which each does the same work. */
import { type Contender, engine } from '../contenders.ts';
import { measure, type Measured, type Plan } from '../measure.ts';
import type { Progress } from '../report/progress.ts';
import type { Stage } from '../servers.ts';
import type { Work } from '../work.ts';
import type { Growth } from './growth.ts';

export interface Effort {
  readonly connections: number;
  readonly plan: Plan;
  readonly progress: Progress;
}

/** This engine, under the name of its size. */
export const engineWith = (size: number, of: string, schemaDirectory: string): Contender => ({
  ...engine,
  name: `${size.toLocaleString('en-US')} ${of}`,
  environment: { SCHEMA_DIR: schemaDirectory },
});

export async function growthsOf(
  works: readonly Work[],
  { servers, driver }: Stage,
  effort: Effort,
): Promise<readonly Growth[]> {
  const all: Growth[] = [];
  for (const work of works) {
    const measured = await measure(servers, { ...effort, work, driver });
    const values = servers.map(({ contender: { name } }) => costOf(name, measured));
    all.push({ name: work.name, unit: 'µs', values });
  }
  return all;
}

const costOf = (name: string, measured: readonly Measured[]): number =>
  measured.find(({ contender }) => contender === name)?.cpu.median ?? Number.NaN;

/** Steps of the bar. */
export const roundsOf = (works: readonly Work[], sizes: readonly number[], { rounds }: Plan): number =>
  works.length * sizes.length * (rounds + 1);
