/** Makes the Model of checked descriptors. Throws an Error if one is invalid. */
import {
  DEFAULTS,
  deletionOf,
  type Descriptor,
  type FieldDescriptor,
  foldedColumn,
  hiddenColumn,
  isNowByDefault,
  isNullable,
  joinTable,
  labelPaths,
  operationsOf,
  ownColumn,
  pairUp,
  pathOf,
  type RelationDescriptor,
  shapeOf,
  sideName,
  tableOf,
} from '../descriptor/descriptor.ts';
import { listed } from '../field-types/field-type.ts';
import { identifierKinds } from '../field-types/identifiers.ts';
import { fieldTypes } from '../field-types/registry.ts';
import { generatedName, pluralOf, snakeCase, titleFrom } from '../names.ts';
import { defined, resolveCheck } from './checks.ts';
import type { IdentifierField } from './identifier.ts';
import { ownedBy, reached } from './model.ts';
import type { Check, Field, Index, JoinTable, Link, Model, RecordType, Reference, Relation, Variant } from './model.ts';

export function resolveModel(descriptors: readonly Descriptor[]): Model {
  const types = new Map(descriptors.map((descriptor) => [descriptor.type, resolveType(descriptor)]));
  const joinTables = connect(descriptors, types);
  for (const descriptor of descriptors)
    resolveIndexes(descriptor, defined(types.get(descriptor.type), descriptor.type));
  const recorded = [...types.values()].filter(({ history }) => history);
  for (const type of reached(recorded, (one) => ownedBy(one).map(({ name }) => defined(types.get(name), name))))
    type.history = true;
  return freezeGraph({ types, joinTables });
}

export function resolveType(descriptor: Descriptor): Draft<RecordType> {
  const fields = new Map(
    Object.entries(descriptor.fields ?? {}).map(([name, field]) => [name, resolveField(name, field)]),
  );
  const { title = titleFrom(descriptor.type), label = '', list = {} } = descriptor;
  const paths = labelPaths(label);
  const variants = new Map<string, Variant>();
  for (const [variant, omitted] of Object.entries(descriptor.variants?.omit ?? { '': [] }))
    variants.set(variant, {
      name: variant,
      fields: [...fields.values()].filter((field) => !omitted.includes(field.name)),
    });
  return {
    name: descriptor.type,
    title: typeof title === 'string' ? { one: title, many: pluralOf(title) } : title,
    statementKey: descriptor.type,
    renamedFrom: descriptor.renamedFrom,
    description: descriptor.description ?? '',
    path: pathOf(descriptor),
    table: tableOf(descriptor),
    choosesTable: descriptor.table !== undefined,
    operations: operationsOf(descriptor),
    identifier: resolveIdentifier(descriptor),
    label: fields.get([label, ...paths].find((name) => fields.has(name)) ?? '') as Draft<Field> | undefined,
    presents: {
      label: paths.length > 0 ? label : undefined,
      section: descriptor.section,
      columns: list.columns && [...list.columns],
      order: list.order && [...list.order],
    },
    fields,
    hidden: [],
    relations: new Map(),
    references: [],
    referrers: [],
    // `field`: undefined for the identifier.
    order: (descriptor.order ?? []).map((term) => {
      const [field = '', direction = 'asc'] = term.split(/\s+/);
      return { field: fields.get(field) as Draft<Field>, descending: direction.toLowerCase() === 'desc' };
    }),
    indexes: [],
    checks: (descriptor.checks ?? []).map((check) => resolveCheck(check, fields) as Draft<Check>),
    maxLimit: list.maxLimit ?? DEFAULTS.maxLimit,
    count: list.count ?? DEFAULTS.count,
    open: descriptor.open ?? DEFAULTS.open,
    history: descriptor.history ?? DEFAULTS.history,
    variants,
    defaultVariant: defined(variants.get(descriptor.variants?.default ?? ''), 'default variant'),
    preconditions: descriptor.preconditions ?? DEFAULTS.preconditions,
    seed: [...(descriptor.seed ?? [])],
  };
}

function resolveIdentifier({ identifier: given = {} }: Descriptor): IdentifierField {
  const { name = DEFAULTS.identifier.name, type = DEFAULTS.identifier.type, examples = [], ...rest } = given;
  const { title = titleFrom(name), description = DEFAULTS.identifier.description, inRecord = true, ...others } = rest;
  const kind = defined(identifierKinds.get(type), type);
  const { by = kind.by, ...constraints } = others;
  const shape = { constraints: { ...kind.constraints, ...constraints }, examples };
  const next = by === 'service' ? kind.next : undefined;
  return { name, title, description, kind, type: kind.type, by, next, inRecord, column: name, ...shape };
}

