/** What summaries of the oracle answer. Numbers are added up as integers of their smallest unit, with all their digits. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import type { RecordType } from '../../engine/model/model.ts';
import {
  certain,
  compareFound,
  follow,
  type Found,
  type ListRequest,
  listed,
  represent,
  shownBy,
  type SummaryRequest,
} from './reads.ts';
import { raw } from './template.ts';
import { asCompared, idValue, type RecordRow, related, type World } from './world.ts';

interface Summarizing {
  readonly world: World;
  readonly type: RecordType;
}

/** A name in `by` or `measure`. */
interface SummaryName {
  readonly name: string;
  readonly word: string;
  readonly steps: readonly string[];
}

function namedAs(name: string): SummaryName {
  const [, word = '', path = name] = /^(\w*)\((.*)\)$/.exec(name) ?? [];
  return { name, word, steps: path.split('.') };
}

/** What is grouped, added up or compared, of one record. */
type FindValue = (row: RecordRow) => Found;

const valueIn = (found: Found): JsonValue =>
  found.field ? found.value : found.id === undefined ? null : idValue(found.id);
const isNull = (found: Found): boolean => valueIn(found) === null;

const fractionOf = (text: JsonValue): number => String(text).split('.')[1]?.length ?? 0;

/** Decimals are numbers that are written as strings. */
const isDecimal = ({ field }: Found): boolean =>
  field?.type.comparedAs === 'number' && typeof field.type.good(field, 1) === 'string';

/** Equal values may be written differently: a decimal with more digits than others, or another time zone. */
function written(all: readonly Found[]): JsonValue {
  const texts = all.map(valueIn);
  const [first = null] = texts;
  const [found] = all;
  if (first === null || found === undefined || typeof first !== 'string') return first;
  if (isDecimal(found)) return texts.toSorted((a, b) => fractionOf(b) - fractionOf(a))[0] ?? null;
  return texts.map(String).toSorted((a, b) => (a < b ? -1 : 1))[0] ?? null;
}

const digitsOf = (found: Found, fraction: number): bigint => {
  const text = String(valueIn(found));
  return BigInt(text.replace('.', '')) * 10n ** BigInt(fraction - fractionOf(text));
};

