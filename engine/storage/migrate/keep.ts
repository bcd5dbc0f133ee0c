/**
 * What the tables have and the descriptors do not name stays, until somebody allows its drop: the Model of the tables is
 * made of both.
 */
import { fieldTypes } from '../../field-types/registry.ts';
import {
  type Field,
  type Index,
  type JoinTable,
  type Model,
  OPEN_COLUMN,
  type RecordType,
  type Relation,
} from '../../model/model.ts';
import { type Draft, revised } from '../../model/resolve.ts';
import { columnOf } from '../columns.ts';
import { StartError } from '../../problem.ts';
import { tablesOf } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import {
  type AppliedField,
  type AppliedJoin,
  type AppliedModel,
  type AppliedReference,
  type AppliedType,
  identifierNameOf,
  nameKey,
} from './applied.ts';
import { unnamedIndexes } from './indexes.ts';
import { columnChanges, matchFields, matchJoins, matchReferences, matchTypes, type TypeChange } from './match.ts';
import { joinOwnerBefore, referenceOwner } from './relations.ts';
import { stepId } from './steps.ts';

interface Keeping {
  readonly dialect: Dialect;
  /** The types of the tables, by name; copies of those that the descriptors name. */
  readonly types: Map<string, Draft<RecordType>>;
  /** Former names by current names, and the reverse. */
  readonly formers: Map<string, string>;
  readonly currents: Map<string, string>;
  readonly joinTables: JoinTable[];
  /** The model of the descriptors. */
  readonly model: Model;
  /** Whether the drop of this id is not wanted. */
  readonly stays: (step: Parameters<typeof stepId>[0]) => boolean;
}

/**
 * `letGo`: ids of the steps that drop what need not be kept. Some things cannot be kept: a column or a table whose name
 * something else takes, a column that every new record needs a value for, and an index over values that have no order.
 */
export function keptModel(applied: AppliedModel, named: Model, dialect: Dialect, letGo: ReadonlySet<string>): Model {
  const stays: Keeping['stays'] = (step) => !letGo.has(stepId(step));
  const model = withFoldedKept(applied, named, stays);
  const { kept, dropped } = matchTypes(applied, model);
  const keeping: Keeping = {
    dialect,
    model,
    types: new Map([...model.types].map(([name, type]) => [name, copied(type)])),
    formers: new Map(kept.map(({ after, before }) => [after.name, before.name])),
    currents: new Map(kept.map(({ after, before }) => [before.name, after.name])),
    joinTables: [...model.joinTables],
    stays,
  };
  for (const { name, type } of dropped) keepType(keeping, name, type);
  for (const [name, former] of keeping.formers) {
    const [type, before] = [keeping.types.get(name), applied.types[former]];
    if (type && before) keepColumns(keeping, { type, former, before, dialect, others: [] });
  }
  for (const join of matchJoins(applied, model).dropped) keepJoin(keeping, join);
  // Their members are fields and relations that may be kept themselves.
  for (const [name, former] of keeping.formers) {
    const [type, before] = [keeping.types.get(name), applied.types[former]];
    if (type && before) keepIndexes(keeping, { type, former, before, dialect, others: [] });
  }
  return { types: keeping.types, joinTables: keeping.joinTables };
}

/** If case counts again, other instances may still ignore it, so the folded column and its indexes stay. */
function withFoldedKept(applied: AppliedModel, model: Model, stays: Keeping['stays']): Model {
  const revisions = new Map<object, object>();
  for (const { after: type, before } of matchTypes(applied, model).kept) {
    for (const { after: field, before: was } of matchFields(type, before.type).kept) {
      const isSame = field.type.name === was.field.type && field.folded === undefined;
      if (
        isSame &&
        was.field.folded !== undefined &&
        stays({ code: 'drop-caseless', type: type.name, name: field.name })
      )
        revisions.set(field, { folded: was.field.folded });
    }
    for (const index of type.indexes) {
      const known = index.members.some((member) => revisions.has(member)) && indexNamed(index, before.type);
      if (known) revisions.set(index, { name: known });
    }
  }
  return revisions.size === 0 ? model : revised(model, revisions);
}

/** The former name of an index over the same columns. */
function indexNamed({ unique, members }: Index, { indexes, fields, references }: AppliedType): string | undefined {
  const columns = members.map(columnOf).join();
  const columnBefore = (name: string): string | undefined =>
    fields[name]?.column ?? references.find(({ belongsTo }) => belongsTo === name)?.column;
  const found = Object.entries(indexes).find(
    ([, one]) => one.unique === unique && one.members.map(columnBefore).join() === columns,
  );
  return found?.[0];
}

const copied = (type: RecordType): Draft<RecordType> => ({
  ...type,
  operations: new Set(type.operations),
  fields: new Map(type.fields),
  hidden: [...type.hidden],
  relations: new Map(type.relations),
  references: [...type.references],
  referrers: [...type.referrers],
  order: [...type.order],
  indexes: [...type.indexes] as Draft<RecordType>['indexes'],
  checks: [...type.checks],
  variants: new Map(type.variants),
  seed: [...type.seed],
  seedRaw: new Map(type.seedRaw),
});

const nameKeys = (names: Iterable<string>): ReadonlySet<string> => new Set([...names].map(nameKey));

const isTableFree = (keeping: Keeping, table: string): boolean => !nameKeys(tablesOf(keeping)).has(nameKey(table));

/** The name itself, unless something new has it. */
function freeName(name: string, taken: Iterable<string>): string {
  const names = nameKeys(taken);
  let found = name;
  for (let count = 2; names.has(nameKey(found)); count += 1) found = `${name} ${count}`;
  return found;
}

