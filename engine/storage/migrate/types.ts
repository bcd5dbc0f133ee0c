/** The steps of types, their fields, relations and indexes, with the SQL that changes the tables. */
import { isDeepStrictEqual } from 'node:util';
import { NOW } from '../../descriptor/descriptor.ts';
import { type Shape, widens } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonValue } from '../../json/json.ts';
import { fieldsOf, sentence } from '../../model/checks.ts';
import { identifierJson, identifierSql } from '../../model/identifier.ts';
import { type Index, type JoinTable, OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import { columnType, hasDefault } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { createIndex, defineJoinTable, defineTable, dropTable, indexesOf, joinIndex, METADATA } from '../tables.ts';
import {
  type AppliedField,
  type AppliedJoin,
  appliedJoin,
  appliedKey,
  type AppliedReference,
  identifierNameOf,
} from './applied.ts';
import {
  columnsBefore,
  type Comparison,
  type FieldChange,
  joinOwner,
  joinOwnerBefore,
  memberAt,
  type NamedField,
  type NamedIndex,
  type NamedType,
  openKeysLeft,
  partAt,
  type ReferenceChange,
  referenceOwner,
  rowsAlike,
  rowsDangling,
  rowsInCircles,
  rowsOf,
  rowsUnfit,
  rowsWhere,
  type TypeChange,
  type TypeDiff,
  valueAfter,
} from './diff.ts';
import {
  checkOf,
  createStep,
  type MigrationStep,
  type RowQuery,
  type StepCheck,
  type StepCode,
  type StepParts,
} from './steps.ts';
import { type Edit, plainTasks, tableTasks, type Task } from './task.ts';

export function addedTypeStep(type: RecordType, dialect: Dialect, indexes = indexesOf(type, dialect)): MigrationStep {
  const tasks = tableTasks(
    defineTable(type, dialect),
    indexes.map((index) => createIndex(index, dialect)),
  );
  const creates = [type.table, ...indexes.map(({ name }) => name)];
  const refersTo = type.references.map(({ target }) => target.table);
  return createStep('add-type', type.name, { now: type.table, tasks, creates, refersTo });
}

const droppedTable = (table: string, dialect: Dialect): Task => ({
  kind: 'define',
  table,
  sql: dropTable(table, dialect),
  forgets: true,
});

export function droppedTypeStep({ name, table, identifier }: NamedType, dialect: Dialect): MigrationStep {
  const tasks = [droppedTable(table, dialect), ...plainTasks('define', [METADATA.dropSeeds(name)])];
  const rows = rowsOf({ table, identifier }, dialect);
  return createStep('drop-type', name, { was: table, tasks, rows, rowsIn: table });
}

export function closeStep(change: TypeDiff): MigrationStep {
  const edits: readonly Edit[] = [{ kind: 'dropColumn', name: OPEN_COLUMN, isReference: false }];
  const rows = rowsWhere(change, `cast(${openKeysLeft(change)} as text) <> '{}'`);
  return change.step('close-type', { edits, rows });
}

export function typeSteps(
  change: TypeChange,
  knownRelations: ReadonlySet<string>,
  isNamed: boolean,
): readonly MigrationStep[] {
  const { type, table, before, step, fields, references, indexes, openKeys } = change;
  const [was, now] = [identifierNameOf(before), type.identifier.name];
  // Dropping a column drops its index without a separate step.
  const lost = indexes.dropped.filter(({ members }) =>
    columnsBefore(before, members).every((column) => partAt(table, column)),
  );
  const folded = indexes.kept.filter(
    ({ after, before: old }) => after.name !== old.name && after.members.some(isFolded),
  );
  const steps = [
    ...(before.name === type.name || !isNamed ? [] : [step('rename-type', { was: before.name })]),
    ...(was === now ? [] : [step('rename-identifier', { was, now })]),
    ...identifierSteps(change),
    ...lost.map((index) => droppedIndexStep(change, index)),
    ...(openKeys && !before.open
      ? [step('open-type', { edits: [{ kind: 'addColumn', column: openKeys.column }] })]
      : []),
    ...claimSteps(change, knownRelations),
    ...fieldSteps(change).map((one) => withDuplicates(one, change)),
    ...change.referenceChanges
      .filter(({ column }) => type.references.some((one) => one === column.reference))
      .flatMap((one) => referenceSteps(change, one)),
    ...checkSteps(change),
    ...(before.open && !openKeys ? [closeStep(change)] : []),
    ...fields.dropped.map((field) => droppedFieldStep(change, field)),
    ...references.dropped.map((reference) => droppedReferenceStep(change, reference)),
    ...indexes.added.map((index) => addedIndexStep(change, index)),
    // If case matters again, fewer values are equal: only rebuild the index, as its SQL changes.
    ...folded.map(({ after, before: replaced }) => addedIndexStep(change, after, replaced)),
  ];
  return withTasks(change, withIndexes(change, steps));
}

const INTEGER = { type: 'integer', by: 'service', constraints: {} } as const;

/** Another type means another table, which takes the place of an empty one. */
function identifierSteps(change: TypeChange): readonly MigrationStep[] {
  const { type, table, before, step, dialect } = change;
  const { identifier } = type;
  const { kind, ...shape } = identifier;
  const [was, now] = [before.key ?? INTEGER, appliedKey(identifier) ?? INTEGER];
  if (was.type !== now.type) {
    const tasks = [
      droppedTable(before.table, dialect),
      ...plainTasks('define', [METADATA.dropSeeds(before.name)], before.table),
      ...addedTypeStep(table, dialect, change.tableIndexes).tasks,
    ];
    return [step('replace-identifier', { was: was.type, now: now.type, tasks, rows: rowsWhere(change, '1 = 1') })];
  }
  const steps = was.by === now.by ? [] : [step(now.by === 'client' ? 'require-identifier' : 'offer-identifier')];
  if (isDeepStrictEqual(was.constraints, now.constraints)) return steps;
  const detail = kind.expected(shape);
  const limits = { constraints: was.constraints, examples: [] };
  if (widens(identifier.type, limits, identifier)) return [...steps, step('widen-identifier', { detail })];
  const json = identifierJson(identifier, dialect.name, dialect.quote(before.identifier));
  const item = { ...shape, nullable: false };
  const rows = rowsUnfit(change, json, '1 = 1', item, identifier.type.schema(identifier));
  return [...steps, step('narrow-identifier', { detail, rows })];
}

/** Nulls that become a default may collide in a unique field. */
function withDuplicates(step: MigrationStep, change: TypeChange): MigrationStep {
  if (step.code !== 'fill-field') return step;
  const unique = change.type.indexes.filter(
    (index) => index.unique && index.members.some(({ name }) => name === step.name),
  );
  return { ...step, checks: [...step.checks, ...unique.map((index) => duplicates(change, index))] };
}

function withIndexes(change: TypeChange, steps: readonly MigrationStep[]): readonly MigrationStep[] {
  const { type, before, dialect, tableIndexes: wanted } = change;
  const sqlOf = new Map(wanted.map((index) => [index.name, createIndex(index, dialect)]));
  const handled = new Set(
    steps
      .flatMap(({ edits }) => edits)
      .flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : 'name' in edit ? edit.name : [])),
  );
  const drops = Object.entries(before.made)
    .filter(([name, { sql }]) => sql !== sqlOf.get(name) && !handled.has(name))
    .map(([name]): Edit => ({ kind: 'dropIndex', name }));
  const fresh = wanted.filter(({ name }) => before.made[name]?.sql !== sqlOf.get(name) && !handled.has(name));
  const creates = fresh.map((index): Edit => ({ kind: 'createIndex', index }));
  if (drops.length + creates.length === 0) return steps;
  // The new SQL may make different values equal.
  const unique = type.indexes.filter((index) => index.unique && fresh.some(({ name }) => name === index.name));
  const remade = change.step('remake-indexes', { checks: unique.map((index) => duplicates(change, index)) });
  const all = steps.length > 0 ? steps : [remade];
  return all.map((step, at) => ({
    ...step,
    edits: [...(at === 0 ? drops : []), ...step.edits, ...(at === all.length - 1 ? creates : [])],
  }));
}