function decimalText(units: bigint, fraction: number): string {
  const digits = String(units)
    .replace('-', '')
    .padStart(fraction + 1, '0');
  const point = digits.length - fraction;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${fraction > 0 ? '.' : ''}${digits.slice(point)}`;
}

const mostDigits = (all: readonly Found[]): number => Math.max(...all.map((found) => fractionOf(valueIn(found))));

function sumOf(all: readonly Found[]): JsonValue {
  const [first] = all;
  if (first === undefined) return null;
  const fraction = mostDigits(all);
  const text = decimalText(
    all.reduce((sum, found) => sum + digitsOf(found, fraction), 0n),
    fraction,
  );
  return isDecimal(first) ? text : Number.isSafeInteger(Number(text)) ? Number(text) : raw(text);
}

/** `sign`: 1 for the least, -1 for the greatest. */
function extremeOf({ world }: Summarizing, all: readonly Found[], sign: 1 | -1): JsonValue {
  const texts = (found: Found): number => (found.field && typeof found.value === 'string' ? 1 : 0);
  const sorted = all.toSorted(
    (a, b) =>
      sign * (certain(compareFound(world, a, b)) || texts(a) * (String(valueIn(a)) < String(valueIn(b)) ? -1 : 1)),
  );
  const [first] = sorted;
  if (first === undefined) return null;
  return isDecimal(first) ? decimalText(digitsOf(first, mostDigits(all)), mostDigits(all)) : valueIn(first);
}

function measured(setting: Summarizing, { name, word, steps }: SummaryName, rows: readonly RecordRow[]): JsonValue {
  if (name === 'count') return rows.length;
  const all = rows.map((row) => follow(setting.world, setting.type, row, steps)).filter((found) => !isNull(found));
  if (word === 'count') return all.length;
  return word === 'sum' ? sumOf(all) : extremeOf(setting, all, word === 'min' ? 1 : -1);
}

/** The day or the month, in UTC. */
function periodOf(word: string, value: JsonValue): JsonValue {
  if (value === null) return null;
  const text = String(value);
  const day = /T/.test(text) ? new Date(Date.parse(text)).toISOString().split('T', 1)[0] : text;
  return word === 'day' ? (day ?? null) : (day ?? '').slice(0, -'-01'.length);
}

/** The record that the steps lead to; undefined if they end at a value. */
function recordAt(
  { world, type }: Summarizing,
  row: RecordRow,
  steps: readonly string[],
): JsonObject | null | undefined {
  let place: RecordRow | undefined = row;
  let last = type;
  const path: string[] = [];
  for (const step of steps) {
    const relation = last.relations.get(step);
    if (relation === undefined) return undefined;
    place = place && related(world, relation, place)[0];
    last = relation.target;
    path.push(step);
  }
  let view = shownBy(type, { include: [path.join('.')] });
  for (const step of steps) view = [...view.relations].find(([{ name }]) => name === step)?.[1] ?? view;
  return place ? represent(world, last, place, view) : null;
}

interface SummaryGroup {
  readonly rows: readonly RecordRow[];
  readonly keys: readonly Found[];
  readonly body: { readonly by: JsonObject; readonly measures: JsonObject };
}

interface Summarized {
  readonly groups: readonly JsonObject[];
  readonly total: number;
}

export function summarize(
  world: World,
  type: RecordType,
  { by, measure }: SummaryRequest,
  { filters = [], order = [], offset = 0, limit = Infinity }: ListRequest,
): Summarized {
  const setting = { world, type };
  const [keys, measures] = [by.map(namedAs), measure.map(namedAs)];
  const { rows } = listed(world, type, { filters });
  const finders = keys.map(({ word, steps }): FindValue => (row) => {
    const found = follow(world, type, row, steps);
    return word === '' || !found.field ? found : { field: found.field, value: periodOf(word, found.value) };
  });
  const isPeriod = (index: number): boolean => keys[index]?.word !== '';
  const compareKeys = (a: readonly Found[], b: readonly Found[], index: number): number => {
    const [one, other] = [a[index], b[index]];
    if (!one || !other) return 0;
    if (!isPeriod(index) || isNull(one) || isNull(other)) return certain(compareFound(world, one, other));
    return Date.parse(String(valueIn(one))) - Date.parse(String(valueIn(other)));
  };
  const made: { keys: readonly Found[]; rows: RecordRow[] }[] =
    keys.length === 0 ? [{ keys: [], rows: [...rows] }] : [];
  for (const row of keys.length === 0 ? [] : rows) {
    const own = finders.map((find) => find(row));
    const group = made.find((one) => own.every((_, index) => compareKeys(one.keys, own, index) === 0));
    if (group) group.rows.push(row);
    else made.push({ keys: own, rows: [row] });
  }
  const groups = made.map((group): SummaryGroup => {
    const shown = keys.map(({ name, steps, word }, index) => {
      const [first] = group.rows;
      const record = first && word === '' ? recordAt(setting, first, steps) : undefined;
      const values = group.rows.flatMap((row) => finders[index]?.(row) ?? []);
      return [name, record === undefined ? written(values) : record] as const;
    });
    const said = measures.map((one) => [one.name, measured(setting, one, group.rows)] as const);
    return { ...group, body: { by: Object.fromEntries(shown), measures: Object.fromEntries(said) } };
  });
  const names = [...by, ...measure];
  const last = order.at(-1)?.descending ?? false;
  const terms = [
    ...order.map(({ path, descending }) => ({ place: names.indexOf(path), descending })),
    ...by.map((_, place) => ({ place, descending: last })),
  ];
  const compareMeasures = (a: SummaryGroup, b: SummaryGroup, named: SummaryName | undefined): number => {
    if (!named) return 0;
    const [one = null, other = null] = [a.body.measures[named.name], b.body.measures[named.name]];
    if (one === null || other === null) return Number(one !== null) - Number(other !== null);
    if (named.word === 'sum' || named.word === 'count' || named.word === '') return compareNumbers(one, other);
    const sample = a.rows.map((row) => follow(world, type, row, named.steps)).find((found) => !isNull(found));
    if (!sample?.field) return compareNumbers(one, other);
    return sample.field.type.compare(asCompared(sample.field, one), asCompared(sample.field, other));
  };
  const sorted = groups.toSorted((a, b) => {
    for (const { place, descending } of terms) {
      const compared =
        place < keys.length ? compareKeys(a.keys, b.keys, place) : compareMeasures(a, b, measures[place - keys.length]);
      if (compared !== 0) return descending ? -compared : compared;
    }
    return 0;
  });
  return { groups: sorted.slice(offset, offset + limit).map(({ body }) => body), total: groups.length };
}

/** Sums can have more digits than a double. */
function compareNumbers(a: JsonValue, b: JsonValue): number {
  const texts = [a, b].map((value) =>
    typeof value === 'object' ? String((value as JsonObject)['$json']) : String(value),
  );
  const fraction = Math.max(...texts.map(fractionOf));
  const [one = 0n, other = 0n] = texts.map(
    (text) => BigInt(text.replace('.', '')) * 10n ** BigInt(fraction - fractionOf(text)),
  );
  return one < other ? -1 : Number(one > other);
}
