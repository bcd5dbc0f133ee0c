/**
 * Changes of tables in PostgreSQL that clients do not notice. What takes time is done beside what is there: new values go
 * into a new column, which a trigger keeps up to date for every writer, whatever its version, while older rows are filled
 * in batches; indexes are built concurrently; checks are added NOT VALID and validated. The switch only changes names.
 */
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import { generatedName } from '../../names.ts';
import { checkOf, type Column } from '../columns.ts';
import { addColumn, addForeignKey, columnSql, createIndex, renameColumn, type TableIndex } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import type { Altered, ColumnSource, Edit, TableAlteration, Task } from '../migrate/driver.ts';

/** Prefix of prepared objects, until the switch. */
export const PREPARED_PREFIX = `${ENGINE_PREFIX}new`;

/** A column afterwards, and what it is called until the switch. */
interface NewColumn extends ColumnSource {
  readonly name: string;
  readonly isNew: boolean;
  /** Whether its values are worked out row by row. */
  readonly isFilled: boolean;
}

interface AlterContext {
  readonly alteration: TableAlteration;
  readonly dialect: Dialect;
  readonly placed: ReadonlyMap<string, NewColumn>;
  /** Columns whose tasks belong to an edit before. */
  readonly handled: Set<string>;
  /** Indexes that are made again with one of their columns. */
  readonly handledIndexes: Set<string>;
  /** A name that no client knows, another one each time. */
  readonly unknown: () => string;
  readonly task: (kind: Task['kind'], sql: string) => Task;
}

/** In `handled`, among columns: that of the trigger. */
const FILLED = '';

function tasksOfEdit(edit: Edit, context: AlterContext): readonly Task[] {
  switch (edit.kind) {
    case 'addColumn':
      return columnTasks(edit.column.name, context);
    case 'changeColumn':
      return changedColumn(edit, context);
    case 'setColumn':
      // Of a new column, these values are its own; of the open keys, they make it another column.
      return columnTasks(edit.name, context);
    case 'dropColumn':
      return [droppedColumn(edit.name, context)];
    case 'dropIndex':
      return droppedIndex(edit, context);
    case 'createIndex':
      return indexTasks(edit.index, context);
  }
}

export function alterTable(alteration: TableAlteration, dialect: Dialect): Altered {
  const { edits, table } = alteration;
  let count = 0;
  const unknown = (): string => generatedName(PREPARED_PREFIX, String((count += 1)), table);
  const task: AlterContext['task'] = (kind, sql) => ({ kind, table, sql });
  const placed = new Map(
    alteration.columns.map((source) => [source.column.name, placedColumn(source, unknown, dialect)]),
  );
  const context: AlterContext = {
    alteration,
    dialect,
    placed,
    handled: new Set(),
    handledIndexes: new Set(),
    unknown,
    task,
  };
  return { each: edits.map((edit) => tasksOfEdit(edit, context)), together: [] };
}

function placedColumn(source: ColumnSource, unknown: () => string, { quote, literal }: Dialect): NewColumn {
  const { column, value, from, isRetyped } = source;
  if (from !== undefined && value === quote(from) && !isRetyped)
    return { ...source, name: from, isNew: false, isFilled: false };
  return { ...source, name: unknown(), isNew: true, isFilled: value !== literal(column.default) };
}

// Columns that keep their values.

function changedColumn(edit: Extract<Edit, { kind: 'changeColumn' }>, context: AlterContext): readonly Task[] {
  const { column, was } = edit;
  const one = context.placed.get(column.name);
  if (!one || one.isNew) return columnTasks(column.name, context);
  if (context.handled.has(column.name)) return [];
  context.handled.add(column.name);
  const { dialect, alteration } = context;
  const limits = checkOf({ ...column, name: '' }, dialect.name, (name) => name);
  const isLimited = limits !== (was.limits === undefined ? '' : `check (${was.limits})`);
  const isLinked = column.reference !== undefined && column.reference.onDelete !== was.onDelete;
  const alter = `alter table ${dialect.quote(alteration.table)} alter column ${dialect.quote(column.name)}`;
  return [
    ...(isLimited ? [withoutConstraints('c', one.name, context), ...checkTasks(one, context)] : []),
    ...(isLinked ? [withoutConstraints('f', one.name, context), ...linkTasks(column, context)] : []),
    ...(was.nullable && !column.nullable ? requiredTasks(one, context) : []),
    ...(!was.nullable && column.nullable ? [context.task('settle', `${alter} drop not null`)] : []),
    ...defaultTasks(column, alter, context),
  ];
}

