/** What the own values of a record are after a write to the reference model. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field, RecordType } from '../../model/model.ts';
import { entriesOf, raw, rawText, writeJson } from '../json-tree.ts';
import { mergePatch } from './merge-patch.ts';
import { putRow, type Row, type World } from './world.ts';

/** What a field holds: some keep the text of a value. */
export const kept = (field: Field, value: JsonValue): JsonValue =>
  field.type.keepsText && value !== null ? raw(writeJson(value)) : value;

/** What a new record holds where the body says nothing. */
export const defaultOf = (field: Field): JsonValue =>
  field.type.keepsText && field.defaultText !== undefined ? raw(field.defaultText) : kept(field, field.default ?? null);

/** The value that there is after it was written; merge patches reach into texts. */
export function written(stored: JsonValue, given: JsonValue, patch: boolean): JsonValue {
  const text = rawText(given);
  return patch && text !== undefined ? raw(mergePatch(rawText(stored), text)) : given;
}

/** The same for an open key; undefined where it is to go. */
export function writtenOpen(stored: JsonValue | undefined, given: JsonValue, patch: boolean): JsonValue | undefined {
  const value = raw(writeJson(given));
  return patch && rawText(value) === 'null' ? undefined : written(stored ?? null, value, patch);
}

function same(a: Row, b: Row): boolean {
  return (
    [...b.values].every(([field, value]) => isDeepStrictEqual(a.values.get(field), value)) &&
    isDeepStrictEqual([...a.open], [...b.open])
  );
}

/** Writes the own values of a record; the row stays the same object where nothing differs. `before`: what patches change. */
export function writeValues(
  world: World,
  type: RecordType,
  row: Row,
  before: Row,
  body: JsonObject,
  patch: boolean,
): void {
  const values = new Map(row.values);
  const open = new Map(row.open);
  for (const [key, given] of entriesOf(body)) {
    const field = type.fields.get(key);
    if (field?.readOnly || type.relations.has(key) || key === type.identifier.name) continue;
    if (field) values.set(field, written(before.values.get(field) ?? null, kept(field, given), patch));
    else {
      const value = writtenOpen(before.open.get(key), given, patch);
      if (value === undefined) open.delete(key);
      else open.set(key, value);
    }
  }
  const next = { ...row, values, open };
  if (!same(row, next)) putRow(world, type, next);
}
