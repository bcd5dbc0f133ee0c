/** Each seed record must be valid as the body of a create request, and all together must fit a new database. */
import type { DescriptorFile } from '../descriptor/draft.ts';
import { inQuotes } from '../descriptor/report.ts';
import { diagnose, type YamlPath } from '../descriptor/source.ts';
import { unquoted } from '../descriptor/texts.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { integer } from '../field-types/integer.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue, unescapedSteps } from '../json/json.ts';
import {
  type BodyRecord,
  identifierIn,
  type Model,
  newItems,
  type RecordType,
  type Relation,
  uniqueIndexes,
  type UniqueMembers,
} from '../model/model.ts';
import type { Fault } from '../problem.ts';
import { unmetBy } from '../query/operators.ts';
import { byRecord, type TypeValidators } from './compile.ts';

/** A place of the seeds that names a record. */
interface SeedPlace {
  readonly file: DescriptorFile;
  readonly type: RecordType;
  /** The identifier of the record, or a negative number that no other one has. */
  readonly key: number;
  readonly isNew: boolean;
  readonly body: JsonObject;
  readonly pointer: string;
  readonly links: Map<Relation, number | null>;
}

export function checkSeeds(
  files: readonly DescriptorFile[],
  model: Model,
  validatorsOf: (type: RecordType) => TypeValidators,
  order: readonly RecordType[],
): readonly Diagnostic[] {
  const seeds = files.flatMap((file) => {
    const type = model.types.get(file.descriptor.type);
    if (!type || type.seed.length === 0) return [];
    const records = newItems(type.seed);
    const invalid = validatorsOf(type).create(type.defaultVariant)(records);
    const invalidIn = byRecord(records, invalid);
    const valid = records.filter(({ pointer }) => invalidIn(pointer).length === 0);
    return [{ file, type, records, invalid, places: placesIn(file, type, valid) }];
  });
  const inOrder = seeds.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
  const repeated = repeatedIn(inOrder.flatMap(({ places }) => places));
  return seeds.flatMap(({ file, type, records, invalid, places }) => {
    const together = repeated.flatMap(([at, fault]) => (at === file ? fault : []));
    const faultsIn = byRecord(records, [...invalid, ...cyclesIn(places), ...together]);
    return records.flatMap(({ body, pointer }) => {
      const faults = faultsIn(pointer);
      const within = places.filter((place) => `${place.pointer}/`.startsWith(`${pointer}/`));
      return (faults.length > 0 ? faults : unmetIn(type, within, order)).map((fault) => {
        const path: YamlPath = ['seed', ...('pointer' in fault ? unescapedSteps(fault.pointer) : [])];
        const [, , name = '', ...inside] = path;
        const field = inside.length > 0 ? undefined : type.fields.get(String(name));
        // YAML reads an unquoted text as a number or a flag.
        const accepts = (text: string): boolean => field?.type.parse(text) !== undefined;
        const text = field && unquoted(field.type.schema(field)['type'], body[String(name)], accepts);
        const at = fault.code === 'unknown-key' ? 'key' : 'value';
        const advice = text ? inQuotes(text, file.written(path)) : '';
        return diagnose(file, 'invalid-seed', path, at, fault.message + advice);
      });
    });
  });
}

let unnamed = 0;

/** Every place of the seeds that names a record, a record before what is nested in it. */
function placesIn(file: DescriptorFile, root: RecordType, records: readonly BodyRecord[]): readonly SeedPlace[] {
  const places: SeedPlace[] = [];
  const visit = (type: RecordType, body: JsonObject, pointer: string, isNew: boolean): SeedPlace => {
    const key = identifierIn(body, type) ?? (unnamed -= 1);
    const place: SeedPlace = { file, type, key, isNew, body, pointer, links: new Map() };
    places.push(place);
    for (const [name, value] of Object.entries(body)) {
      const relation = type.relations.get(name);
      if (!relation) continue;
      const { target, owned, toMany, inverse } = relation;
      if (value === null) place.links.set(relation, null);
      for (const [index, item] of (toMany ? (value as readonly JsonValue[]) : [value ?? null]).entries()) {
        if (!isObject(item)) continue;
        const at = `${pointer}/${escapeStep(name)}`;
        // Only the database knows whether a stored record has an owned child.
        const isMade = identifierIn(item, target) === undefined && (toMany || !owned || isNew);
        const child = visit(target, item, toMany ? `${at}/${index}` : at, isMade);
        if (inverse && !child.links.has(inverse)) child.links.set(inverse, key);
        if (!toMany) place.links.set(relation, child.key);
      }
    }
    return place;
  };
  for (const { body, pointer } of records) visit(root, body, pointer, true);
  return places;
}

