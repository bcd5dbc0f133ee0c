/** What the service fills in by itself, as far as it can be known: variables for times, and one for the name of the token. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { Field, RecordType } from '../model/model.ts';
import { Unreachable } from './refusal.ts';
import { reference, referenceName, timeNumber } from './template.ts';
import { defaultOf } from './values.ts';
import { asCompared, isUnknown, putRow, type RecordRow, rowOf, sameRow, type World } from './world.ts';

/** Bodies can set it, to another value than the service would. */
export const isSettable = ({ readOnly, generated }: Field): boolean => !readOnly && generated === undefined;

/** The time of a request: later than all of those before, or the same. */
export const newTime = ({ stamps }: World): number => (stamps.count += 1);

/** From here on, a time is later than each of those before. */
export const timePasses = ({ stamps }: World): void => void (stamps.passed = stamps.count);

const AUTHOR = reference('author');

/** Whether a value is the time of some request. */
export const isTime = (value: JsonValue): boolean => timeNumber(value) !== undefined;

/** Of a request that is yet to come. */
export const SOME_TIME = reference('time 0');

const BY_NAME: ReadonlySet<unknown> = new Set(['createdBy', 'updatedBy']);
const WITH_CHANGES: ReadonlySet<unknown> = new Set(['updatedAt', 'updatedBy']);

const changedFields = ({ fields }: RecordType): readonly Field[] =>
  [...fields.values()].filter(({ generated }) => WITH_CHANGES.has(generated));

/** Whether changes of a record show in it. */
export const isStamped = (type: RecordType): boolean => changedFields(type).length > 0;

/** `before`: what it replaces. It must differ from that where time has passed. */
function stampOf({ stamps }: World, { generated, type }: Field, time: number, before?: JsonValue): JsonObject {
  if (BY_NAME.has(generated)) return AUTHOR;
  const kind = type.now?.(new Date(0)).includes('T') === true ? 'time' : 'day';
  const last = timeNumber(before);
  const differs = kind === 'time' && last !== undefined && last <= stamps.passed;
  return { ...reference(`${kind} ${time}`), ...(differs ? { $not: `${kind} ${last}` } : {}) };
}

/** What a new record holds where its body says nothing. */
export const newValue = (world: World, field: Field, time: number): JsonValue =>
  field.generated === undefined && !field.isNowByDefault ? defaultOf(field) : stampOf(world, field, time);

/** Stamps the records that were there before and are not as they were. */
export function stampChanged(world: World, before: World, time: number): void {
  for (const [type, rows] of world.rows) {
    const fields = changedFields(type);
    for (const row of fields.length > 0 ? [...rows.values()] : []) {
      const old = rowOf(before, type, row.id);
      if (old && !sameRow(old, row)) putRow(world, type, stamped(world, type, { old, row }, fields, time));
    }
  }
}

function stamped(
  world: World,
  { name }: RecordType,
  { old, row }: { readonly old: RecordRow; readonly row: RecordRow },
  fields: readonly Field[],
  time: number,
): RecordRow {
  // Whether an adopted record changes depends on what it held.
  const isOpen = row.adopted === true && isUnknown(old, row);
  const values = new Map(row.values);
  for (const field of fields)
    values.set(
      field,
      isOpen
        ? reference(`${name} ${row.id} ${field.name} ${time}`.replaceAll(':', ' '))
        : stampOf(world, field, time, row.values.get(field)),
    );
  return { ...row, values };
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
export function compareValues(world: World, field: Field, a: JsonValue, b: JsonValue): ValueOrder {
  const [first, second] = [timeNumber(a), timeNumber(b)];
  if (first !== undefined && second !== undefined) {
    const hasPassed = Math.min(first, second) <= world.stamps.passed && Math.max(first, second) > world.stamps.passed;
    return {
      order: Math.sign(first - second),
      isSure: first === second || (hasPassed && referenceName(a)?.startsWith('time') === true),
    };
  }
  if (first !== undefined) return { order: -sideOf(field, b), isSure: true };
  if (second !== undefined) return { order: sideOf(field, a), isSure: true };
  return { order: field.type.compare(asCompared(field, a), asCompared(field, b)), isSure: true };
}

/** Before any time at which the suite is replayed, or after it. */
function sideOf({ type, ...field }: Field, value: JsonValue): number {
  const [from, until] = [FROM, UNTIL].map((time) => type.now?.(time) ?? '');
  if (type.compare(value, from ?? '') < 0) return -1;
  if (type.compare(value, until ?? '') > 0) return 1;
  throw unknown(field);
}

const unknown = ({ name }: Pick<Field, 'name'>): Unreachable =>
  new Unreachable(`only the service knows what "${name}" holds`);
