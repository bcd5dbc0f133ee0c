/** Checks as the oracle sees them: where a body breaks one, and what a sample needs to meet them. */
import { type JsonObject, type JsonValue, pointer } from '../../engine/json.ts';
import type { Check, CheckComparison, CheckCondition, Field, RecordType } from '../../engine/model/model.ts';
import type { RecordMention } from './mentions.ts';
import { comparesAs, isLikeIn } from './reads.ts';
import { Unreachable } from './refusal.ts';
import { defaultOf, inOtherCase, isTime, isUnchanged, SOME_TIME } from './values.ts';
import { referenceName, writeJson } from './template.ts';
import { asCompared, type RecordRow } from './world.ts';

type HeldValues = (field: Field) => JsonValue;

/** Whether only the service knows the value. */
const isReference = (value: JsonValue): boolean => referenceName(value) !== undefined;

/** `withNull`: what a comparison with null comes to; undefined: what it would for a list filter. */
function isTrue(condition: CheckCondition, values: HeldValues, withNull: boolean | undefined): boolean {
  if (!('group' in condition)) return compares(condition, values, withNull);
  const { group, items } = condition;
  const isNone = group === 'none';
  // What must not be is not so because of null.
  const inner = isNone && withNull === true ? false : isNone && withNull === false ? true : withNull;
  const holding = items.filter((item) => item.filter((one) => !isTrue(one, values, inner)).length === 0).length;
  if (group === 'all') return holding === items.length;
  return isNone ? holding === 0 : holding > 0;
}

function compares(
  { field, operator, operand, other }: CheckComparison,
  values: HeldValues,
  withNull: boolean | undefined,
): boolean {
  const value = values(field);
  if (operator === 'null') return (value === null) === operand;
  const compared = other ? values(other) : operand;
  if (value === null || compared === null) return withNull ?? (operator === 'ne' && value !== compared);
  const how = { caseless: field.caseless || other?.caseless === true };
  if (operator === 'like') return isLikeIn(how, value, compared);
  const all: readonly JsonValue[] = [compared].flat();
  if (isTime(value) || all.some(isTime)) throw new Unreachable(`only the service knows what "${field.name}" holds`);
  return all.some((one) => comparesAs(operator, field.type.compare(asCompared(how, value), asCompared(how, one))));
}

/** Null breaks no demand, and is found by no case. */
const isMet = ({ must, when }: Check, values: HeldValues): boolean =>
  !when.every((one) => isTrue(one, values, undefined)) || must.every((one) => isTrue(one, values, true));

const held = (row: RecordRow | undefined, field: Field): JsonValue =>
  row ? (row.values.get(field) ?? null) : field.isNowByDefault ? SOME_TIME : defaultOf(field);

/** `faulty`: places of values that are refused anyway. */
export function checkFaults(
  mentions: readonly RecordMention[],
  faulty: ReadonlySet<string>,
  patch: boolean,
): readonly string[] {
  const records = Map.groupBy(mentions, ({ who }) => who);
  return [...records.values()].flatMap((all) => faultsOf(all, faulty, patch));
}

function faultsOf(mentions: readonly RecordMention[], faulty: ReadonlySet<string>, patch: boolean): readonly string[] {
  const writing = mentions
    .filter(({ writable, lost }) => writable && !lost)
    .toSorted((a, b) => a.path.length - b.path.length);
  const [first] = writing;
  if (first === undefined) return [];
  const { type, row } = first;
  const saying = ({ name, readOnly }: Field): RecordMention | undefined =>
    readOnly ? undefined : writing.find(({ body }) => Object.hasOwn(body, name));
  const given = (field: Field): JsonValue | undefined => saying(field)?.body[field.name];
  const values: HeldValues = (field) => given(field) ?? (saying(field) ? null : held(row, field));
  const isChanged = (field: Field): boolean =>
    saying(field) !== undefined && !isUnchanged(type, row, field.name, given(field) ?? null, patch);
  const isUnusable = (field: Field): boolean => {
    const said = mentions.filter(({ body }) => Object.hasOwn(body, field.name));
    const texts = new Set(said.map(({ body }) => writeJson(body[field.name] ?? null)));
    const isMissing = row === undefined && !field.nullable && !saying(field) && held(row, field) === null;
    return (
      isMissing ||
      (texts.size > 1 && !field.readOnly) ||
      said.some(({ path }) => faulty.has(pointer([...path, field.name])))
    );
  };
  return type.checks.flatMap((check) => {
    const { fields, at } = check;
    if ((row && !fields.some(isChanged)) || fields.some(isUnusable)) return [];
    const isUnknown = (field: Field): boolean => isReference(values(field)) && !isTime(values(field));
    if (fields.some(isUnknown)) {
      if (fields.every(isUnknown)) return [];
      throw new Unreachable(`nothing is known of what ${type.name} held before`);
    }
    if (isMet(check, values)) return [];
    const place = saying(at) ?? fields.map(saying).find((one) => one !== undefined) ?? first;
    return [pointer([...place.path, at.name])];
  });
}

// Samples that meet the checks.

const SAMPLES = [1, 2, 3, 4];

/** Values that the field accepts. */
export const candidates = (field: Field): readonly JsonValue[] => [
  ...(field.nullable ? [null] : []),
  ...(field.unique ? [] : [field.default ?? [], ...field.type.edges(field)].flat()),
  ...(field.unique ? [] : SAMPLES.map((seed) => field.type.good(field, seed))),
  ...(field.unique || !field.caseless ? [] : [inOtherCase(field, field.type.good(field, 1))]),
];

/** The body with other values in `free` fields, as far as that is needed and helps to meet all checks. */
export function fitted(
  type: RecordType,
  row: RecordRow | undefined,
  body: JsonObject,
  free: ReadonlySet<Field>,
): JsonObject {
  const valueIn = (some: JsonObject, field: Field): JsonValue =>
    field.readOnly
      ? held(row, field)
      : (some[field.name] ?? (Object.hasOwn(some, field.name) ? null : held(row, field)));
  const unmet = (some: JsonObject): readonly Check[] =>
    type.checks.filter((check) => {
      if (row && !check.fields.some(({ name }) => Object.hasOwn(some, name))) return false;
      const isUnknown = check.fields.some((field) => isReference(valueIn(some, field)));
      return isUnknown || !isMet(check, (field) => valueIn(some, field));
    });
  let best = withKnown(type, row, body, free);
  let left = unmet(best);
  for (let round = type.checks.length; left.length > 0 && round > 0; round -= 1) {
    const fields = left.flatMap((check) => check.fields.filter((field) => free.has(field)));
    const options = fields.flatMap((field) => candidates(field).map((value) => ({ ...best, [field.name]: value })));
    const better = options.find((option) => unmet(option).length < left.length);
    if (better === undefined) break;
    best = better;
    left = unmet(best);
  }
  return best;
}

/** What a record held before is not known: a check that the body touches needs all its values. */
function withKnown(
  { checks }: RecordType,
  row: RecordRow | undefined,
  body: JsonObject,
  free: ReadonlySet<Field>,
): JsonObject {
  const touched = checks.filter(({ fields }) => fields.some(({ name }) => Object.hasOwn(body, name)));
  const unknown = touched
    .flatMap(({ fields }) => fields)
    .filter((field) => free.has(field) && !Object.hasOwn(body, field.name) && isReference(held(row, field)));
  return { ...body, ...Object.fromEntries(unknown.map((field) => [field.name, field.type.good(field, 1)])) };
}
