/** Seeds and defaults: a seed record must be valid as the body of a create request, and together they must fit a new database. */
import type { DescriptorFile } from '../descriptor/load.ts';
import { inQuotes } from '../descriptor/report.ts';
import { diagnose, type YamlPath } from '../descriptor/source.ts';
import { needsQuotes } from '../descriptor/texts.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { integer } from '../field-types/integer.ts';
import { escapeStep, type JsonValue, unescapedSteps } from '../json/json.ts';
import { type BodyRecord, newItems } from '../model/bodies.ts';
import { type Field, type Model, type RecordType, uniqueIndexes, type UniqueMembers } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import { unmetBy } from '../query/operators.ts';
import { byRecord, type TypeValidators } from './compile.ts';
import { type Mention, type MentionedRecord, mentionsIn } from './mentions.ts';

/** Codes of faults in a key rather than in its value. */
const AT_KEY = new Set(['unknown-key']);

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
    return [{ file, type, records, invalid, mentions: mentionsIn(type, records).all }];
  });
  const place = ({ type }: SeedsOfType): number => order.indexOf(type);
  const valid = seeds.filter(({ invalid }) => invalid.length === 0).toSorted((a, b) => place(a) - place(b));
  const repeated = repeatedIn(valid);
  return seeds.flatMap((own) => {
    const { file, records, invalid } = own;
    const faultsOfRecord = byRecord(records, invalid.length > 0 ? invalid : (repeated.get(own) ?? []));
    return records.flatMap((record) => {
      const faults = faultsOfRecord(record.pointer);
      return (faults.length > 0 ? faults : unmetIn(own, record, order)).map((fault) => {
        const path: YamlPath = ['seed', ...('pointer' in fault ? unescapedSteps(fault.pointer) : [])];
        const advice = isUnquoted(own, record, path) ? inQuotes(file.written(path)) : '';
        return diagnose(file, 'invalid-seed', path, AT_KEY.has(fault.code) ? 'key' : 'value', fault.message + advice);
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

/** The seeds of one descriptor. */
interface SeedsOfType {
  readonly file: DescriptorFile;
  readonly type: RecordType;
  readonly records: readonly BodyRecord[];
  readonly invalid: readonly Fault[];
  readonly mentions: readonly Mention[];
}

/** Checks that the new records do not meet, and links to seeds of types that come later in this order. */
function unmetIn({ type }: SeedsOfType, record: BodyRecord, order: readonly RecordType[]): readonly Fault[] {
  const later = new Set(order.slice(order.indexOf(type) + 1));
  return mentionsIn(type, [record]).all.flatMap(({ subject, body, pointer }) => {
    const { type: of, identifier, mayBeStored } = subject;
    const { name } = of.identifier;
    if (later.has(of) && of.seed.some((seed) => identifier !== undefined && seed[name] === identifier)) {
      const message = `${of.name} ${identifier ?? ''} is not there yet: the seeds of ${of.name} come after those of ${type.name}, which it refers to; link it from there, or through an API request`;
      return [{ pointer: `${pointer}/${escapeStep(name)}`, code: 'not-found', message }];
    }
    if (mayBeStored) return [];
    return unmetBy(of, body).map(({ at, message }) => ({
      pointer: `${pointer}/${escapeStep(at.name)}`,
      code: 'check',
      message,
    }));
  });
}

/** Values that two records have, nested ones included, and may not have together. */
function repeatedIn(all: readonly SeedsOfType[]): ReadonlyMap<SeedsOfType, readonly Fault[]> {
  const keyOf = keysOfRecords();
  const places = all.flatMap((seeds) => seeds.mentions.map((mention) => ({ seeds, mention })));
  const found = [...Map.groupBy(places, ({ mention }) => mention.subject.type)].flatMap(([type, ofType]) => {
    const records = [...Map.groupBy(ofType, ({ mention }) => keyOf(mention.subject)).values()];
    return uniqueIndexes(type).flatMap(({ members }) => {
      const known = records.flatMap((record): readonly SeededRecord[] => {
        const values = members.map((member) => valueIn(member, record, keyOf));
        return values.includes(null) ? [] : [{ places: record, values }];
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
  const bySeeds = Map.groupBy(found, ({ seeds }) => seeds);
  return new Map([...bySeeds].map(([seeds, faults]) => [seeds, faults.map(({ fault }) => fault)]));
}

/** A place that says something of a record. */
interface SeedPlace {
  readonly seeds: SeedsOfType;
  readonly mention: Mention;
}

/** A record of the seeds, with all places that mention it. */
interface SeededRecord {
  readonly places: readonly SeedPlace[];
  /** Of the members of one index. */
  readonly values: readonly JsonValue[];
}

type KeyOfRecord = (record: MentionedRecord) => number;

/** The identifier of a record, or a number that no other one has. */
function keysOfRecords(): KeyOfRecord {
  const keys = new Map<MentionedRecord, number>();
  return (record) => {
    if (record.identifier !== undefined) return record.identifier;
    const key = keys.get(record) ?? -1 - keys.size;
    keys.set(record, key);
    return key;
  };
}

type UniqueMember = UniqueMembers['members'][number];

/** The last value that a place gives, or the default of a new record; null if it is unknown. */
function valueIn(member: UniqueMember, places: readonly SeedPlace[], keyOf: KeyOfRecord): JsonValue {
  const said = places.map(({ mention }) => saidIn(member, mention, keyOf)).findLast((value) => value !== undefined);
  if (said !== undefined || 'link' in member) return said ?? null;
  const isNew = places.some(({ mention }) => !mention.subject.mayBeStored);
  return isNew ? comparable(member, defaultOf(member)) : null;
}

/** Undefined if this place does not say it. */
function saidIn(member: UniqueMember, { body, via, said }: Mention, keyOf: KeyOfRecord): JsonValue | undefined {
  if (!('link' in member)) return Object.hasOwn(body, member.name) ? comparable(member, body[member.name]) : undefined;
  if (via?.relation.inverse === member) return keyOf(via.parent);
  const linked = said.find(({ relation }) => relation === member);
  if (linked === undefined) return undefined;
  return linked.items[0] ? keyOf(linked.items[0].subject) : null;
}

const comparable = ({ generated, caseless }: Field, value: JsonValue = null): JsonValue =>
  generated || value === null ? null : caseless ? foldedValue(value) : value;

const defaultOf = ({ isNowByDefault, default: value }: Field): JsonValue => (isNowByDefault ? null : (value ?? null));

function repeats(
  members: UniqueMembers['members'],
  places: readonly SeedPlace[],
  [earlier]: readonly SeedPlace[],
): readonly { readonly seeds: SeedsOfType; readonly fault: Fault }[] {
  const [first] = members;
  const naming = first && places.findLast(({ mention }) => Object.hasOwn(mention.body, first.name));
  const place = naming ?? places[0];
  if (!place || !earlier) return [];
  const { identifier, type } = earlier.mention.subject;
  const who = identifier === undefined ? `another ${type.name} of the seeds` : `the seed record ${identifier}`;
  const names = members.map(({ name }) => `"${name}"`).join(' and ');
  const { pointer } = place.mention;
  const at = naming ? `${pointer}/${escapeStep(first.name)}` : pointer;
  return [
    {
      seeds: place.seeds,
      fault: { pointer: at, code: 'unique', message: `${who} has this value of ${names} already` },
    },
  ];
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
