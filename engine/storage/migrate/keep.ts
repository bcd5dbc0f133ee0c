/**
 * What the tables have and the descriptors do not name stays, until somebody allows its drop: the Model of the tables is
 * made of both.
 */
import { fieldTypes } from '../../field-types/registry.ts';
import {
  type Field,
  type JoinTable,
  type Model,
  OPEN_COLUMN,
  type RecordType,
  type Relation,
} from '../../model/model.ts';
import type { Draft } from '../../model/resolve.ts';
import { StartError } from '../../problem.ts';
import type { Dialect } from '../dialect.ts';
import { tablesOf } from '../tables.ts';
import { type AppliedField, type AppliedJoin, type AppliedReference, identifierNameOf, nameKey } from './applied.ts';
import { changeOf, type TypeChange } from './change.ts';
import { columnsBefore, type Comparison, compareType, memberAt, type NamedField, type NamedType } from './compare.ts';
import { droppedFieldStep, droppedFoldedStep } from './fields.ts';
import { droppedJoinStep, droppedReferenceStep } from './relations.ts';
import { type MigrationStep, stepId } from './steps.ts';
import { closeStep, droppedIndexStep, droppedTypeStep } from './types.ts';

interface Keeping {
  /** The types of the tables, by name; copies of those that the descriptors name. */
  readonly types: Map<string, Draft<RecordType>>;
  /** The same, by the names that they had. */
  readonly currents: Map<string, Draft<RecordType>>;
  readonly joinTables: JoinTable[];
  readonly steps: MigrationStep[];
  readonly letGo: ReadonlySet<string>;
}

interface KeptChange {
  readonly change: TypeChange;
  readonly type: Draft<RecordType>;
  readonly isNamed: boolean;
}

/**
 * `letGo`: ids of the steps that drop what need not be kept. Some things cannot be kept: a column or a table whose name
 * something else takes, a column that every new record needs a value for, and an index over values that have no order.
 */
export function keptModel(
  asked: Comparison,
  model: Model,
  dialect: Dialect,
  letGo: ReadonlySet<string>,
): { readonly tables: Model; readonly steps: readonly MigrationStep[] } {
  const types = new Map([...model.types].map(([name, type]) => [name, copied(type)]));
  const keeping: Keeping = { types, currents: new Map(), joinTables: [...model.joinTables], steps: [], letGo };
  const kept = asked.types.flatMap((pair): readonly KeptChange[] => {
    const type = types.get(pair.type.name);
    if (!type) return [];
    keeping.currents.set(pair.before.name, type);
    return [{ change: changeOf(pair, dialect), type, isNamed: true }];
  });
  for (const before of asked.dropped) {
    const type = keepType(keeping, before, dialect);
    if (type) kept.push({ change: changeOf(compareType(type, before), dialect), type, isNamed: false });
  }
  for (const one of kept) keepColumns(keeping, one);
  for (const join of asked.joins.dropped) keepJoin(keeping, join, dialect);
  // Their members are fields and relations that may be kept themselves.
  for (const one of kept) keepIndexes(keeping, one);
  return { tables: { types, joinTables: keeping.joinTables }, steps: keeping.steps };
}

/** Whether this drop is not wanted; `isTold`: a drop of something greater includes it otherwise. */
function stays({ letGo, steps }: Keeping, step: MigrationStep, isTold = true): boolean {
  if (letGo.has(stepId(step))) return false;
  if (isTold) steps.push(step);
  return true;
}

const copied = (type: RecordType): Draft<RecordType> =>
  Object.fromEntries(
    Object.entries(type).map(([key, part]) => [
      key,
      part instanceof Map ? new Map(part) : Array.isArray(part) ? [...(part as readonly unknown[])] : part,
    ]),
  ) as unknown as Draft<RecordType>;

const isFree = (name: string, taken: Iterable<string>): boolean =>
  ![...taken].some((one) => nameKey(one) === nameKey(name));

/** The name itself, unless something new has it. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let found = name;
  for (let count = 2; !isFree(found, taken.keys()); count += 1) found = `${name} ${count}`;
  return found;
}

/** A type that no descriptor names: nothing but its table is known. */
function keepType(keeping: Keeping, before: NamedType, dialect: Dialect): Draft<RecordType> | undefined {
  const { table, identifier, open } = before;
  if (!isFree(table, tablesOf(keeping)) || !stays(keeping, droppedTypeStep(before, dialect))) return undefined;
  const name = freeName(before.name, keeping.types);
  const variant = { name: '', fields: [] };
  const type: Draft<RecordType> = {
    name,
    title: { one: name, many: name },
    statementKey: name,
    renamedFrom: undefined,
    description: '',
    path: name,
    table,
    operations: new Set(),
    open,
    identifier: { name: identifierNameOf(before), title: '', description: '', inRecord: true, column: identifier },
    label: undefined,
    fields: new Map(),
    hidden: [],
    relations: new Map(),
    references: [],
    referrers: [],
    order: [],
    indexes: [],
    checks: [],
    maxLimit: 0,
    count: 'exact',
    variants: new Map([['', variant]]),
    defaultVariant: variant,
    preconditions: 'optional',
    seed: [],
    seedRaw: new Map(),
  };
  keeping.types.set(name, type);
  keeping.currents.set(before.name, type);
  return type;
}