/** A type that no descriptor names: nothing but its table is known. */
function keepType(keeping: Keeping, former: string, before: AppliedType): void {
  if (!isTableFree(keeping, before.table)) return;
  if (!keeping.stays({ code: 'drop-type', type: former, name: undefined })) return;
  const name = freeName(former, keeping.types.keys());
  const { table, identifier, open } = before;
  const variant = { name: '', fields: [] };
  keeping.types.set(name, {
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
  });
  keeping.formers.set(name, former);
  keeping.currents.set(former, name);
}

interface KeptChange extends TypeChange {
  readonly type: Draft<RecordType>;
}

function keepColumns(keeping: Keeping, change: KeptChange): void {
  const { type, before } = change;
  if (before.open && !type.open) type.open = keeping.stays({ code: 'close-type', type: type.name, name: undefined });
  const references = matchReferences(type, before).dropped;
  for (const { name, field } of matchFields(type, before).dropped) keepField(keeping, type, name, field);
  for (const reference of references) keepReference(keeping, change, reference);
}

/** Names may be those of something new: only columns must differ. */
function isColumnFree({ identifier, fields, references }: RecordType, column: string): boolean {
  const columns = [...fields.values(), ...references].map((one) => one.column);
  return !nameKeys([identifier.column, OPEN_COLUMN, ...columns]).has(nameKey(column));
}

function keepField(keeping: Keeping, type: Draft<RecordType>, former: string, before: AppliedField): void {
  if ((isNamed(keeping, type) && isNeeded(before)) || !isColumnFree(type, before.column)) return;
  if (!keeping.stays({ code: 'drop-field', type: type.name, name: former })) return;
  const name = freeName(former, type.fields.keys());
  type.fields.set(name, unnamedField(name, before));
}

const isNamed = ({ model }: Keeping, { name }: RecordType): boolean => model.types.has(name);

/** Whether no record can be created without it. */
export const isNeeded = ({
  nullable,
  default: value,
  isNowByDefault = false,
}: Pick<AppliedField, 'nullable' | 'default' | 'isNowByDefault'>): boolean =>
  !nullable && value === null && !isNowByDefault;

/** A field of which only the column is known. */
export function unnamedField(name: string, { type, constraints, column, nullable, ...before }: AppliedField): Field {
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

function keepReference(keeping: Keeping, { type, former }: KeptChange, before: AppliedReference): void {
  const { column, onDelete, required, unique, acyclic = false, belongsTo, has } = before;
  const target = keeping.types.get(keeping.currents.get(before.target) ?? '');
  if (!target || (isNamed(keeping, type) && required) || !isColumnFree(type, column)) return;
  if (!keeping.stays({ code: 'drop-relation', ...referenceOwner(former, before) })) return;
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
  if (belongsTo !== null) {
    const relation = unnamedRelation(belongsTo, type, target, { at: 'source', reference });
    addRelation(type, relation);
    reference.relation = relation as Draft<Relation>;
  }
  if (has !== null) addRelation(target, unnamedRelation(has, target, type, { at: 'target', reference }));
}

function addRelation({ relations }: Draft<RecordType>, relation: Relation): void {
  relations.set(freeName(relation.name, relations.keys()), relation as Draft<Relation>);
}

const KINDS = { source: 'belongsTo', target: 'hasMany', join: 'manyToMany' } as const;

/** A relation of which only the columns are known. */
const unnamedRelation = (name: string, source: RecordType, target: RecordType, link: Relation['link']): Relation => ({
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
});

function keepJoin(keeping: Keeping, before: AppliedJoin): void {
  const typeOf = ({ type }: AppliedJoin['left']): Draft<RecordType> | undefined =>
    keeping.types.get(keeping.currents.get(type) ?? '');
  const [left, right] = [typeOf(before.left), typeOf(before.right)];
  if (!left || !right || !isTableFree(keeping, before.table)) return;
  if (!keeping.stays({ code: 'drop-relation', ...joinOwnerBefore(before) })) return;
  const sides = {
    left: { column: before.left.column, type: left },
    right: { column: before.right.column, type: right },
  };
  const table: JoinTable = { name: before.table, exportName: before.table, first: 'left', ...sides };
  keeping.joinTables.push(table);
  for (const [own, other] of [['left', 'right'] as const, ['right', 'left'] as const]) {
    const { relation, column } = before[own];
    if (relation === null) continue;
    const link = { at: 'join', table, sourceColumn: column, targetColumn: before[other].column } as const;
    const { type } = sides[own];
    addRelation(type, unnamedRelation(relation, type, sides[other].type, link));
  }
}

/** Something new may have the name of a link that is kept: those that are kept come last. */
const linkNamed = ({ references }: RecordType, name: string): Relation | undefined =>
  references.findLast(({ relation }) => relation?.name === name)?.relation;

/** A field may have become one whose values have no order. */
const isIndexable = ({ fields }: Draft<RecordType>, member: string): boolean =>
  fields.get(member)?.type.operators.length !== 0;

function keepIndexes(keeping: Keeping, change: KeptChange): void {
  const { type } = change;
  for (const [{ name, unique, members }, step] of unnamedIndexes(change, columnChanges(change))) {
    if (!keeping.stays(step) || !members.every((member) => isIndexable(type, member))) continue;
    type.indexes.push({
      name,
      unique,
      members: members.flatMap((member) => type.fields.get(member) ?? linkNamed(type, member) ?? []),
    } as Draft<RecordType>['indexes'][number]);
  }
}
