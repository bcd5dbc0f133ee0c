/** Checked descriptors -> Model: defaults filled in, names turned into references, everything frozen. */
import {
  DEFAULTS,
  type Descriptor,
  type FieldDescriptor,
  foldedColumn,
  identifierName,
  isNowByDefault,
  isNullable,
  operationsOf,
  pathOf,
  shapeOf,
  tableOf,
  type TypeTitle,
} from '../descriptor/descriptor.ts';
import { listed } from '../field-types/field-type.ts';
import { fieldTypes } from '../field-types/registry.ts';
import type { JsonObject } from '../json/json.ts';
import { generatedName, pluralOf, titleFrom } from '../names.ts';
import { NO_RAW_VALUES, type RawValues } from '../json/tokenizer.ts';
import {
  type Check,
  type Field,
  type Index,
  type Model,
  type OrderTerm,
  type RecordType,
  type Variant,
} from './model.ts';
import { resolveCheck } from './checks.ts';
import { connect } from './relations.ts';

/** The descriptors must have been checked: a fault in them throws an internal Error. */
export function resolveModel(descriptors: readonly Descriptor[], raw: RawValues = NO_RAW_VALUES): Model {
  const types = new Map(descriptors.map((descriptor) => [descriptor.type, resolveType(descriptor, raw)]));
  const joinTables = connect(descriptors, types);
  for (const descriptor of descriptors) resolveIndexes(descriptor, must(types.get(descriptor.type), descriptor.type));
  return freezeGraph({ types, joinTables });
}

export function must<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`"${name}" was not checked by the descriptor stage`);
  return value;
}

function resolveType(descriptor: Descriptor, raw: RawValues): Draft<RecordType> {
  const fields = new Map(
    Object.entries(descriptor.fields ?? {}).map(([name, field]) => [name, resolveField(name, field, raw)]),
  );
  const name = identifierName(descriptor);
  const variants = resolveVariants(descriptor, fields);
  return {
    name: descriptor.type,
    title: resolveTitle(descriptor),
    statementKey: descriptor.type,
    renamedFrom: descriptor.renamedFrom,
    description: descriptor.description ?? '',
    path: pathOf(descriptor),
    table: tableOf(descriptor),
    operations: operationsOf(descriptor),
    identifier: {
      name,
      title: descriptor.identifier?.title ?? titleFrom(name),
      description: descriptor.identifier?.description ?? DEFAULTS.identifier.description,
      inRecord: descriptor.identifier?.inRecord ?? DEFAULTS.identifier.inRecord,
      column: name,
    },
    label:
      descriptor.label === undefined
        ? undefined
        : (must(fields.get(descriptor.label), descriptor.label) as Draft<Field>),
    fields,
    hidden: [],
    relations: new Map(),
    references: [],
    referrers: [],
    order: resolveOrder(descriptor.order ?? [], fields),
    indexes: [],
    checks: (descriptor.checks ?? []).map((check) => resolveCheck(check, fields) as Draft<Check>),
    maxLimit: descriptor.list?.maxLimit ?? DEFAULTS.maxLimit,
    count: descriptor.list?.count ?? DEFAULTS.count,
    open: descriptor.open ?? DEFAULTS.open,
    variants,
    defaultVariant: must(variants.get(descriptor.variants?.default ?? ''), 'default variant'),
    preconditions: descriptor.preconditions ?? DEFAULTS.preconditions,
    seed: [...(descriptor.seed ?? [])],
    seedRaw: new Map(descriptor.seed ? raw : NO_RAW_VALUES),
  };
}

function resolveTitle({ type, title = titleFrom(type) }: Descriptor): TypeTitle {
  return typeof title === 'string' ? { one: title, many: pluralOf(title) } : title;
}

function resolveField(name: string, descriptor: FieldDescriptor, raw: RawValues): Field {
  const type = must(fieldTypes.get(descriptor.type), descriptor.type);
  const { default: given } = isNowByDefault(descriptor) ? { default: undefined } : descriptor;
  return {
    name,
    title: descriptor.title ?? titleFrom(name),
    type,
    description: descriptor.description ?? '',
    ...shapeOf(descriptor),
    default: given === undefined || given === null ? given : (type.canonical?.(given) ?? given),
    defaultText: raw.get(descriptor as JsonObject)?.get('default')?.text,
    isNowByDefault: isNowByDefault(descriptor),
    generated: descriptor.generated,
    required: descriptor.required ?? false,
    nullable: isNullable(descriptor),
    readOnly: descriptor.readOnly ?? false,
    sensitive: descriptor.sensitive ?? false,
    unique: descriptor.unique ?? false,
    index: descriptor.index ?? false,
    caseless: descriptor.caseless ?? false,
    multiline: descriptor.multiline ?? false,
    valueTitles: new Map(
      (listed(shapeOf(descriptor)) ?? [])
        .map(String)
        .map((value) => [value, descriptor.titles?.[value] ?? titleFrom(value)]),
    ),
    folded: descriptor.caseless ? foldedColumn(name) : undefined,
    renamedFrom: descriptor.renamedFrom,
    column: name,
  };
}

