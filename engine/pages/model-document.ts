/** The model for a user interface: the types, relations and operations visible to one client. */
import { describeField, describeRelation, describeType } from '../describe/describe.ts';
import { API_ROOT } from '../http/routes.ts';
import { byName, isObject, type JsonObject } from '../json/json.ts';
import type { Turns } from '../memo.ts';
import {
  type Field,
  labelAmong,
  MAX_INCLUDE_DEPTH,
  type Model,
  type RecordType,
  type Relation,
  wholeOf,
} from '../model/model.ts';
import { requiresHidden, type Rights, seenModel, takes } from '../model/rights.ts';
import { orderBy } from '../query/paging.ts';
import type { Settings } from '../settings/settings.ts';
import { servedByIndex } from '../storage/read/heaviness.ts';

const LIMITS = ['batchLimit', 'bodyItems', 'bodyLimit', 'maxFilters', 'maxIncludes', 'writeRows'] as const;

/** Equal for all clients with equal rights. `prefix`: the path of the service. */
export function* modelDocument(
  model: Model,
  rights: Rights,
  about: { readonly limits: Pick<Settings, (typeof LIMITS)[number]>; readonly title: string },
  prefix: string,
): Turns<JsonObject> {
  const types = [...seenModel(model, rights).types.values()];
  const listed: Chains[] = [];
  for (const type of types) {
    yield;
    if (type.operations.has('list')) listed.push(chainsFrom(type));
  }
  const entries: JsonObject[] = [];
  for (const type of types) {
    yield;
    entries.push(typeEntry(type, rights, listed));
  }
  return {
    title: about.title,
    api: prefix + API_ROOT.slice(0, -1),
    limits: Object.fromEntries(LIMITS.map((name) => [name, about.limits[name]])),
    rightsByRecord: rights.checked !== undefined,
    types: entries,
  };
}

const OF_TABLES: ReadonlySet<string> = new Set(['table', 'seed', 'renamedFrom', 'column', 'through']);

const withoutTables = (described: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(described).filter(([word]) => !OF_TABLES.has(word)));

function typeEntry(type: RecordType, rights: Rights, listed: readonly Chains[]): JsonObject {
  const described = withoutTables(describeType(type));
  const choosing = ({ name }: Field | Relation): JsonObject => {
    const [first, other] = (['create', 'update'] as const).filter((action) => takes(rights, type, action, name));
    return first === undefined ? { readOnly: true } : other === undefined ? { chosenOn: first } : {};
  };
  return {
    ...described,
    label: labelOf(type, type.defaultVariant.fields),
    ...(type.presents.label === undefined ? {} : { labelText: type.presents.label }),
    identifier: {
      ...(isObject(described['identifier']) ? described['identifier'] : {}),
      operators: [...type.identifier.type.operators],
    },
    fields: byName(type.fields.values(), (field) => ({
      ...withoutTables(describeField(field)),
      ...choosing(field),
      operators: [...field.type.operators],
      isOrderIndexed: field.type.operators.length > 0 && servedByIndex({ view: { type }, order: orderBy(type, field) }),
    })),
    relations: byName(type.relations.values(), (relation) => {
      const { nested, target, toMany, fields, readOnly } = relation;
      return {
        ...withoutTables(describeRelation(relation)),
        label: labelOf(target, fields),
        operators: toMany ? [] : [...target.identifier.type.operators],
        ...choosing(relation),
        // Unlike create, updating a related record requires only "nested: write".
        canCreate: nested === 'write' && !readOnly && !requiresHidden(rights, wholeOf(target)),
      };
    }),
    foundThrough: type.operations.has('list') ? [] : waysTo(type, listed),
  };
}

const labelOf = (type: RecordType, shown: readonly Field[]): string | null => labelAmong(type, shown)?.name ?? null;

/** Relations, each from the previous one's target. */
type Chain = readonly Relation[];
type Chains = ReadonlyMap<RecordType, readonly Chain[]>;

const isToOne = (chain: Chain): boolean => chain.every(({ toMany }) => !toMany);

/** The shortest chains to each type reachable by relations. */
function chainsFrom(from: RecordType): Chains {
  const chainsTo = new Map<RecordType, readonly Chain[]>();
  let chains: readonly Chain[] = [[]];
  for (let depth = 0; depth < MAX_INCLUDE_DEPTH; depth += 1) {
    const longer = chains.flatMap((chain) =>
      [...(chain.at(-1)?.target ?? from).relations.values()].map((relation) => [...chain, relation]),
    );
    const fresh = Map.groupBy(longer, (chain) => chain.at(-1)?.target ?? from);
    for (const [type, some] of fresh) if (!chainsTo.has(type)) chainsTo.set(type, some);
    chains = [...fresh.values()].flatMap(([first]) => (first ? [first] : []));
  }
  return chainsTo;
}

/** Lists and summaries that reach a type without a list. Summaries cannot group by `toMany` relations: these come last. */
const waysTo = (target: RecordType, listed: readonly Chains[]): readonly JsonObject[] =>
  listed
    .flatMap((chains) => chains.get(target) ?? [])
    .toSorted((a, b) => Number(isToOne(b)) - Number(isToOne(a)) || a.length - b.length)
    .map((chain) => ({
      type: chain[0]?.source.name ?? '',
      relation: chain.map(({ name }) => name).join('.'),
      toMany: !isToOne(chain),
    }));
