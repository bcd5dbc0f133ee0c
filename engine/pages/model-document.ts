/** The model for a user interface: the types and relations that one client sees, and what it may do. */
import { describeType } from '../describe/describe.ts';
import { API_ROOT } from '../http/routes.ts';
import { integer } from '../field-types/integer.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import {
  type Field,
  labelAmong,
  MAX_INCLUDE_DEPTH,
  type Model,
  type RecordType,
  type Relation,
} from '../model/model.ts';
import { canSet, requiresHidden, type Rights, seenModel } from '../model/rights.ts';
import { defaultOrder, orderBy } from '../query/paging.ts';
import type { Settings } from '../settings/settings.ts';
import { servedByIndex } from '../storage/read/lists.ts';

/** The limits that a request can reach. Those of a type's lists are among what is said of the type. */
const LIMITS = [
  'batchLimit',
  'bodyDepth',
  'bodyItems',
  'bodyKeys',
  'bodyLimit',
  'maxFilters',
  'maxIncludes',
  'urlLimit',
  'writeRows',
] as const satisfies readonly (keyof Settings)[];

export type RequestLimits = Pick<Settings, (typeof LIMITS)[number]>;

interface AboutModel {
  readonly limits: RequestLimits;
  readonly title: string;
  readonly version: string;
}

/** The same for all clients with equal rights. `prefix`: the path that the service is reached under. */
export function modelDocument(model: Model, rights: Rights, about: AboutModel, prefix: string): JsonObject {
  const types = [...seenModel(model, rights).types.values()];
  const listed = types.filter(({ operations }) => operations.has('list')).map(chainsFrom);
  return {
    title: about.title,
    version: about.version,
    api: prefix + API_ROOT.slice(0, -1),
    limits: Object.fromEntries(LIMITS.map((name) => [name, about.limits[name]])),
    types: types.map((type) => typeEntry(type, { model, rights }, listed)),
  };
}

/** The words of descriptors that are about tables, or about other versions of the descriptor. */
const OF_TABLES: ReadonlySet<string> = new Set(['table', 'seed', 'renamedFrom', 'column', 'through']);

const withoutTables = (described: JsonValue | undefined): JsonObject =>
  isObject(described) ? Object.fromEntries(Object.entries(described).filter(([word]) => !OF_TABLES.has(word))) : {};

/** All types, and what the client may do with them. */
interface Whole {
  readonly model: Model;
  readonly rights: Rights;
}

function typeEntry(type: RecordType, client: Whole, listed: readonly Chains[]): JsonObject {
  const { fields, relations, identifier, ...described } = withoutTables(describeType(type));
  const [fieldWords, relationWords] = [fields, relations].map((words) => (isObject(words) ? words : {}));
  return {
    ...described,
    label: labelOf(type, type.defaultVariant.fields),
    labels: Object.fromEntries(
      [...type.variants.values()].map(({ name, fields: shown }) => [name, labelOf(type, shown)]),
    ),
    identifier: {
      ...withoutTables(identifier),
      operators: [...integer.operators],
      isOrderIndexed: servedByIndex({ view: { type }, order: orderBy(type, undefined) }),
    },
    isOrderIndexed: servedByIndex({ view: { type }, order: defaultOrder(type) }),
    fields: Object.fromEntries(
      [...type.fields.values()].map((field) => [field.name, fieldEntry(type, field, fieldWords?.[field.name])]),
    ),
    relations: Object.fromEntries(
      [...type.relations.values()].map((relation) => [
        relation.name,
        relationEntry(relation, client, relationWords?.[relation.name]),
      ]),
    ),
    foundThrough: type.operations.has('list') ? [] : chainsTo(type, listed),
  };
}

const labelOf = (type: RecordType, shown: readonly Field[]): string | null => labelAmong(type, shown)?.name ?? null;

const fieldEntry = (type: RecordType, field: Field, described: JsonValue | undefined): JsonObject => ({
  ...withoutTables(described),
  operators: [...field.type.operators],
  isOrderIndexed: field.type.operators.length > 0 && servedByIndex({ view: { type }, order: orderBy(type, field) }),
});

function relationEntry(relation: Relation, { model, rights }: Whole, described: JsonValue | undefined): JsonObject {
  const { nested, target, toMany, fields } = relation;
  const isReadOnly = !canSet(rights, relation);
  const related = model.types.get(target.name);
  return {
    ...withoutTables(described),
    label: labelOf(target, fields),
    operators: toMany ? [] : [...integer.operators],
    readOnly: isReadOnly,
    // An update of a record that is there needs no more than "nested: write".
    canCreate: nested === 'write' && !isReadOnly && related !== undefined && !requiresHidden(rights, related),
  };
}

// Records of a type without a list of its own are found in the lists and summaries of the types that lead to them.

/** Relations that lead to a type one after the other. */
type Chain = readonly Relation[];

type Chains = ReadonlyMap<RecordType, readonly Chain[]>;

const isToOne = (chain: Chain): boolean => chain.every(({ toMany }) => !toMany);

/**
 * The ways from a type to the others: its own relations, and where none leads, the first of the shortest ways. Through
 * relations to one record, a summary finds every record once, and in order: such ways count as shorter.
 */
function chainsFrom(type: RecordType): Chains {
  const found = new Map<RecordType, readonly Chain[]>();
  for (const relation of type.relations.values())
    found.set(relation.target, [...(found.get(relation.target) ?? []), [relation]]);
  for (const onlyToOne of [true, false]) {
    const queue = [...found.values()].flat().filter((chain) => !onlyToOne || isToOne(chain));
    for (const chain of queue) {
      if (chain.length === MAX_INCLUDE_DEPTH) continue;
      for (const relation of chain.at(-1)?.target.relations.values() ?? []) {
        if (found.has(relation.target) || (onlyToOne && relation.toMany)) continue;
        const longer = [...chain, relation];
        found.set(relation.target, [longer]);
        queue.push(longer);
      }
    }
  }
  return found;
}

const byEffort = (one: Chain, other: Chain): number =>
  Number(isToOne(other)) - Number(isToOne(one)) || one.length - other.length;

/** `toMany`: a summary cannot group by it. */
const chainsTo = (target: RecordType, listed: readonly Chains[]): readonly JsonObject[] =>
  listed
    .flatMap((chains) => chains.get(target) ?? [])
    .toSorted(byEffort)
    .map((chain) => ({
      type: chain[0]?.source.name ?? '',
      relation: chain.map(({ name }) => name).join('.'),
      toMany: !isToOne(chain),
    }));