function withTasks(change: TypeChange, steps: readonly MigrationStep[]): readonly MigrationStep[] {
  // A new table has everything.
  if (steps.some(({ code }) => code === 'replace-identifier')) return steps.map((step) => ({ ...step, edits: [] }));
  const { table, tableIndexes, before, dialect, others, fieldChanges, referenceChanges, openKeys } = change;
  const { each, rebuild } = dialect.alterTable({
    table: table.table,
    identifier: table.identifier.column,
    keyType: table.identifier.kind.isCounted ? undefined : identifierSql(table.identifier, dialect.name),
    edits: steps.flatMap(({ edits }) => edits),
    wasOpen: before.open,
    columns: [
      ...fieldChanges,
      ...fieldChanges.flatMap(({ folded }) => folded ?? []),
      ...referenceChanges,
      ...(openKeys ? [openKeys] : []),
    ],
    create: (name) => defineTable(table, dialect, name),
    indexes: tableIndexes,
    others,
  });
  let at = 0;
  const compiled = steps.map((step) => ({
    ...step,
    tasks: [...step.tasks, ...each.slice(at, (at += step.edits.length)).flat()],
  }));
  return rebuild.length === 0
    ? compiled
    : [...compiled, change.step('rebuild-table', { now: table.table, tasks: rebuild })];
}