export function resolveField(name: string, descriptor: FieldDescriptor): Field {
  const type = defined(fieldTypes.get(descriptor.type), descriptor.type);
  const { default: given } = isNowByDefault(descriptor) ? { default: undefined } : descriptor;
  return {
    name,
    title: descriptor.title ?? titleFrom(name),
    type,
    description: descriptor.description ?? '',
    ...shapeOf(descriptor),
    default: given === undefined || given === null ? given : (type.canonical?.(given) ?? given),
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
    shows: descriptor.shows,
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

/** Adds the descriptor's indexes, and an index for the default order. */
function resolveIndexes(descriptor: Descriptor, type: Draft<RecordType>): void {
  const index = (unique: boolean, names: readonly string[]): Index => ({
    name: generatedName(
      type.table,
      ...names.map((name) => type.fields.get(name)?.folded ?? name),
      unique ? 'unique' : 'index',
    ),
    unique,
    members: names.map((name) => defined(type.fields.get(name) ?? type.relations.get(name), name)),
  });
  const ordered = type.order.flatMap(({ field }) => (field ? [field.name] : []));
  const fields = [...type.fields.values()];
  const all = [
    ...fields.filter((field) => field.unique).map(({ name }) => index(true, [name])),
    ...(descriptor.unique ?? []).map((names) => index(true, names)),
    ...fields.filter((field) => field.index && !field.unique).map(({ name }) => index(false, [name])),
    ...(descriptor.indexes ?? []).map((names) => index(false, names)),
    ...(ordered.length > 0 ? [index(false, ordered)] : []),
  ];
  for (const one of new Map(all.map((entry) => [entry.name, entry])).values()) type.indexes.push(one);
}

interface DeclaredSide {
  readonly type: Draft<RecordType>;
  readonly target: Draft<RecordType>;
  readonly name: string;
  readonly relation: RelationDescriptor;
}

/** Sets the relations, references and referrers of every type; returns the join tables. */
function connect(descriptors: readonly Descriptor[], types: ReadonlyMap<string, Draft<RecordType>>): JoinTable[] {
  const typeOf = (name: string): Draft<RecordType> => defined(types.get(name), name);
  const sides = descriptors.flatMap(({ type, relations = {} }) =>
    Object.entries(relations).map(([name, relation]): DeclaredSide => {
      return { type: typeOf(type), target: typeOf(relation.type), name, relation };
    }),
  );
  const { inverse } = pairUp(sides);
  const connected = new Set<DeclaredSide>();
  const joinTables: JoinTable[] = [];
  for (const one of sides) {
    if (connected.has(one)) continue;
    const other = inverse(one);
    if (one.relation.kind === 'manyToMany') joinTables.push(connectByRows(one, other));
    else connectByColumn(one, other);
    connected.add(one);
    if (other) connected.add(other);
  }
  // Restores descriptor order: `connect` adds relations pair by pair.
  for (const { type, relations = {} } of descriptors) {
    const known = typeOf(type).relations;
    typeOf(type).relations = new Map(Object.keys(relations).map((name) => [name, defined(known.get(name), name)]));
  }
  return joinTables;
}

function relationOf({ type: source, target, name, relation: descriptor }: DeclaredSide, link: Link): Draft<Relation> {
  const owned = descriptor.owned ?? false;
  const relation: Draft<Relation> = {
    name,
    title: descriptor.title ?? titleFrom(name),
    kind: descriptor.kind,
    description: descriptor.description ?? '',
    renamedFrom: descriptor.renamedFrom,
    source,
    target,
    inverse: undefined,
    toMany: descriptor.kind === 'hasMany' || descriptor.kind === 'manyToMany',
    required: descriptor.required ?? false,
    owned,
    nested: descriptor.nested ?? (owned ? 'write' : 'link'),
    fields: target.defaultVariant.fields.filter((field) => descriptor.fields?.includes(field.name) ?? true),
    shown: descriptor.shown ?? true,
    link,
  };
  source.relations.set(name, relation);
  return relation;
}

/** Connects a belongsTo with its hasOne or hasMany by a foreign key; one side may be undeclared. */
function connectByColumn(one: DeclaredSide, other: DeclaredSide | undefined): void {
  const [child, parent] = one.relation.kind === 'belongsTo' ? [one, other] : [other, one];
  const [childType, parentType] = [child?.type ?? one.target, parent?.type ?? one.target];
  const chosen = (child ?? one).relation.column;
  const column = chosen ?? (child ? ownColumn(child.name) : hiddenColumn(one.type.name, one.name));
  const reference: Draft<Reference> = {
    column,
    exportName: column,
    isChosen: chosen !== undefined,
    target: parentType,
    onDelete: deletionOf(child?.relation, parent?.relation),
    required: child?.relation.required ?? false,
    unique: parent?.relation.kind === 'hasOne',
    acyclic: (child?.relation.acyclic ?? false) || (parent?.relation.acyclic ?? false),
    relation: undefined,
  };
  const below = child && relationOf(child, { at: 'source', reference });
  const above = parent && relationOf(parent, { at: 'target', reference });
  if (below) [below.inverse, reference.relation] = [above, below];
  if (above) above.inverse = below;
  childType.references.push(reference);
  parentType.referrers.push({ type: childType, reference });
}

/** Connects a manyToMany by a join table, named by `through` or the side that sorts first. */
function connectByRows(one: DeclaredSide, other: DeclaredSide | undefined): JoinTable {
  const [left = one, right] = [one, other].toSorted((a, b) => (a && b && sideName(b) < sideName(a) ? 1 : -1));
  const itself = left.type === left.target;
  const chosen = left.relation.through ?? right?.relation.through;
  const name = chosen ?? joinTable(left.type.table, left.name);
  const table: JoinTable = {
    name,
    exportName: name,
    isChosen: chosen !== undefined,
    first: 'left',
    left: { column: itself ? 'source_id' : generatedName(snakeCase(left.type.name), 'id'), type: left.type },
    right: { column: itself ? 'target_id' : generatedName(snakeCase(left.target.name), 'id'), type: left.target },
  };
  const [leftColumn, rightColumn] = [table.left.column, table.right.column];
  const forth = relationOf(left, { at: 'join', table, sourceColumn: leftColumn, targetColumn: rightColumn });
  const back = right && relationOf(right, { at: 'join', table, sourceColumn: rightColumn, targetColumn: leftColumn });
  forth.inverse = back;
  if (back) back.inverse = forth;
  return table;
}

/** Parts of the model are mutable until it is complete, since its graph has cycles. */
type Draft<T> = { -readonly [K in keyof T]: DraftPart<T[K]> };
type DraftPart<T> = T extends ReadonlyMap<infer K, infer V> ? Map<K, V> : T extends readonly (infer I)[] ? I[] : T;

/** Freezes everything reachable, including the values of Maps. */
function freezeGraph<T>(root: T): T {
  const partsOf = (part: unknown): Iterable<unknown> => {
    if (part instanceof Map) return part.values();
    return typeof part === 'object' ? Object.values(part ?? {}) : [];
  };
  for (const part of reached<unknown>([root], partsOf)) Object.freeze(part);
  return root;
}

/** Members that are not copied, since some of their values are compared by identity. */
const SHARED: ReadonlySet<string> = new Set(['constraints', 'examples', 'default', 'seed', 'whole']);

/** A copy of a Model; `revisions` maps its parts to members that replace theirs. */
export function revised(model: Model, revisions: ReadonlyMap<object, object>): Model {
  const copies = new Map<object, object>();
  const shared = new Set<unknown>([...fieldTypes.values(), ...identifierKinds.values()]);
  // Registers a copy before its members are copied: the graph has cycles.
  const known = <T extends object>(part: object, made: T): T => {
    copies.set(part, made);
    return made;
  };
  const copy = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null || part instanceof Set || shared.has(part)) return part;
    const done = copies.get(part);
    if (done !== undefined) return done;
    if (Array.isArray(part)) {
      const list = known(part, [] as unknown[]);
      for (const one of part) list.push(copy(one));
      return list;
    }
    if (part instanceof Map) {
      const map = known(part, new Map<unknown, unknown>());
      for (const [key, value] of part) map.set(key, copy(value));
      return map;
    }
    const object = known(part, {} as Record<string, unknown>);
    for (const [key, value] of Object.entries({ ...part, ...revisions.get(part) }))
      object[key] = SHARED.has(key) ? value : copy(value);
    return object;
  };
  return freezeGraph(copy(model) as Model);
}
