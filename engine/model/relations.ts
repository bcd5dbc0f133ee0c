/** Connects the types: the column or join table of each relation, and its inverse. */
import {
  deletionOf,
  type Descriptor,
  hiddenColumn,
  joinTable,
  ownColumn,
  pairUp,
  type RelationDescriptor,
} from '../descriptor/descriptor.ts';
import { generatedName, snakeCase, titleFrom } from '../names.ts';
import type { Draft } from './resolve.ts';
import type { JoinTable, Link, RecordType, Reference, Relation } from './model.ts';

/** A relation as the descriptor of one type has it. */
interface DeclaredSide {
  readonly source: Draft<RecordType>;
  readonly target: Draft<RecordType>;
  readonly name: string;
  readonly descriptor: RelationDescriptor;
}

type TypeDrafts = ReadonlyMap<string, Draft<RecordType>>;

/** Sets the relations, references and referrers of every type; returns the join tables. */
export function connect(descriptors: readonly Descriptor[], types: TypeDrafts): JoinTable[] {
  const sides = descriptors.flatMap((descriptor) =>
    Object.entries(descriptor.relations ?? {}).map(([name, relation]) => side(types, descriptor.type, name, relation)),
  );
  const { inverse } = pairUp(sides, ({ source, name, descriptor }) => ({
    type: source.name,
    name,
    relation: descriptor,
  }));
  const connected = new Set<DeclaredSide>();
  const joinTables: JoinTable[] = [];
  for (const one of sides) {
    if (connected.has(one)) continue;
    const other = inverse(one);
    if (one.descriptor.kind === 'manyToMany') joinTables.push(connectByRows(one, other));
    else if (one.descriptor.kind === 'belongsTo') connectByColumn(one, other);
    else connectByColumn(other, one);
    connected.add(one);
    if (other) connected.add(other);
  }
  for (const type of types.values()) inDescriptorOrder(type, sides);
  return joinTables;
}

function side(types: TypeDrafts, source: string, name: string, descriptor: RelationDescriptor): DeclaredSide {
  const [sourceType, targetType] = [types.get(source), types.get(descriptor.type)];
  if (!sourceType || !targetType) throw new Error(`"${descriptor.type}" was not checked by the descriptor stage`);
  return { source: sourceType, target: targetType, name, descriptor };
}

function relationOf({ source, target, name, descriptor }: DeclaredSide, link: Link): Draft<Relation> {
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

/** belongsTo on one side, hasOne or hasMany on the other; only one side may be declared. */
function connectByColumn(child: DeclaredSide | undefined, parent: DeclaredSide | undefined): void {
  const [childType, parentType] = [child?.source ?? parent?.target, child?.target ?? parent?.source];
  if (!childType || !parentType) return;
  const column = columnOf(child, parent);
  const reference: Draft<Reference> = {
    column,
    exportName: column,
    target: parentType,
    onDelete: deletionOf(child?.descriptor, parent?.descriptor),
    required: child?.descriptor.required ?? false,
    unique: parent?.descriptor.kind === 'hasOne',
    acyclic: (child?.descriptor.acyclic ?? false) || (parent?.descriptor.acyclic ?? false),
    relation: undefined,
  };
  const below = child && relationOf(child, { at: 'source', reference });
  const above = parent && relationOf(parent, { at: 'target', reference });
  if (below) [below.inverse, reference.relation] = [above, below];
  if (above) above.inverse = below;
  childType.references.push(reference);
  parentType.referrers.push({ type: childType, reference });
}

function columnOf(child: DeclaredSide | undefined, parent: DeclaredSide | undefined): string {
  if (child) return child.descriptor.column ?? ownColumn(child.name);
  if (!parent) throw new Error('a relation has at least one side');
  return parent.descriptor.column ?? hiddenColumn(parent.source.name, parent.name);
}

/** A join table. The side that sorts first names it, unless `through` does. */
function connectByRows(one: DeclaredSide, other: DeclaredSide | undefined): JoinTable {
  const [left = one, right] = [one, other].toSorted((a, b) => (a && b && sideKey(b) < sideKey(a) ? 1 : -1));
  const itself = left.source === left.target;
  const name = left.descriptor.through ?? right?.descriptor.through ?? joinTable(left.source.table, left.name);
  const table: JoinTable = {
    name,
    exportName: name,
    first: 'left',
    left: { column: itself ? 'source_id' : generatedName(snakeCase(left.source.name), 'id'), type: left.source },
    right: { column: itself ? 'target_id' : generatedName(snakeCase(left.target.name), 'id'), type: left.target },
  };
  const [leftColumn, rightColumn] = [table.left.column, table.right.column];
  const forth = relationOf(left, { at: 'join', table, sourceColumn: leftColumn, targetColumn: rightColumn });
  const back = right && relationOf(right, { at: 'join', table, sourceColumn: rightColumn, targetColumn: leftColumn });
  forth.inverse = back;
  if (back) back.inverse = forth;
  return table;
}

const sideKey = ({ source, name }: DeclaredSide): string => `${source.name}.${name}`;

/** Sorts relations, which were added in the order of connecting, into the order of the descriptor. */
function inDescriptorOrder(type: Draft<RecordType>, sides: readonly DeclaredSide[]): void {
  const names = sides.filter(({ source }) => source === type).map(({ name }) => name);
  const relations = names.flatMap((name) => type.relations.get(name) ?? []);
  type.relations.clear();
  for (const relation of relations) type.relations.set(relation.name, relation);
}
