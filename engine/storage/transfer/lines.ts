/** The lines of an export: NDJSON that says nothing of the database that it came from. */
import type { JsonObject } from '../../json.ts';
import type { Fault } from '../../problem.ts';
import type { LineText } from './read-lines.ts';

export const FORMAT = 1;

/** The first line: what may be read by whom, and how many lines follow. */
export interface Head {
  readonly format: typeof FORMAT;
  readonly lines: number;
}

export interface RecordLine {
  readonly type: string;
  readonly identifier: number;
  readonly fields: JsonObject;
  /** By field: what is kept as JSON text, as the file has it. */
  readonly texts: ReadonlyMap<string, string>;
  /** Identifiers by the column that refers to them. */
  readonly references: Readonly<Record<string, number | null>>;
  /** Keys that no field names, as JSON text; only of open types. */
  readonly open?: string;
}

/** Two records that a manyToMany connects. */
export interface PairLine {
  readonly pair: string;
  readonly left: number;
  readonly right: number;
}

/** Identifiers up to this one were used. */
export interface SequenceLine {
  readonly sequence: string;
  readonly last: number;
}

/** A seed that was inserted, whatever became of it. */
export interface SeedLine {
  readonly seed: string;
  readonly identifier: number;
}

export type Line = RecordLine | PairLine | SequenceLine | SeedLine;

/** A line that was read, or what is wrong with it. */
export type CheckLine = (text: string) => { readonly line: Line } | { readonly faults: readonly Fault[] };

/** Opens the lines anew each time: a transaction may have to be repeated. */
export type Source = () => AsyncIterable<readonly LineText[]>;

/** What becomes of faults. */
export interface Faults {
  readonly count: number;
  /** How many more are wanted. */
  readonly room: number;
  /** Throws if no more are wanted. */
  add(line: number, fault: Fault): void;
  /** The import begins again. */
  restart(): void;
}

export type Progress = (done: number, all: number) => void;