const fieldSteps = (change: TypeChange): readonly MigrationStep[] =>
  change.fieldChanges
    .filter(({ field }) => !change.table.hidden.includes(field))
    .flatMap((one) => (one.before ? keptSteps(change, one, one.before) : [addedStep(change, one)]));

function keptSteps(change: TypeChange, one: FieldChange, before: NamedField): readonly MigrationStep[] {
  const { dialect } = change;
  const { field, column, folded } = one;
  const { name, type } = field;
  const steps: MigrationStep[] = [];
  const add = (code: StepCode, parts?: StepParts): void => void steps.push(change.step(code, { name, ...parts }));
  const limitsOf = (typeName: string, shape: Shape): string | undefined =>
    fieldTypes.get(typeName)?.columns[dialect.name].limits?.('', shape);
  const shape = { constraints: before.constraints, examples: [] };
  const limits = limitsOf(before.type, shape);
  const hasLimits = limits === limitsOf(type.name, field);
  const [was, now] = [writtenDefault(before), writtenDefault(field)];
  const hasOtherDefault = was !== now;
  const edits: readonly Edit[] = [
    { kind: 'changeColumn', column, was: { nullable: before.nullable, limits, hasOtherDefault } },
    ...(folded?.from === undefined
      ? []
      : [{ kind: 'changeColumn', column: folded.column, was: { nullable: true, hasOtherDefault } } as const]),
  ];
  const isSameType = before.type === type.name;
  const detail = type.expected(field);
  const stored = dialect.quote(before.column);
  if (before.name !== name) add('rename-field', { was: before.name });
  if (!isSameType) {
    const parts = { was: before.type, now: type.name, edits: [...edits, ...(folded ? [] : droppedFolded(before))] };
    const takers = [...fieldTypes.values()].filter(({ columns }) => columns[dialect.name].convertsFrom?.[before.type]);
    const cure = takers.length === 0 ? '' : ` (it can become ${takers.map((taker) => taker.name).join(' or ')})`;
    if (takers.includes(type)) add('convert-field', { ...parts, detail, rows: unfit(change, one) });
    else add('replace-field', { ...parts, detail: cure, rows: rowsWhere(change, `${stored} is not null`) });
  } else if (!widens(type, shape, field))
    add('narrow-field', { detail, edits: hasLimits ? [] : edits, rows: unfit(change, one) });
  else if (!hasLimits) add('widen-field', { detail, edits });
  if (!before.nullable && field.nullable) add('relax-field', { edits });
  if (before.nullable && !field.nullable) {
    const rows = rowsWhere(change, `${stored} is null`);
    add(hasDefault(column) ? 'fill-field' : 'require-field', { edits, now, rows });
  }
  // Defaults of different types cannot be compared.
  if (isSameType && hasOtherDefault) add('change-default', { was, now, edits });
  if (before.generated !== field.generated) {
    if (field.generated === undefined) add('stop-generating', { was: before.generated });
    else add('generate-field', { now: field.generated });
  }
  if (folded && before.folded === undefined)
    add('add-caseless', { edits: [{ kind: 'addColumn', column: folded.column }] });
  if (!folded && before.folded !== undefined && isSameType) steps.push(droppedFoldedStep(change, before, name));
  return steps;
}