/** Terms that name the identifier have no field. */
function resolveOrder(terms: readonly string[], fields: ReadonlyMap<string, Field>): OrderTerm[] {
  return terms.map((term) => {
    const [name = '', direction = 'asc'] = term.split(/\s+/);
    return { field: fields.get(name), descending: direction.toLowerCase() === 'desc' };
  });
}

function resolveVariants(descriptor: Descriptor, fields: ReadonlyMap<string, Field>): Map<string, Variant> {
  const omit = descriptor.variants?.omit ?? { '': [] };
  return new Map(
    Object.entries(omit).map(([name, omitted]) => [
      name,
      { name, fields: [...fields.values()].filter((field) => !omitted.includes(field.name)) },
    ]),
  );
}

/** Unique and ordinary indexes of the descriptor, and one that serves the default order. */
function resolveIndexes(descriptor: Descriptor, type: Draft<RecordType>): void {
  const index = (unique: boolean, names: readonly string[]): Index => ({
    name: generatedName(
      type.table,
      ...names.map((name) => type.fields.get(name)?.folded ?? name),
      unique ? 'unique' : 'index',
    ),
    unique,
    members: names.map((name) => must(type.fields.get(name) ?? type.relations.get(name), name)),
  });
  const ordered = type.order.flatMap(({ field }) => (field ? [field.name] : []));
  const all = [
    ...[...type.fields.values()].filter((field) => field.unique).map((field) => index(true, [field.name])),
    ...(descriptor.unique ?? []).map((names) => index(true, names)),
    ...[...type.fields.values()]
      .filter((field) => field.index && !field.unique)
      .map((field) => index(false, [field.name])),
    ...(descriptor.indexes ?? []).map((names) => index(false, names)),
    ...(ordered.length > 0 ? [index(false, ordered)] : []),
  ];
  for (const one of new Map(all.map((entry) => [entry.name, entry])).values()) type.indexes.push(one);
}

// A frozen graph with cycles cannot be created in one step: its parts are drafts until it is complete.

/** The mutable form of an object under construction. */
export type Draft<T> = { -readonly [K in keyof T]: DraftPart<T[K]> };
type DraftPart<T> = T extends ReadonlyMap<infer K, infer V> ? Map<K, V> : T extends readonly (infer I)[] ? I[] : T;

/** Freezes everything reachable, including the values of Maps. */
export function freezeGraph<T>(root: T): T {
  const seen = new Set<unknown>();
  const queue: unknown[] = [root];
  for (const part of queue) {
    if (typeof part !== 'object' || part === null || seen.has(part)) continue;
    seen.add(part);
    Object.freeze(part);
    for (const one of part instanceof Map ? part.values() : Object.values(part)) queue.push(one);
  }
  return root;
}

// A copy of a Model in which some parts are others.

/** What is different about parts of a Model: fields, references, types, whatever it is made of. */
type Revisions = ReadonlyMap<object, object>;

/** These are no parts of the graph: some are known by their identity. */
const SHARED: ReadonlySet<string> = new Set(['constraints', 'examples', 'default', 'seed', 'seedRaw']);

export function revised(model: Model, revisions: Revisions): Model {
  const copies = new Map<object, object>();
  const shared = new Set<unknown>(fieldTypes.values());

  function copy(part: unknown): unknown {
    if (typeof part !== 'object' || part === null || part instanceof Set || shared.has(part)) return part;
    return (
      copies.get(part) ??
      (Array.isArray(part) ? copyList(part) : part instanceof Map ? copyMap(part) : copyObject(part))
    );
  }

  function copyList(part: readonly unknown[]): unknown {
    const list: unknown[] = [];
    copies.set(part, list);
    for (const one of part) list.push(copy(one));
    return list;
  }

  function copyMap(part: ReadonlyMap<unknown, unknown>): unknown {
    const map = new Map<unknown, unknown>();
    copies.set(part, map);
    for (const [key, value] of part) map.set(key, copy(value));
    return map;
  }

  function copyObject(part: object): unknown {
    const object: Record<string, unknown> = {};
    copies.set(part, object);
    for (const [key, value] of Object.entries({ ...part, ...revisions.get(part) }))
      object[key] = SHARED.has(key) ? value : copy(value);
    return object;
  }

  return freezeGraph(copy(model) as Model);
}
