/** How long a start takes, until it is said where the server listens. */
import type { Plan } from '../measure.ts';
import type { Running } from '../process.ts';
import { median } from '../statistics.ts';
import type { Growth } from './growth.ts';

/** What a start took, in seconds. */
export interface Start {
  readonly wait: number;
  /** Says what a busy machine does not distort. */
  readonly cpu: number;
}

/** They take long; the median counts. */
export const startsOf = ({ rounds }: Plan): number => Math.min(3, rounds);

export const startGrowths = (name: string, starts: readonly Start[]): readonly Growth[] => [
  { name, unit: 's', values: starts.map(({ wait }) => wait) },
  { name: `${name}, CPU`, unit: 's', values: starts.map(({ cpu }) => cpu) },
];

export async function startTimes(starts: number, begin: (attempt: number) => Promise<Running>): Promise<Start> {
  const all: Start[] = [];
  for (let attempt = 0; attempt < starts; attempt += 1) {
    const server = await begin(attempt);
    all.push({ wait: server.startTime / 1000, cpu: server.cpu() / 1_000_000 });
    await server.stop();
  }
  return { wait: median(all.map(({ wait }) => wait)), cpu: median(all.map(({ cpu }) => cpu)) };
}