const defaultTasks = ({ default: value }: Column, alter: string, { task, dialect }: AlterContext): readonly Task[] => [
  task('settle', `${alter} ${value === null ? 'drop default' : `set default ${dialect.literal(value)}`}`),
];

/** Constraints keep their names when columns and tables get others: those to drop are found by their column. */
function withoutConstraints(kind: 'f' | 'c', column: string, { alteration, dialect, task }: AlterContext): Task {
  const { literal, quote } = dialect;
  const ofColumn = `select attnum from pg_attribute where attrelid = rel and attname = ${literal(column)}`;
  const sql = [
    `do $$ declare rel regclass := ${literal(quote(alteration.table))}; link name; begin`,
    `for link in select conname from pg_constraint where conrelid = rel and contype = '${kind}'`,
    `and conkey = array(${ofColumn}) and not starts_with(conname, '${ENGINE_PREFIX}')`,
    `loop execute format('alter table %s drop constraint %I', rel, link); end loop; end $$`,
  ].join(' ');
  return task('define', sql);
}

/** A check that is validated while clients write lets SET NOT NULL, and the new limits, do without reading the rows. */
function checked(condition: string, { alteration, dialect, task, unknown }: AlterContext) {
  const name = unknown();
  const alter = `alter table ${dialect.quote(alteration.table)}`;
  const tasks = [
    task('check', `${alter} add constraint ${dialect.quote(name)} ${condition} not valid`),
    task('validate', `${alter} validate constraint ${dialect.quote(name)}`),
  ];
  return { name, tasks };
}

function requiredTasks({ name, column }: NewColumn, context: AlterContext): readonly Task[] {
  const { alteration, dialect, task } = context;
  const check = checked(`check (${dialect.quote(name)} is not null)`, context);
  const alter = `alter table ${dialect.quote(alteration.table)}`;
  return [
    ...check.tasks,
    task('settle', `${alter} alter column ${dialect.quote(column.name)} set not null`),
    task('settle', `${alter} drop constraint ${dialect.quote(check.name)}`),
  ];
}

function checkTasks({ name, column }: NewColumn, context: AlterContext): readonly Task[] {
  const { alteration, dialect, task } = context;
  const limits = checkOf({ ...column, name }, dialect.name, dialect.quote);
  if (limits === '') return [];
  const check = checked(limits, context);
  const wanted = dialect.literal(generatedName(alteration.table, column.name, 'check'));
  const table = dialect.literal(dialect.quote(alteration.table));
  // Another column may have left a check of this name behind.
  const sql = [
    `do $$ declare wanted text := ${wanted}; begin`,
    `while exists (select from pg_constraint where conrelid = ${table}::regclass and conname = wanted)`,
    `loop wanted := wanted || '_'; end loop;`,
    `execute format('alter table %s rename constraint %I to %I', ${table}, ${dialect.literal(check.name)}, wanted); end $$`,
  ].join(' ');
  return [...check.tasks, task('settle', sql)];
}

/** NOT VALID holds for every write from then on: no row that is there can break it, or the key before held it to the same. */
function linkTasks({ name, reference }: Column, { alteration, dialect, task }: AlterContext): readonly Task[] {
  if (!reference) return [];
  const table = dialect.literal(dialect.quote(alteration.table));
  const added = task('link', `${addForeignKey(alteration.table, name, reference, dialect)} not valid`);
  const sql = [
    `do $$ declare link name; begin for link in select conname from pg_constraint`,
    `where conrelid = ${table}::regclass and contype = 'f' and not convalidated`,
    `loop execute format('alter table %s validate constraint %I', ${table}, link); end loop; end $$`,
  ].join(' ');
  return [added, task('confirm', sql)];
}

// Columns with other values.