function cyclesIn(places: readonly SeedPlace[]): readonly Fault[] {
  const message = 'This link closes a cycle of new records; leave it out, and set it once they are there';
  const made = new Map(places.filter(({ isNew }) => isNew).map((place) => [`${place.type.name} ${place.key}`, place]));
  const [begun, path] = [new Set<SeedPlace>(), new Set<SeedPlace>()];
  const follow = (place: SeedPlace): readonly Fault[] => {
    if (begun.has(place)) return [];
    begun.add(place);
    path.add(place);
    const faults = [...place.links].flatMap(([{ link, name, target }, key]) => {
      const next = link.at === 'source' ? made.get(`${target.name} ${key ?? ''}`) : undefined;
      if (!next || next === place) return [];
      const pointer = `${place.pointer}/${escapeStep(name)}`;
      return path.has(next) ? [{ pointer, code: 'cycle', message }] : follow(next);
    });
    path.delete(place);
    return faults;
  };
  return [...made.values()].flatMap(follow);
}

/** Unmet checks of new records, and links to seeds of types that come later. */
function unmetIn(type: RecordType, places: readonly SeedPlace[], order: readonly RecordType[]): readonly Fault[] {
  const later = new Set(order.slice(order.indexOf(type) + 1));
  return places.flatMap(({ type: of, key, isNew, body, pointer: at }) => {
    const { name } = of.identifier;
    if (later.has(of) && of.seed.some((seed) => seed[name] === key)) {
      const message = `${of.name} ${key} is not there yet: the seeds of ${of.name} come after those of ${type.name}, which it refers to; link it from there, or through an API request`;
      return [{ pointer: `${at}/${escapeStep(name)}`, code: 'not-found', message }];
    }
    return (isNew ? unmetBy(of, body) : []).map((check) => {
      return { pointer: `${at}/${escapeStep(check.at.name)}`, code: 'check', message: check.message };
    });
  });
}

/** Unique values that two records have, nested ones included, at the second record. */
function repeatedIn(all: readonly SeedPlace[]): readonly (readonly [DescriptorFile, Fault])[] {
  return [...Map.groupBy(all, ({ type }) => type)].flatMap(([type, ofType]) => {
    const records = [...Map.groupBy(ofType, ({ key }) => key).values()];
    return uniqueIndexes(type).flatMap(({ members }) => {
      const order = members.map((member) => ('link' in member ? integer : member.type).compare);
      const valued = records.map((places) => ({ places, values: members.map((member) => valueIn(member, places)) }));
      type Valued = (typeof valued)[number];
      const compared = (one: Valued, other: Valued): number =>
        order.reduce((sign, compare, at) => sign || compare(one.values[at] ?? null, other.values[at] ?? null), 0);
      const sorted = valued.filter(({ values }) => !values.includes(null)).toSorted(compared);
      return sorted.flatMap((one, at) => {
        const [before, [earlier] = []] = [sorted[at - 1], sorted[at - 1]?.places];
        if (!before || !earlier || compared(before, one) !== 0) return [];
        const [first] = members;
        const naming = first && one.places.findLast(({ body }) => Object.hasOwn(body, first.name));
        const { file, pointer } = naming ?? one.places[0] ?? earlier;
        const who = earlier.key < 0 ? `another ${type.name} of the seeds` : `the seed record ${earlier.key}`;
        const message = `${who} has this value of ${members.map(({ name }) => `"${name}"`).join(' and ')} already`;
        const place = naming ? `${pointer}/${escapeStep(first.name)}` : pointer;
        return [[file, { pointer: place, code: 'unique', message }] as const];
      });
    });
  });
}

/** The last value that a place gives, or the default of a new record; null if it is unknown. */
function valueIn(member: UniqueMembers['members'][number], places: readonly SeedPlace[]): JsonValue {
  if ('link' in member) return places.flatMap(({ links }) => links.get(member) ?? []).at(-1) ?? null;
  const { name, generated, isNowByDefault, caseless, default: value } = member;
  const last = places.findLast(({ body }) => Object.hasOwn(body, name));
  const isDefault = !isNowByDefault && places.some(({ isNew }) => isNew);
  const given = (last ? last.body[name] : isDefault ? value : null) ?? null;
  return generated || given === null ? null : caseless ? foldedValue(given) : given;
}

export function checkDefaults(files: readonly DescriptorFile[], { types }: Model): readonly Diagnostic[] {
  return files.flatMap((file) => {
    const type = types.get(file.descriptor.type);
    const unmet = new Set(type ? unmetBy(type, {}) : []);
    return [...(type?.checks ?? [])].flatMap((check, index) => {
      const isDefault = check.fields.every((field) => (field.default ?? null) !== null);
      const message = `the defaults break this check: ${check.message}; change one of them`;
      return isDefault && unmet.has(check)
        ? [diagnose(file, 'broken-default', ['checks', index], 'value', message)]
        : [];
    });
  });
}
