/** Seeds and defaults: a seed record must be valid as the body of a create request, and together they must fit a new database. */
import type { DescriptorFile } from '../descriptor/load.ts';
import { inQuotes } from '../descriptor/report.ts';
import { diagnose, type YamlPath } from '../descriptor/source.ts';
import { needsQuotes } from '../descriptor/texts.ts';
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

/** The seeds of one descriptor. */
interface SeedsOfType {
  readonly file: DescriptorFile;
  readonly type: RecordType;
  readonly records: readonly BodyRecord[];
  readonly invalid: readonly Fault[];
  readonly places: readonly SeedPlace[];
}

/** A place of the seeds that names a record. */
interface SeedPlace {
  readonly type: RecordType;
  /** The identifier of the record, or a negative number that no other one has. */
  readonly key: number;
  readonly isNew: boolean;
  readonly body: JsonObject;
  readonly pointer: string;
  /** The record of each link to one, null where there is none. */
  readonly links: Map<Relation, number | null>;
}

/** `order`: the types as their seeds are inserted. */
export function checkSeeds(
  files: readonly DescriptorFile[],
  model: Model,
  validatorsOf: (type: RecordType) => TypeValidators,
  order: readonly RecordType[],
): readonly Diagnostic[] {
  const seeds = files.flatMap((file): readonly SeedsOfType[] => {
    const type = model.types.get(file.descriptor.type);
    if (!type || type.seed.length === 0) return [];
    // The seeds of a type are inserted together.
    const records = newItems(type.seed);
    const invalid = validatorsOf(type).create(type.defaultVariant)(records);
    return [{ file, type, records, invalid, places: placesIn(type, records) }];
  });
  const indexOf = ({ type }: SeedsOfType): number => order.indexOf(type);
  const valid = seeds.filter(({ invalid }) => invalid.length === 0).toSorted((a, b) => indexOf(a) - indexOf(b));
  const repeated = Map.groupBy(repeatedIn(valid), ({ seeds: one }) => one);
  return seeds.flatMap((own) => {
    const { file, records, invalid, places } = own;
    const together = (repeated.get(own) ?? []).map(({ fault }) => fault);
    const faultsIn = byRecord(records, invalid.length > 0 ? invalid : [...cyclesIn(places), ...together]);
    return records.flatMap((record) => {
      const faults = faultsIn(record.pointer);
      return (faults.length > 0 ? faults : unmetIn(own, record, order)).map((fault) => {
        const path: YamlPath = ['seed', ...('pointer' in fault ? unescapedSteps(fault.pointer) : [])];
        const advice = isUnquoted(own, record, path) ? inQuotes(file.written(path)) : '';
        const at = fault.code === 'unknown-key' ? 'key' : 'value';
        return diagnose(file, 'invalid-seed', path, at, fault.message + advice);
      });
    });
  });
}

/** Whether the value of a field is a number or a flag where only a text can be. */
function isUnquoted({ type }: SeedsOfType, { body }: BodyRecord, path: YamlPath): boolean {
  const [, , name = '', ...inside] = path;
  const field = type.fields.get(String(name));
  return field !== undefined && inside.length === 0 && needsQuotes(field.type.schema(field)['type'], body[name]);
}

let unnamed = 0;

/** Every place of the seeds that names a record, a record before what is nested in it. */
function placesIn(type: RecordType, records: readonly BodyRecord[]): readonly SeedPlace[] {
  const places: SeedPlace[] = [];
  const visit = (
    one: RecordType,
    body: JsonObject,
    pointer: string,
    isNew: boolean,
    back?: Relation,
    parent?: number,
  ) => {
    const key = identifierIn(body, one) ?? (unnamed -= 1);
    const place: SeedPlace = { type: one, key, isNew, body, pointer, links: new Map() };
    places.push(place);
    if (back && parent !== undefined) place.links.set(back, parent);
    for (const [name, value] of Object.entries(body)) {
      const relation = one.relations.get(name);
      if (!relation) continue;
      const { target, owned, toMany, inverse } = relation;
      if (value === null) place.links.set(relation, null);
      for (const [index, item] of (toMany ? (value as readonly JsonValue[]) : [value ?? null]).entries()) {
        if (!isObject(item)) continue;
        const at = `${pointer}/${escapeStep(name)}`;
        // Only the database knows whether a stored record has an owned child.
        const isMade = identifierIn(item, target) === undefined && (toMany || !owned || isNew);
        const child = visit(target, item, toMany ? `${at}/${index}` : at, isMade, inverse, key);
        if (!toMany) place.links.set(relation, child);
      }
    }
    return key;
  };
  for (const { body, pointer } of records) visit(type, body, pointer, true);
  return places;
}

