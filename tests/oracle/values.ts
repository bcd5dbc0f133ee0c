/** The own values of records: which are accepted, what they are after a write, what the service fills in. */
import { isDeepStrictEqual } from 'node:util';
import type { ItemShape } from '../../engine/field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import type { Field, RecordType } from '../../engine/model/model.ts';
import { badValues as refused } from '../../engine/suite/samples.ts';
import type { BodyPath } from './mentions.ts';
import { Unreachable } from './refusal.ts';
import {
  entriesOf,
  raw,
  rawText,
  readJson,
  reference,
  referenceName,
  timeNumber,
  type Tree,
  writeJson,
} from './template.ts';
import { asCompared, isIdentifierKey, putRow, type RecordRow, rowOf, sameRow, type World } from './world.ts';

type ValueShape = Omit<ItemShape, 'description'>;

/** Rejected values, null apart: of the field, and arrays that end in a rejected item. */
export function badValues(field: ValueShape): readonly JsonValue[] {
  const item = field.type.item?.(field);
  return [...refused(field), ...(item ? withBadItem(field, item) : [])];
}

function withBadItem(field: ValueShape, item: ValueShape): readonly JsonValue[] {
  const good = field.type.edges(field).find((edge) => Array.isArray(edge) && edge.length > 0);
  if (!Array.isArray(good)) return [];
  const before: readonly JsonValue[] = good.slice(0, -1);
  return [...badValues(item), ...(item.nullable ? [] : [null])].map((bad) => [...before, bad]);
}

const refusedTexts = new WeakMap<ValueShape, ReadonlySet<string>>();

/** The samples of field types say which values are refused, and where: whatever is not among them is accepted. */
export function refusedAt(field: ValueShape, value: JsonValue): readonly BodyPath[] {
  if (value === null) return field.nullable ? [] : [[]];
  const texts = refusedTexts.get(field) ?? new Set(refused(field).map((bad) => JSON.stringify(bad)));
  refusedTexts.set(field, texts);
  if (texts.has(JSON.stringify(value))) return [[]];
  const item = Array.isArray(value) ? field.type.item?.(field) : undefined;
  if (item === undefined) return [];
  return (value as readonly JsonValue[]).flatMap((one, index) => refusedAt(item, one).map((path) => [index, ...path]));
}

function kept({ type }: Field, value: JsonValue): JsonValue {
  if (value === null || referenceName(value) !== undefined) return value;
  return type.keepsText ? raw(writeJson(value)) : (type.canonical?.(value) ?? value);
}

/** The one text of a value: two places of a body that differ in it contradict each other. */
export function writtenAs({ fields }: RecordType, key: string, value: JsonValue): string {
  const field = fields.get(key);
  return writeJson(field ? kept(field, value) : value);
}

export const defaultOf = (field: Field): JsonValue => kept(field, field.default ?? null);

/** RFC 7396, written from its pseudocode, on texts: what a patch does not name stays as it is written. */
export function mergePatch(target: string | undefined, patch: string): string {
  const read = readJson(patch);
  if (read === undefined) throw new Error(`not JSON: ${patch}`);
  return merged(target === undefined ? undefined : readJson(target), read);
}

function merged(target: Tree | undefined, patch: Tree): string {
  if (!patch.members) return patch.text;
  const texts = new Map([...(target?.members ?? [])].map(([key, { name = '', text }]) => [key, [name, text] as const]));
  for (const [key, member] of patch.members) {
    if (member.text === 'null') texts.delete(key);
    else texts.set(key, [texts.get(key)?.[0] ?? member.name ?? '', merged(target?.members?.get(key), member)]);
  }
  return `{${[...texts.values()].map(([name, text]) => `${name}:${text}`).join(',')}}`;
}

/** The value that there is after it was written; merge patches reach into texts. */
function written(stored: JsonValue, given: JsonValue, patch: boolean): JsonValue {
  const text = rawText(given);
  return patch && text !== undefined ? raw(mergePatch(rawText(stored), text)) : given;
}

function writtenOpen(stored: JsonValue | undefined, given: JsonValue, patch: boolean): JsonValue | undefined {
  const value = raw(writeJson(given));
  return patch && rawText(value) === 'null' ? undefined : written(stored ?? null, value, patch);
}

/** Texts of one value, as far as JSON.parse tells them apart. */
function sameText(stored: JsonValue | undefined, given: JsonValue | undefined): boolean {
  if (stored === undefined || given === undefined) return stored === given;
  const [before, now] = [stored, given].map((value) => JSON.parse(writeJson(value)) as JsonValue);
  return isDeepStrictEqual(before, now);
}

function sameValue(field: Field, stored: JsonValue, given: JsonValue): boolean {
  if (stored === null || given === null) return stored === given;
  if (isDeepStrictEqual(stored, given)) return true;
  return field.type.keepsText ? sameText(stored, given) : field.type.equal(stored, given);
}