const writtenDefault = ({
  isNowByDefault = false,
  default: value = null,
}: Pick<AppliedField, 'isNowByDefault'> & { readonly default: JsonValue | undefined }): string =>
  isNowByDefault ? NOW : JSON.stringify(value);

const droppedFolded = ({ folded }: AppliedField): readonly Edit[] =>
  folded === undefined ? [] : [{ kind: 'dropColumn', name: folded, isReference: false }];

export const droppedFoldedStep = ({ step }: TypeDiff, before: NamedField, name: string): MigrationStep =>
  step('drop-caseless', { name, edits: droppedFolded(before) });

export function droppedFieldStep(change: TypeDiff, field: NamedField): MigrationStep {
  const own: Edit = { kind: 'dropColumn', name: field.column, isReference: false };
  const rows = rowsWhere(change, `${change.dialect.quote(field.column)} is not null`);
  return change.step('drop-field', { name: field.name, edits: [own, ...droppedFolded(field)], rows });
}

function unfit(change: TypeChange, { field, value }: FieldChange): RowQuery {
  const json = columnType(field, change.dialect.name).json(`(${value})`);
  return rowsUnfit(change, json, `(${value}) is not null`, field, field.type.schema(field));
}

function addedStep(change: TypeChange, { field, column, value, folded }: FieldChange): MigrationStep {
  const { before, dialect, openKeys } = change;
  const { name, type } = field;
  const required = !column.nullable && !hasDefault(column);
  const edits = [column, ...(folded ? [folded.column] : [])].map((one): Edit => ({ kind: 'addColumn', column: one }));
  const checks: StepCheck[] = [];
  if (before.open) {
    const schema = type.schema(field);
    const accepted = field.nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
    const json = dialect.keyJson(name);
    const rows = rowsUnfit(change, json, dialect.hasKey(name), field, accepted);
    const says = `the open key "${name}" is not ${type.expected(field)}`;
    checks.push({ ...rows, effect: 'fail', says, takesKeysOf: before.table });
    if (openKeys) edits.push({ kind: 'changeColumn', column: openKeys.column, was: { nullable: false } });
  }
  const missing = before.open ? `not (${dialect.hasKey(name)})` : `(${value}) is null`;
  const rows = required ? rowsWhere(change, missing) : undefined;
  return change.step(required ? 'add-required-field' : 'add-field', { name, edits, rows, checks });
}

/** Only new fields take open keys over: identifiers, relations and renamed fields fail. `known`: old relations. */
function claimSteps(change: TypeChange, known: ReadonlySet<string>): readonly MigrationStep[] {
  const { type, before, dialect, fields } = change;
  if (!before.open) return [];
  const names = [
    ...(type.identifier.name === identifierNameOf(before) ? [] : [type.identifier.name]),
    ...fields.kept.filter((pair) => pair.after.name !== pair.before.name).map(({ after }) => after.name),
    ...[...type.relations.keys()].filter((name) => !known.has(name)),
  ];
  return names.map((name) => change.step('claim-key', { name, rows: rowsWhere(change, dialect.hasKey(name)) }));
}