function keepColumns(keeping: Keeping, { change, type, isNamed }: KeptChange): void {
  const { before, fields, references } = change;
  if (before.open && !type.open) type.open = stays(keeping, closeStep(change));
  for (const { after, before: was } of fields.kept)
    if (isNamed && !after.caseless && after.folded !== undefined && was.folded !== undefined)
      keeping.steps.push(droppedFoldedStep(change, was, after.name));
  for (const field of fields.dropped) {
    if ((isNamed && isNeeded(field)) || !isColumnFree(type, field.column)) continue;
    if (!stays(keeping, droppedFieldStep(change, field), isNamed)) continue;
    const name = freeName(field.name, type.fields);
    type.fields.set(name, unnamedField({ ...field, name }));
  }
  for (const reference of references.dropped) {
    const target = keeping.currents.get(reference.target);
    if (!target || (isNamed && reference.required) || !isColumnFree(type, reference.column)) continue;
    if (stays(keeping, droppedReferenceStep(change, reference), isNamed)) keepReference(type, target, reference);
  }
}

/** Names may be those of something new: only columns must differ. */
const isColumnFree = ({ identifier, fields, references }: RecordType, column: string): boolean =>
  isFree(column, [identifier.column, OPEN_COLUMN, ...[...fields.values(), ...references].map((one) => one.column)]);

export const isNeeded = ({
  nullable,
  default: value,
  isNowByDefault = false,
}: Pick<AppliedField, 'nullable' | 'default' | 'isNowByDefault'>): boolean =>
  !nullable && value === null && !isNowByDefault;

/** A field of which only the column is known. */
export function unnamedField({ name, type, constraints, column, nullable, ...before }: NamedField): Field {
  const fieldType = fieldTypes.get(type);
  if (!fieldType)
    throw new StartError(
      `The tables have "${name}" of type ${type}, which this version of the engine does not know. Nothing was changed.`,
    );
  return {
    name,
    title: name,
    type: fieldType,
    description: '',
    constraints,
    examples: [],
    column,
    nullable,
    default: before.default ?? undefined,
    defaultText: before.defaultText,
    isNowByDefault: before.isNowByDefault ?? false,
    generated: before.generated,
    required: isNeeded({ ...before, nullable }),
    readOnly: false,
    sensitive: true,
    unique: false,
    index: false,
    caseless: false,
    multiline: false,
    valueTitles: new Map(),
    folded: before.folded,
    renamedFrom: undefined,
  };
}

function keepReference(type: Draft<RecordType>, target: Draft<RecordType>, before: AppliedReference): void {
  const { column, onDelete, required, unique, acyclic = false, belongsTo, has } = before;
  const reference: Draft<RecordType['references'][number]> = {
    column,
    exportName: column,
    target,
    onDelete,
    required,
    unique,
    acyclic,
    relation: undefined,
  };
  type.references.push(reference);
  if (belongsTo !== null) reference.relation = addRelation(belongsTo, type, target, { at: 'source', reference });
  if (has !== null) addRelation(has, target, type, { at: 'target', reference });
}

const KINDS = { source: 'belongsTo', target: 'hasMany', join: 'manyToMany' } as const;

function addRelation(
  name: string,
  source: Draft<RecordType>,
  target: RecordType,
  link: Relation['link'],
): Draft<Relation> {
  const relation = {
    name,
    title: name,
    kind: KINDS[link.at],
    description: '',
    renamedFrom: undefined,
    source,
    target,
    inverse: undefined,
    toMany: link.at !== 'source',
    required: false,
    owned: false,
    nested: 'link',
    fields: [],
    shown: false,
    link,
  } as Draft<Relation>;
  source.relations.set(freeName(name, source.relations), relation);
  return relation;
}

function keepJoin(keeping: Keeping, before: AppliedJoin, dialect: Dialect): void {
  const [left, right] = [keeping.currents.get(before.left.type), keeping.currents.get(before.right.type)];
  if (!left || !right || !isFree(before.table, tablesOf(keeping))) return;
  if (!stays(keeping, droppedJoinStep(before, dialect))) return;
  const table: JoinTable = {
    name: before.table,
    exportName: before.table,
    first: 'left',
    left: { column: before.left.column, type: left },
    right: { column: before.right.column, type: right },
  };
  keeping.joinTables.push(table);
  const addSide = (own: AppliedJoin['left'], source: Draft<RecordType>, targetColumn: string, target: RecordType) => {
    const link = { at: 'join', table, sourceColumn: own.column, targetColumn } as const;
    if (own.relation !== null) addRelation(own.relation, source, target, link);
  };
  addSide(before.left, left, before.right.column, right);
  addSide(before.right, right, before.left.column, left);
}

function keepIndexes(keeping: Keeping, { change, type, isNamed }: KeptChange): void {
  for (const index of change.indexes.dropped) {
    const columns = columnsBefore(change.before, index.members);
    const members = columns.flatMap((column) => memberAt(type, column) ?? []);
    // A field may have become one whose values have no order.
    const isOrdered = members.every((member) => 'link' in member || member.type.operators.length > 0);
    if (members.length < columns.length || !isOrdered) continue;
    const isTold = isNamed && columns.every((column) => memberAt(change.type, column));
    if (!stays(keeping, droppedIndexStep(change, index, type), isTold)) continue;
    type.indexes.push({ name: index.name, unique: index.unique, members } as Draft<RecordType>['indexes'][number]);
  }
}
