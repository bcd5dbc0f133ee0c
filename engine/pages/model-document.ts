/** The model for a user interface: the types and relations that one client sees, and what it may do. */
import { byName, describeField, describeRelation, describeType } from '../describe/describe.ts';
import { API_ROOT } from '../http/routes.ts';
import { integer } from '../field-types/integer.ts';
import { isObject, type JsonObject } from '../json/json.ts';
import {
  type Field,
  labelAmong,
  MAX_INCLUDE_DEPTH,
  type Model,
  type RecordType,
  type Relation,
} from '../model/model.ts';
import { canSet, requiresHidden, type Rights, seenModel } from '../model/rights.ts';
import type { OrderBy } from '../query/list-query.ts';
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

/** The same for all clients with equal rights. `prefix`: the path that the service is reached under. */
export function modelDocument(
  model: Model,
  rights: Rights,
  about: { readonly limits: RequestLimits; readonly title: string; readonly version: string },
  prefix: string,
): JsonObject {
  const types = [...seenModel(model, rights).types.values()];
  const listed = types.filter(({ operations }) => operations.has('list')).map(chainsFrom);
  return {
    title: about.title,
    version: about.version,
    api: prefix + API_ROOT.slice(0, -1),
    limits: Object.fromEntries(LIMITS.map((name) => [name, about.limits[name]])),
    types: types.map((type) => typeEntry(type, model, rights, listed)),
  };
}

/** The words of descriptors that are about tables, or about other versions of the descriptor. */
const OF_TABLES: ReadonlySet<string> = new Set(['table', 'seed', 'renamedFrom', 'column', 'through']);

const withoutTables = (described: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(described).filter(([word]) => !OF_TABLES.has(word)));

function typeEntry(type: RecordType, model: Model, rights: Rights, listed: readonly Chains[]): JsonObject {
  const isIndexed = (order: readonly OrderBy[]): boolean => servedByIndex({ view: { type }, order });
  const described = withoutTables(describeType(type));
  return {
    ...described,
    label: labelOf(type, type.defaultVariant.fields),
    labels: Object.fromEntries([...type.variants.values()].map(({ name, fields }) => [name, labelOf(type, fields)])),
    identifier: {
      ...(isObject(described['identifier']) ? described['identifier'] : {}),
      operators: [...integer.operators],
      isOrderIndexed: isIndexed(orderBy(type, undefined)),
    },
    isOrderIndexed: isIndexed(defaultOrder(type)),
    fields: byName(type.fields.values(), (field) => ({
      ...withoutTables(describeField(field)),
      operators: [...field.type.operators],
      isOrderIndexed: field.type.operators.length > 0 && isIndexed(orderBy(type, field)),
    })),
    relations: byName(type.relations.values(), (relation) => {
      const { nested, target, toMany, fields } = relation;
      const isReadOnly = !canSet(rights, relation);
      const related = model.types.get(target.name);
      return {
        ...withoutTables(describeRelation(relation)),
        label: labelOf(target, fields),
        operators: toMany ? [] : [...integer.operators],
        readOnly: isReadOnly,
        // An update of a record that is there needs no more than "nested: write".
        canCreate: nested === 'write' && !isReadOnly && related !== undefined && !requiresHidden(rights, related),
      };
    }),
    foundThrough: type.operations.has('list') ? [] : chainsTo(type, listed),
  };
}

const labelOf = (type: RecordType, shown: readonly Field[]): string | null => labelAmong(type, shown)?.name ?? null;

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
