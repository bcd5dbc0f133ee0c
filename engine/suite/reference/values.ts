/** What the own values of a record are after a write to the reference model. */
import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, type JsonValue, pointer } from '../../json.ts';
import type { Field, RecordType } from '../../model/model.ts';
import { entriesOf, raw, rawText, writeJson } from '../json-tree.ts';
import { mergePatch } from './merge-patch.ts';
import { Refusal } from './refusal.ts';
import { type Id, putRow, type Row, type World } from './world.ts';

export type Path = readonly (string | number)[];

/** One request: the world it writes to, and what the body says of each record it holds. */
export interface Run {
  readonly world: World;
  readonly patch: boolean;
  /** For each record and key: the value that the body gives it, and where. */
  readonly said: Map<string, { readonly value: JsonValue; readonly at: string }>;
  /** What is linked, after everything else was unlinked: what one part of a body wants, no other lets go. */
  readonly links: (() => void)[];
  /** Checks that need every other write to be done. */
  readonly touched: { readonly type: RecordType; readonly id: Id }[];
}

/** Keys of a record in a body, by what they stand for. */
export function parts(type: RecordType, body: JsonObject) {
  const entries = entriesOf(body).filter(([key]) => key !== type.identifier.name);
  return {
    values: entries.flatMap(([key, value]) =>
      optional(type.fields.get(key), (field) => ({ field, value: kept(field, value) })),
    ),
    relations: entries.flatMap(([key, value]) =>
      optional(type.relations.get(key), (relation) => ({ relation, value })),
    ),
    open: entries
      .filter(([key]) => !type.fields.has(key) && !type.relations.has(key))
      .map(([key, value]) => [key, raw(writeJson(value))] as const),
  };
}

/** What a field holds: some keep the text of a value. */
export const kept = (field: Field, value: JsonValue): JsonValue =>
  field.type.keepsText && value !== null ? raw(writeJson(value)) : value;

const optional = <T, R>(value: T | undefined, make: (value: T) => R): R[] => (value === undefined ? [] : [make(value)]);

/** One record may stand in a body twice, but only with one value for each key. */
export function say(run: Run, type: RecordType, id: Id, key: string, value: JsonValue, at: string): void {
  const name = JSON.stringify([type.name, id, key]);
  const before = run.said.get(name);
  if (before && !isDeepStrictEqual(before.value, value)) {
    throw new Refusal('invalid-body', [before.at, at], `two values for ${key} of ${type.name} ${id}`);
  }
  run.said.set(name, { value, at });
}

/** The value that a field has after it was written; merge patches reach into texts. */
function written(run: Run, stored: JsonValue, given: JsonValue): JsonValue {
  const text = rawText(given);
  return run.patch && text !== undefined ? raw(mergePatch(rawText(stored), text)) : given;
}

function writtenOpen(run: Run, stored: Row['open'], entries: readonly (readonly [string, JsonValue])[]): Row['open'] {
  const open = new Map(stored);
  for (const [key, value] of entries) {
    if (run.patch && rawText(value) === 'null') open.delete(key);
    else open.set(key, written(run, open.get(key) ?? null, value));
  }
  return open;
}

function same(a: Row, b: Row): boolean {
  return (
    [...b.values].every(([field, value]) => isDeepStrictEqual(a.values.get(field), value)) &&
    isDeepStrictEqual([...a.open], [...b.open])
  );
}

/** Writes the own values of a record; the row stays the same object where nothing differs. */
export function writeValues(run: Run, type: RecordType, row: Row, body: JsonObject, at: Path): void {
  const { values, open } = parts(type, body);
  const after = new Map(row.values);
  for (const { field, value } of values) {
    after.set(field, written(run, row.values.get(field) ?? null, value));
    say(run, type, row.id, field.name, value, pointer([...at, field.name]));
  }
  for (const [key, value] of open) say(run, type, row.id, `open ${key}`, value, pointer([...at, key]));
  const next = { ...row, values: after, open: writtenOpen(run, row.open, open) };
  if (!same(row, next)) putRow(run.world, type, next);
}
