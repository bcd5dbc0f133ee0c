/**
 * Changes PostgreSQL tables while clients use them: a trigger keeps a new column up to date while older rows are
 * filled in batches, indexes are built concurrently, checks are validated later, and the switch only changes names.
 */
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import { generatedName } from '../../names.ts';
import { checkOf, type Column, type TableIndex } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Altered, ColumnSource, Edit, TableAlteration, Task } from '../migrate/task.ts';
import { addColumn, addForeignKey, columnSql, createIndex, foreignKeyName, renameColumn } from '../tables.ts';

/** SQL: whether a constraint `t` is a check by which the engine limits decimals, the only checks that it makes. */
export const OWN_CHECK = `contype = 'c' and cardinality(conkey) = 1 and pg_get_constraintdef(t.oid) like 'CHECK (((scale(%'`;

interface NewColumn extends ColumnSource {
  readonly name: string;
  readonly isNew: boolean;
  readonly isFilled: boolean;
}

export function alterTable(
  { table, identifier, edits, wasOpen, columns: sources, indexes }: TableAlteration,
  dialect: Dialect,
): Altered {
  const { quote, literal } = dialect;
  const alter = `alter table ${quote(table)}`;
  const handled = new Set<string>();
  let names = 0;
  const columns = new Map(sources.map((source) => [source.column.name, columnUntilSwitch(source)]));
  const filled = [...columns.values()].filter(({ isFilled }) => isFilled);
  const madeIndexes = new Set(edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : [])));

  function isFirst(tasks: string): boolean {
    if (handled.has(tasks)) return false;
    handled.add(tasks);
    return true;
  }

  function hiddenName(): string {
    names += 1;
    return generatedName(`${ENGINE_PREFIX}new`, String(names), table);
  }

  const taskOf = (kind: Task['kind'], sql: string): Task => ({ kind, table, sql });

  function columnUntilSwitch(source: ColumnSource): NewColumn {
    const { column, value, from, isRetyped } = source;
    if (from !== undefined && value === quote(from) && !isRetyped)
      return { ...source, name: from, isNew: false, isFilled: false };
    return { ...source, name: hiddenName(), isNew: true, isFilled: value !== literal(column.default) };
  }

  function tasksOf(edit: Edit): readonly Task[] {
    switch (edit.kind) {
      case 'addColumn':
        return newColumn(edit.column.name);
      case 'changeColumn':
        return changedColumn(edit);
      case 'dropColumn':
        return [droppedColumn(edit.name)];
      case 'dropIndex':
        // Dropping its column may have dropped the index.
        return [taskOf('define', `drop index if exists ${quote(edit.name)}`)];
      case 'createIndex':
        return newIndex(edit.index);
    }
  }

  function changedColumn({ column, was }: Extract<Edit, { kind: 'changeColumn' }>): readonly Task[] {
    const one = columns.get(column.name);
    if (!one || one.isNew) return newColumn(column.name);
    if (!isFirst(`column ${column.name}`)) return [];
    const limits = checkOf({ ...column, name: '' }, dialect.name, (name) => name);
    const isLimited = limits !== (was.limits === undefined ? '' : `check (${was.limits})`);
    const isLinked = column.reference !== undefined && column.reference.onDelete !== was.onDelete;
    return [
      ...(isLimited ? [withoutCheck(one.name), ...checks(one)] : []),
      ...(isLinked ? [withoutLink(column), ...links(column)] : []),
      ...(was.nullable && !column.nullable ? required(one) : []),
      ...(!was.nullable && column.nullable ? [alterColumn(column, 'drop not null')] : []),
      changeDefault(column),
    ];
  }

  const alterColumn = ({ name }: Column, words: string): Task =>
    taskOf('settle', `${alter} alter column ${quote(name)} ${words}`);

  const changeDefault = (column: Column): Task =>
    alterColumn(column, column.default === null ? 'drop default' : `set default ${literal(column.default)}`);

  /** Finds the check by its column: its name may have given way to another. */
  function withoutCheck(column: string): Task {
    const ofColumn = `select attnum from pg_attribute where attrelid = rel and attname = ${literal(column)}`;
    const sql = [
      `do $$ declare rel regclass := ${literal(quote(table))}; link name; begin`,
      `for link in select conname from pg_constraint t where conrelid = rel and conkey = array(${ofColumn})`,
      `and ${OWN_CHECK} and not starts_with(conname, '${ENGINE_PREFIX}')`,
      `loop execute format('alter table %s drop constraint %I', rel, link); end loop; end $$`,
    ].join(' ');
    return taskOf('define', sql);
  }

  const withoutLink = ({ name }: Column): Task =>
    taskOf('define', `${alter} drop constraint ${quote(foreignKeyName(table, name))}`);

  /** With a check validated while clients write, SET NOT NULL skips its scan. */
  function checked(condition: string): { readonly check: string; readonly tasks: readonly Task[] } {
    const check = quote(hiddenName());
    const tasks = [
      taskOf('check', `${alter} add constraint ${check} ${condition} not valid`),
      taskOf('validate', `${alter} validate constraint ${check}`),
    ];
    return { check, tasks };
  }

  function required({ name, column }: NewColumn): readonly Task[] {
    const { check, tasks } = checked(`check (${quote(name)} is not null)`);
    return [...tasks, alterColumn(column, 'set not null'), taskOf('settle', `${alter} drop constraint ${check}`)];
  }

  function checks({ name, column }: NewColumn): readonly Task[] {
    const limits = checkOf({ ...column, name }, dialect.name, quote);
    if (limits === '') return [];
    const { check, tasks } = checked(limits);
    const wanted = quote(generatedName(table, column.name, 'check'));
    return [...tasks, taskOf('settle', `${alter} rename constraint ${check} to ${wanted}`)];
  }

  /** NOT VALID still checks later writes; earlier rows had the same key, or have none. */
  function links({ name, reference }: Column): readonly Task[] {
    if (!reference) return [];
    return [
      taskOf('link', `${addForeignKey(table, name, reference, dialect)} not valid`),
      taskOf('confirm', `${alter} validate constraint ${quote(foreignKeyName(table, name))}`),
    ];
  }

  function newColumn(name: string): readonly Task[] {
    const one = columns.get(name);
    if (!one?.isNew || !isFirst(`column ${name}`)) return [];
    const { column, from, isFilled } = one;
    const isConstant = !isFilled && column.default !== null;
    const words = [
      columnSql(column, dialect),
      ...(isConstant ? [`default ${literal(column.default)}`] : []),
      ...(isConstant && !column.nullable ? ['not null'] : []),
    ].join(' ');
    return [
      taskOf('column', addColumn(table, one.name, words, dialect)),
      ...(isFilled && isFirst('fill') ? fill() : []),
      ...checks(one),
      ...(column.nullable || isConstant ? [] : required(one)),
      ...(from === undefined ? [] : [droppedColumn(from)]),
      taskOf('rename', renameColumn(table, one.name, name, dialect)),
      ...(isConstant ? [] : [changeDefault(column)]),
      ...links(column),
      ...(from === undefined ? [] : lostIndexes(name).flatMap(newIndex)),
    ];
  }

  /** One trigger and one pass fill all new columns of a table. */
  function fill(): readonly Task[] {
    const key = quote(identifier);
    const read = filled.flatMap(({ from, reads }) => [from ?? [], reads ?? []]).flat();
    const watched = new Set([...read, ...(wasOpen ? [OPEN_COLUMN] : [])].map(quote));
    const events = watched.size === 0 ? 'insert' : `insert or update of ${[...watched].join(', ')}`;
    const name = quote(generatedName(`${ENGINE_PREFIX}fill`, table));
    const values = filled.map(({ value }) => value).join(', ');
    const targets = filled.map((one) => `new.${quote(one.name)}`).join(', ');
    const body = `select ${values} into ${targets} from (select new.*) as row$; return new;`;
    const text = literal(`\n#variable_conflict use_column\nbegin ${body} end`);
    const set = filled.map((one) => `${quote(one.name)} = ${one.value}`).join(', ');
    const trigger = `create trigger ${name} before ${events} on ${quote(table)} for each row execute function ${name}()`;
    return [
      taskOf('trigger', `create function ${name}() returns trigger language plpgsql as ${text}`),
      taskOf('trigger', trigger),
      {
        ...taskOf('fill', `update ${quote(table)} set ${set} where ${key} > ? and ${key} <= ?`),
        identifier,
        updates: true,
      },
      taskOf('define', `drop function ${name}() cascade`),
    ];
  }

  const droppedColumn = (name: string): Task => ({
    ...taskOf('define', `${alter} drop column ${quote(name)}`),
    drops: name,
  });

  function newIndex(index: TableIndex): readonly Task[] {
    const builds = hiddenName();
    const named = (column: string): string => columns.get(column)?.name ?? column;
    const sql = createIndex(index, dialect, { name: builds, concurrently: true, named });
    return [
      { ...taskOf('index', sql), builds },
      taskOf('renameIndex', `alter index ${quote(builds)} rename to ${quote(index.name)}`),
    ];
  }

  /** Unchanged indexes that are lost when `column` is replaced. */
  const lostIndexes = (column: string): readonly TableIndex[] =>
    indexes.filter(
      ({ name, columns: all }) =>
        !madeIndexes.has(name) && all.some((one) => one.name === column) && isFirst(`index ${name}`),
    );

  return { each: edits.map(tasksOf), together: [] };
}