/** Links of the records that lead back to where they begin: each is inserted after those that it refers to. */
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

/** Checks that the new records do not meet, and links to seeds of types that come later in this order. */
function unmetIn(
  { type, places }: SeedsOfType,
  { pointer }: BodyRecord,
  order: readonly RecordType[],
): readonly Fault[] {
  const later = new Set(order.slice(order.indexOf(type) + 1));
  const within = places.filter((place) => `${place.pointer}/`.startsWith(`${pointer}/`));
  return within.flatMap(({ type: of, key, isNew, body, pointer: at }) => {
    const { name } = of.identifier;
    if (later.has(of) && of.seed.some((seed) => seed[name] === key)) {
      const message = `${of.name} ${key} is not there yet: the seeds of ${of.name} come after those of ${type.name}, which it refers to; link it from there, or through an API request`;
      return [{ pointer: `${at}/${escapeStep(name)}`, code: 'not-found', message }];
    }
    const unmet = isNew ? unmetBy(of, body) : [];
    return unmet.map((check) => {
      return { pointer: `${at}/${escapeStep(check.at.name)}`, code: 'check', message: check.message };
    });
  });
}

/** A place, and the seeds that it is in. */
interface PlacedSeed {
  readonly seeds: SeedsOfType;
  readonly place: SeedPlace;
}

/** A record of the seeds. */
interface SeededRecord {
  readonly places: readonly PlacedSeed[];
  /** The values of the members of one index. */
  readonly values: readonly JsonValue[];
}

interface SeedFault {
  readonly seeds: SeedsOfType;
  readonly fault: Fault;
}

/** Values that two records have, nested ones included, and may not have together. */
function repeatedIn(all: readonly SeedsOfType[]): readonly SeedFault[] {
  const placed = all.flatMap((seeds) => seeds.places.map((place): PlacedSeed => ({ seeds, place })));
  return [...Map.groupBy(placed, ({ place }) => place.type)].flatMap(([type, ofType]) => {
    const records = [...Map.groupBy(ofType, ({ place }) => place.key).values()];
    return uniqueIndexes(type).flatMap(({ members }) => {
      const known = records.flatMap((places): readonly SeededRecord[] => {
        const values = members.map((member) => valueIn(member, places));
        return values.includes(null) ? [] : [{ places, values }];
      });
      const order = members.map((member) => ('link' in member ? integer : member.type).compare);
      const compared = (one: SeededRecord, other: SeededRecord): number =>
        order.reduce((sign, compare, at) => sign || compare(one.values[at] ?? null, other.values[at] ?? null), 0);
      // Equal ones come together, in the order of the descriptors.
      const sorted = known.toSorted(compared);
      return sorted.flatMap((one, at) => {
        const before = sorted[at - 1];
        return before && compared(before, one) === 0 ? repeats(members, one.places, before.places) : [];
      });
    });
  });
}

type UniqueMember = UniqueMembers['members'][number];

/** The last value that a place gives, or the default of a new record; null if it is unknown. */
function valueIn(member: UniqueMember, places: readonly PlacedSeed[]): JsonValue {
  const said = places.flatMap(({ place: { links, body } }) => {
    if ('link' in member) return links.get(member) ?? [];
    return Object.hasOwn(body, member.name) ? { value: body[member.name] ?? null } : [];
  });
  const last = said.at(-1);
  if ('link' in member) return typeof last === 'number' ? last : null;
  const { generated, isNowByDefault, caseless, default: value } = member;
  const isNew = places.some(({ place }) => place.isNew);
  const given = typeof last === 'object' ? last.value : isNew && !isNowByDefault ? (value ?? null) : null;
  return generated || given === null ? null : caseless ? foldedValue(given) : given;
}

function repeats(
  members: UniqueMembers['members'],
  places: readonly PlacedSeed[],
  [earlier]: readonly PlacedSeed[],
): readonly SeedFault[] {
  const [first] = members;
  const naming = first && places.findLast(({ place }) => Object.hasOwn(place.body, first.name));
  const placed = naming ?? places[0];
  if (!placed || !earlier) return [];
  const { key, type } = earlier.place;
  const who = key < 0 ? `another ${type.name} of the seeds` : `the seed record ${key}`;
  const names = members.map(({ name }) => `"${name}"`).join(' and ');
  const { pointer } = placed.place;
  const at = naming ? `${pointer}/${escapeStep(first.name)}` : pointer;
  const message = `${who} has this value of ${names} already`;
  return [{ seeds: placed.seeds, fault: { pointer: at, code: 'unique', message } }];
}

/** Checks that no record meets which is created without the fields that they name. */
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