/** Whether a body leaves what a key holds as it is. `row`: undefined for a record that is to be made. */
export function isUnchanged(
  type: RecordType,
  row: RecordRow | undefined,
  key: string,
  given: JsonValue,
  patch: boolean,
): boolean {
  const field = type.fields.get(key);
  if (field === undefined) {
    const stored = row?.open.get(key);
    // A patch that would take nulls away says what is there, too.
    return sameText(stored, given) || sameText(stored, writtenOpen(stored, given, patch));
  }
  if (field.generated !== undefined) return true;
  // The time of a request that is yet to come is none that a body can hold.
  if (!row && field.isNowByDefault) return false;
  const stored = row ? (row.values.get(field) ?? null) : defaultOf(field);
  const text = kept(field, given);
  return sameValue(field, stored, text) || sameValue(field, stored, written(stored, text, patch));
}

/** The own keys of a body: neither relations nor the identifier. */
export const ownEntries = (type: RecordType, body: JsonObject) =>
  entriesOf(body).filter(([key]) => !type.relations.has(key) && !isIdentifierKey(type, key));

/** A row with the own values of a body. `before`: what patches change. */
export function withValues(
  type: RecordType,
  row: RecordRow,
  before: RecordRow,
  body: JsonObject,
  patch: boolean,
): RecordRow {
  const values = new Map(row.values);
  const open = new Map(row.open);
  for (const [key, given] of ownEntries(type, body)) {
    const field = type.fields.get(key);
    if (field && (field.readOnly || field.generated !== undefined)) continue;
    const value = field
      ? written(before.values.get(field) ?? null, kept(field, given), patch)
      : writtenOpen(before.open.get(key), given, patch);
    if (field) values.set(field, value ?? null);
    else if (value === undefined) open.delete(key);
    else open.set(key, value);
  }
  const same =
    [...values].every(([field, value]) => isDeepStrictEqual(row.values.get(field), value)) &&
    isDeepStrictEqual([...row.open], [...open]);
  return same ? row : { ...row, values, open };
}

// Stamps, as far as they can be known: variables for times, and one for the name of the token.

export const newTime = ({ stamps }: World): number => (stamps.count += 1);

const AUTHOR = reference('author');

export const isTime = (value: JsonValue): boolean => timeNumber(value) !== undefined;

/** Of a request that is yet to come. */
export const SOME_TIME = reference('time 0');

const BY_NAME: ReadonlySet<unknown> = new Set(['createdBy', 'updatedBy']);
const WITH_CHANGES: ReadonlySet<unknown> = new Set(['updatedAt', 'updatedBy']);

const changedFields = ({ fields }: RecordType): readonly Field[] =>
  [...fields.values()].filter(({ generated }) => WITH_CHANGES.has(generated));

function stampOf({ generated, type }: Field, time: number): JsonObject {
  if (BY_NAME.has(generated)) return AUTHOR;
  return reference(`${type.now?.(new Date(0)).includes('T') === true ? 'time' : 'day'} ${time}`);
}

export const newValue = (field: Field, time: number): JsonValue =>
  field.generated === undefined && !field.isNowByDefault ? defaultOf(field) : stampOf(field, time);

/** Stamps the records that were there before and are not as they were. */
export function stampChanged(world: World, before: World, time: number): void {
  for (const [type, rows] of world.rows) {
    const stamps = changedFields(type).map((field) => [field, stampOf(field, time)] as const);
    for (const row of stamps.length > 0 ? [...rows.values()] : []) {
      const old = rowOf(before, type, row.id);
      if (old && !sameRow(old, row)) putRow(world, type, { ...row, values: new Map([...row.values, ...stamps]) });
    }
  }
}

/** Samples with a time are before this one, or far behind it; suites are replayed between. */
const FROM = new Date(Date.UTC(2026, 0, 1));
const UNTIL = new Date(Date.UTC(9000, 0, 1));

/** Who writes may have no name: then the value is null. */
export function requireKnown(field: Field, ...values: readonly JsonValue[]): void {
  const names = values.map(referenceName);
  if (names.includes('author') && (names.length === 1 || names[0] !== names[1])) throw unknown(field);
}

export interface ValueOrder {
  readonly order: number;
  /** False if both may as well be the same. */
  readonly isSure: boolean;
}

/** Compares two values of a field, neither of them null, of which some may only be known to the service. */
export function compareValues(field: Field, a: JsonValue, b: JsonValue): ValueOrder {
  const [first, second] = [timeNumber(a), timeNumber(b)];
  if (first !== undefined && second !== undefined) {
    return { order: Math.sign(first - second), isSure: first === second };
  }
  if (first !== undefined) return { order: -sideOf(field, b), isSure: true };
  if (second !== undefined) return { order: sideOf(field, a), isSure: true };
  return { order: field.type.compare(asCompared(field, a), asCompared(field, b)), isSure: true };
}

function sideOf({ type, ...field }: Field, value: JsonValue): number {
  const [from, until] = [FROM, UNTIL].map((time) => type.now?.(time) ?? '');
  if (type.compare(value, from ?? '') < 0) return -1;
  if (type.compare(value, until ?? '') > 0) return 1;
  throw unknown(field);
}

const unknown = ({ name }: Pick<Field, 'name'>): Unreachable =>
  new Unreachable(`only the service knows what "${name}" holds`);