/** Stored records stay unchanged, even if they violate a new check. */
const checkSteps = ({ step, checks }: TypeChange): readonly MigrationStep[] => [
  ...checks.dropped.map((rule) => step('drop-check', { name: [...fieldsOf(rule)].join(','), detail: sentence(rule) })),
  ...checks.added.map(({ fields, message }) =>
    step('add-check', { name: fields.map(({ name }) => name).join(','), detail: message }),
  ),
];

function referenceSteps(change: TypeChange, one: ReferenceChange): readonly MigrationStep[] {
  const { after, before, column } = one;
  const steps: MigrationStep[] = [];
  const { type, name } = referenceOwner(change.type.name, after);
  const add = (code: StepCode, parts: StepParts = {}): void =>
    void steps.push(createStep(code, type, { name, rowsIn: change.before.table, ...parts }));
  const refersTo = [column.reference?.target.table ?? ''];
  if (!before) {
    const edits: readonly Edit[] = [{ kind: 'addColumn', column }];
    if (after.required) add('add-required-relation', { edits, refersTo, rows: rowsWhere(change, '1 = 1') });
    else add('add-relation', { edits, refersTo });
    return steps;
  }
  const value = change.dialect.quote(before.column);
  const edits: readonly Edit[] = [
    { kind: 'changeColumn', column, was: { nullable: !before.required, onDelete: before.onDelete } },
  ];
  const was = before.belongsTo ?? before.has;
  const isSameSide = (before.belongsTo === null) === (after.belongsTo === null);
  if (was !== null && isSameSide && was !== name) add('rename-relation', { was });
  const { type: integer } = INTEGER;
  if (before.keyType !== after.keyType)
    add('retype-relation', { was: before.keyType ?? integer, now: after.keyType ?? integer, edits });
  if (before.required && !after.required) add('relax-relation', { edits });
  if (!before.required && after.required)
    add('require-relation', { edits, rows: rowsWhere(change, `${value} is null`) });
  // The column's unique index is remade with the others.
  const detail = change.type.name;
  if (before.unique && !after.unique) add('share-relation', { detail });
  if (!before.unique && after.unique) add('unshare-relation', { detail, rows: rowsAlike(change, [value]) });
  if (after.acyclic && !before.acyclic)
    add('forbid-cycles', { rows: rowsInCircles(change.before, before, change.dialect) });
  if (!after.acyclic && before.acyclic) add('allow-cycles');
  if (before.onDelete !== after.onDelete)
    add('change-deletion', {
      was: before.onDelete,
      now: after.onDelete,
      edits,
      refersTo,
      rows: rowsDangling(change, one),
    });
  return steps;
}

export const droppedReferenceStep = (change: TypeDiff, before: AppliedReference): MigrationStep => {
  const owner = referenceOwner(change.before.name, before);
  return createStep('drop-relation', owner.type, {
    name: owner.name,
    detail: 'the connection',
    edits: [{ kind: 'dropColumn', name: before.column, isReference: true }],
    rows: rowsWhere(change, `${change.dialect.quote(before.column)} is not null`),
    rowsIn: change.before.table,
  });
};

export function addedJoinStep(table: JoinTable, dialect: Dialect): MigrationStep {
  const { type, name } = joinOwner(table);
  const index = joinIndex(table);
  return createStep('add-relation', type, {
    name,
    detail: `, in table ${table.name}`,
    tasks: tableTasks(defineJoinTable(table, dialect), [createIndex(index, dialect)]),
    creates: [table.name, index.name],
    refersTo: [table.left.type.table, table.right.type.table],
  });
}

