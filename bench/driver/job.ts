/** What the driver is asked to do, and what it answers; both travel between processes. */
import type { DialectName } from '../dialects.ts';
import type { World } from '../work.ts';

export interface Job {
  readonly url: string;
  readonly dialect: DialectName;
  /** The name of the work. */
  readonly work: string;
  readonly world: World;
  readonly connections: number;
  /** The requests `first` to `first + amount - 1`, shared out among the connections. */
  readonly first: number;
  readonly amount: number;
}

export interface Outcome {
  readonly seconds: number;
  /** Answers that were not as asked for, connections that broke, and answers that did not come. */
  readonly failures: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}