function columnTasks(name: string, context: AlterContext): readonly Task[] {
  const { alteration, dialect, task, placed, handled } = context;
  const one = placed.get(name);
  if (!one?.isNew || handled.has(name)) return [];
  handled.add(name);
  const { column, from } = one;
  const { quote, literal } = dialect;
  const table = quote(alteration.table);
  const alter = `alter table ${table} alter column ${quote(name)}`;
  const words = columnSql(column, dialect);
  const isConstant = !one.isFilled && column.default !== null;
  const start = isConstant ? ` default ${literal(column.default)}${column.nullable ? '' : ' not null'}` : '';
  return [
    task('column', addColumn(alteration.table, one.name, `${words}${start}`, dialect)),
    ...(one.isFilled ? fillTasks(context) : []),
    ...checkTasks(one, context),
    ...(column.nullable || isConstant ? [] : requiredTasks(one, context)),
    ...(from === undefined ? [] : [droppedColumn(from, context)]),
    task('rename', renameColumn(alteration.table, one.name, name, dialect)),
    ...(isConstant ? [] : defaultTasks(column, alter, context)),
    ...linkTasks(column, context),
    ...lostIndexes(name, context).flatMap((index) => indexTasks(index, context)),
  ];
}

/** All columns of a table that are filled have one trigger, and are filled together. */
function fillTasks({ alteration, dialect, task, placed, handled }: AlterContext): readonly Task[] {
  if (handled.has(FILLED)) return [];
  handled.add(FILLED);
  const { quote, literal } = dialect;
  const { table, identifier } = alteration;
  const filled = [...placed.values()].filter((one) => one.isFilled);
  const sources = new Set(filled.flatMap(({ from, reads }) => [from ?? [], reads ?? []].flat()));
  const watched = alteration.columnsBefore.filter((name) => sources.has(name) || name === OPEN_COLUMN);
  const name = quote(generatedName(`${ENGINE_PREFIX}fill`, table));
  const values = filled.map(({ value }) => value).join(', ');
  const targets = filled.map((one) => `new.${quote(one.name)}`).join(', ');
  const body = `select ${values} into ${targets} from (select new.*) as row$; return new;`;
  const set = filled.map((one) => `${quote(one.name)} = ${one.value}`).join(', ');
  const events = watched.length === 0 ? 'insert' : `insert or update of ${watched.map(quote).join(', ')}`;
  return [
    task(
      'trigger',
      `create function ${name}() returns trigger language plpgsql as ${literal(`\n#variable_conflict use_column\nbegin ${body} end`)}`,
    ),
    task(
      'trigger',
      `create trigger ${name} before ${events} on ${quote(table)} for each row execute function ${name}()`,
    ),
    {
      ...task('fill', `update ${quote(table)} set ${set} where ${quote(identifier)} > ? and ${quote(identifier)} <= ?`),
      identifier,
    },
    task('define', `drop function ${name}() cascade`),
  ];
}

/** Its indexes and constraints go with it. */
const droppedColumn = (name: string, { alteration, dialect: { quote }, task }: AlterContext): Task => ({
  ...task('define', `alter table ${quote(alteration.table)} drop column ${quote(name)}`),
  drops: name,
});

// Indexes.

/** Other instances write until the switch: what is unique for them stays so until then, and no longer. */
function droppedIndex(
  { name, unique }: Extract<Edit, { kind: 'dropIndex' }>,
  { dialect, task, unknown }: AlterContext,
): readonly Task[] {
  const { quote } = dialect;
  // It may have gone with a column.
  if (unique) return [task('define', `drop index if exists ${quote(name)}`)];
  const aside = quote(unknown());
  return [
    task('setAside', `alter index if exists ${quote(name)} rename to ${aside}`),
    task('dropIndex', `drop index concurrently if exists ${aside}`),
  ];
}

function indexTasks(index: TableIndex, { dialect, task, placed, unknown }: AlterContext): readonly Task[] {
  const { quote } = dialect;
  const builds = unknown();
  const named = (column: string): string => placed.get(column)?.name ?? column;
  return [
    { ...task('index', createIndex(index, dialect, { name: builds, concurrently: true, named })), builds },
    task('renameIndex', `alter index ${quote(builds)} rename to ${quote(index.name)}`),
  ];
}

/** Indexes that go with a column which is replaced, though nothing about them changes; each once. */
function lostIndexes(name: string, { alteration, placed, handledIndexes }: AlterContext): readonly TableIndex[] {
  if (placed.get(name)?.from === undefined) return [];
  const made = new Set(alteration.edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : [])));
  const lost = alteration.indexes.filter(
    (index) =>
      !made.has(index.name) && !handledIndexes.has(index.name) && index.columns.some((column) => column.name === name),
  );
  for (const index of lost) handledIndexes.add(index.name);
  return lost;
}
