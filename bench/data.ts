import type { CpuTimes } from './cpu.ts';

/** What a contender serves: a database that nobody else uses, filled before it is started. */
export interface Data {
  /** As DATABASE_URL says it. */
  readonly url: string;
  /** Of items, and of purchases. */
  readonly rows: number;
  /** Record types, where there are many of the same kind. */
  readonly types?: number;
  /** Puts items in while it is being served, for what is to be deleted, and answers the first identifier. */
  addItems(count: number): Promise<number>;
  /** Of the database's own processes; undefined if there are none that can be seen from here. */
  readonly cpu?: (() => CpuTimes) | undefined;
}

/** A database that the contenders get copies of. */
export interface Original {
  copy(name: string): Promise<Data>;
  /** Copies included. Nobody may use them any more. */
  remove(): Promise<void>;
}
