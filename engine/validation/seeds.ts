/** Seeds and defaults: a seed record must be valid as the body of a create request, and together they must fit a new database. */
import type { DescriptorFile } from '../descriptor/load.ts';
import { diagnose, type YamlPath } from '../descriptor/source.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { foldedValue } from '../field-types/case-folding.ts';
import { integer } from '../field-types/integer.ts';
import { escapeStep, isObject, type JsonValue, unescapedSteps } from '../json.ts';
import { type BodyRecord, newItems } from '../model/bodies.ts';
import { type Field, type Model, type RecordType, uniqueIndexes, type UniqueMembers } from '../model/model.ts';
import { finish } from '../pace.ts';
import type { Fault } from '../problem.ts';
import { unmetBy } from '../query/checks.ts';
import { byRecord, type TypeValidators } from './compile.ts';
import { mentionsIn } from './mentions.ts';

/** Codes of faults in a key rather than in its value. */
const AT_KEY = new Set(['unknown-key']);

/** `order`: the types as their seeds are inserted. */
export function checkSeeds(
  files: readonly DescriptorFile[],
  model: Model,
  validatorsOf: (type: RecordType) => TypeValidators,
  order: readonly RecordType[],
): readonly Diagnostic[] {
  return files.flatMap((file) => {
    const type = model.types.get(file.descriptor.type);
    if (!type || type.seed.length === 0) return [];
    const validate = validatorsOf(type).create(type.defaultVariant);
    // They are inserted together.
    const all = newItems(type.seed);
    const invalid = finish(validate(all));
    const faultsOfRecord = byRecord(all, invalid.length > 0 ? invalid : repeatedIn(type, all));
    return all.flatMap((record) => {
      const faults = faultsOfRecord(record.pointer);
      return (faults.length > 0 ? faults : unmetIn(type, record, order)).map((fault) => {
        const path: YamlPath = ['seed', ...('pointer' in fault ? unescapedSteps(fault.pointer) : [])];
        return diagnose(file, 'invalid-seed', path, AT_KEY.has(fault.code) ? 'key' : 'value', fault.message);
      });
    });
  });
}

/** Checks that the new records do not meet, and links to seeds of types that come later in this order. */
function unmetIn(type: RecordType, record: BodyRecord, order: readonly RecordType[]): readonly Fault[] {
  const later = new Set(order.slice(order.indexOf(type) + 1));
  return finish(mentionsIn(type, [record])).all.flatMap(({ subject, body, pointer }) => {
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

/** Values that no two records may have together. */
const repeatedIn = (type: RecordType, records: readonly BodyRecord[]): readonly Fault[] =>
  uniqueIndexes(type).flatMap(({ members }) => {
    const known = records.flatMap((record): readonly KeyedSeed[] => {
      const values = members.map((member) => valueIn(member, record));
      return values.includes(null) ? [] : [{ record, values }];
    });
    const order = members.map((member) => ('link' in member ? integer : member.type).compare);
    const compared = (one: KeyedSeed, other: KeyedSeed): number =>
      order.reduce((sign, compare, at) => sign || compare(one.values[at] ?? null, other.values[at] ?? null), 0);
    // Equal ones come together, in the order of the descriptor.
    const sorted = known.toSorted(compared);
    return sorted.flatMap((one, at) => {
      const before = sorted[at - 1];
      return before && compared(before, one) === 0 ? repeats(type, members, one.record, before.record) : [];
    });
  });

interface KeyedSeed {
  readonly record: BodyRecord;
  readonly values: readonly JsonValue[];
}

function valueIn(member: UniqueMembers['members'][number], { body }: BodyRecord): JsonValue {
  const given = Object.hasOwn(body, member.name) ? (body[member.name] ?? null) : undefined;
  if ('link' in member) return isObject(given) ? (given[member.target.identifier.name] ?? null) : null;
  const value = member.generated ? null : given === undefined ? defaultOf(member) : given;
  return value !== null && member.caseless ? foldedValue(value) : value;
}

const defaultOf = ({ isNowByDefault, default: value }: Field): JsonValue => (isNowByDefault ? null : (value ?? null));

function repeats(
  type: RecordType,
  members: UniqueMembers['members'],
  { body, pointer }: BodyRecord,
  { body: earlier }: BodyRecord,
): readonly Fault[] {
  const [first] = members;
  const names = members.map(({ name }) => `"${name}"`).join(' and ');
  const message = `the seed record ${String(earlier[type.identifier.name])} has this value of ${names} already`;
  const isSaid = first !== undefined && Object.hasOwn(body, first.name);
  return [{ pointer: isSaid ? `${pointer}/${escapeStep(first.name)}` : pointer, code: 'unique', message }];
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
