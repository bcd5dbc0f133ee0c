/** Checks as the oracle sees them: where a body breaks one. */
import { type JsonValue, pointer } from '../../engine/json/json.ts';
import type { Check, CheckComparison, CheckCondition, Field } from '../../engine/model/model.ts';
import type { RecordMention } from './mentions.ts';
import { comparesAs, isLikeIn } from './reads.ts';
import { Unreachable } from './refusal.ts';
import { defaultOf, isTime, isUnchanged, SOME_TIME, writtenAs } from './values.ts';
import { referenceName } from './template.ts';
import { asCompared, type RecordRow } from './world.ts';

type HeldValues = (field: Field) => JsonValue;

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
  const writing = mentions.filter(({ writable, lost }) => writable && !lost);
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
    const texts = new Set(said.map(({ body }) => writtenAs(type, field.name, body[field.name] ?? null)));
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