export function droppedJoinStep(before: AppliedJoin, dialect: Dialect): MigrationStep {
  const { type, name } = joinOwnerBefore(before);
  const rows = rowsOf({ table: before.table, identifier: before.left.column }, dialect);
  const tasks = [droppedTable(before.table, dialect)];
  return createStep('drop-relation', type, { name, detail: 'a connection', rows, tasks, rowsIn: before.table });
}

export const renamedJoinSteps = ({ kept }: Comparison['joins']): readonly MigrationStep[] =>
  kept.flatMap(({ after, before }) => {
    const { type, name } = joinOwner(after);
    const was = joinOwnerBefore(before).name;
    return name === was ? [] : [createStep('rename-relation', type, { name, was, rowsIn: before.table })];
  });

/** Links between records of which one side gets identifiers of another type: there are none yet. */
export function retypedJoinSteps(
  { after, before }: Comparison['joins']['kept'][number],
  dialect: Dialect,
): readonly MigrationStep[] {
  const now = appliedJoin(after, dialect);
  const side = (['left', 'right'] as const).find((one) => now[one].keyType !== before[one].keyType);
  if (side === undefined) return [];
  const { type, name } = joinOwner(after);
  const tasks = [...droppedJoinStep(before, dialect).tasks, ...addedJoinStep(after, dialect).tasks];
  const words = { was: before[side].keyType ?? INTEGER.type, now: now[side].keyType ?? INTEGER.type };
  return [createStep('retype-relation', type, { name, ...words, tasks, rowsIn: before.table })];
}

export function droppedIndexStep(
  { type, before, step }: TypeDiff,
  { name, unique, members }: NamedIndex,
): MigrationStep {
  const names = columnsBefore(before, members).map((column, at) => memberAt(type, column)?.name ?? members[at] ?? '');
  return step(unique ? 'drop-unique' : 'drop-index', {
    name: names.join('+'),
    detail: names.map((one) => `"${one}"`).join(', '),
    edits: [{ kind: 'dropIndex', name }],
  });
}

const isFolded = (member: Index['members'][number]): boolean => !('link' in member) && member.folded !== undefined;

const described = ({ members }: Index): string =>
  members.map((member) => `"${member.name}"${isFolded(member) ? ' (whatever its case)' : ''}`).join(', ');

function addedIndexStep(change: TypeChange, index: Index, replaced?: NamedIndex): MigrationStep {
  const { step, fields, references } = change;
  const { name, unique, members } = index;
  const made = change.tableIndexes.filter((one) => one.name === name);
  const dropped: readonly Edit[] = replaced ? [{ kind: 'dropIndex', name: replaced.name }] : [];
  const added = step(unique ? 'add-unique' : 'add-index', {
    name: members.map((member) => member.name).join('+'),
    detail: described(index),
    edits: [...dropped, ...made.map((one): Edit => ({ kind: 'createIndex', index: one }))],
    checks: [...(unique ? [duplicates(change, index)] : []), ...longEntries(change, index)],
  });
  const fresh = new Set<object | undefined>([...fields.added, ...references.added.map(({ relation }) => relation)]);
  // No client relies on equal values of a new field.
  return members.some((member) => fresh.has(member)) ? { ...added, risk: 'safe' } : added;
}

/** Folding and converting hardly change a value's length. */
function longEntries(change: TypeChange, index: Index): readonly StepCheck[] {
  const { isLongEntry, quote } = change.dialect;
  const stored = change.fields.kept.filter(({ after }) => index.members.includes(after));
  if (!isLongEntry || stored.length === 0) return [];
  const rows = rowsWhere(change, isLongEntry(stored.map(({ before }) => quote(before.column))));
  const says = `the values of ${described(index)} are too long for an index of this database; shorten them`;
  return [{ ...rows, effect: 'fail', says }];
}

function duplicates(change: TypeChange, index: Index): StepCheck {
  const values = index.members.flatMap((member) => valueAfter(change, member) ?? []);
  return checkOf('add-unique', { detail: described(index) }, rowsAlike(change, values));
}
