/** The lines of an export: NDJSON that says nothing of the database that it came from. */
import type { JsonObject, JsonValue } from '../../json.ts';

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

export const textOf = (line: Line | Head): string => JSON.stringify(line);

export type Progress = (done: number, all: number) => void;

export const isNumber = (value: JsonValue | undefined): value is number => typeof value === 'number';
