/**
 * Changes of tables that clients of PostgreSQL do not notice. New values go into a new column, which a trigger keeps up to
 * date for every writer while older rows are filled in batches; indexes are built concurrently, checks are validated later.
 * The switch only changes names.
 */
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import { generatedName } from '../../names.ts';
import { checkOf, type Column } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Altered, ColumnSource, Edit, TableAlteration, Task } from '../migrate/driver.ts';
import {
  addColumn,
  addForeignKey,
  columnSql,
  createIndex,
  foreignKeyName,
  renameColumn,
  type TableIndex,
} from '../tables.ts';

interface NewColumn extends ColumnSource {
  /** Until the switch. */
  readonly name: string;
  readonly isNew: boolean;
  /** Whether its values are worked out row by row. */
  readonly isFilled: boolean;
}

export function alterTable(alteration: TableAlteration, dialect: Dialect): Altered {
  const work = new Alteration(alteration, dialect);
  return { each: alteration.edits.map((edit) => work.tasksOf(edit)), together: [] };
}

class Alteration {
  readonly #wanted: TableAlteration;
  readonly #dialect: Dialect;
  readonly #columns: ReadonlyMap<string, NewColumn>;
  /** `alter table NAME`. */
  readonly #alter: string;
  /** Columns and indexes that an earlier edit has dealt with. */
  readonly #handled = new Set<string>();
  #isFilled = false;
  #names = 0;

  constructor(wanted: TableAlteration, dialect: Dialect) {
    this.#wanted = wanted;
    this.#dialect = dialect;
    this.#alter = `alter table ${dialect.quote(wanted.table)}`;
    this.#columns = new Map(wanted.columns.map((source) => [source.column.name, this.#placed(source)]));
  }

  tasksOf(edit: Edit): readonly Task[] {
    switch (edit.kind) {
      case 'addColumn':
        return this.#newColumn(edit.column.name);
      case 'changeColumn':
        return this.#changedColumn(edit);
      case 'dropColumn':
        return [this.#droppedColumn(edit.name)];
      case 'dropIndex':
        // It may be gone with a column.
        return [this.#task('define', `drop index if exists ${this.#dialect.quote(edit.name)}`)];
      case 'createIndex':
        return this.#index(edit.index);
    }
  }

  #placed(source: ColumnSource): NewColumn {
    const { column, value, from, isRetyped } = source;
    if (from !== undefined && value === this.#dialect.quote(from) && !isRetyped)
      return { ...source, name: from, isNew: false, isFilled: false };
    const isFilled = value !== this.#dialect.literal(column.default);
    return { ...source, name: this.#unknown(), isNew: true, isFilled };
  }

  /** A new name that no client knows. */
  #unknown(): string {
    this.#names += 1;
    return generatedName(`${ENGINE_PREFIX}new`, String(this.#names), this.#wanted.table);
  }

  #task(kind: Task['kind'], sql: string): Task {
    return { kind, table: this.#wanted.table, sql };
  }

  /** Whether this is the first edit of it. */
  #begins(name: string): boolean {
    const isFirst = !this.#handled.has(name);
    this.#handled.add(name);
    return isFirst;
  }

  #changedColumn({ column, was }: Extract<Edit, { kind: 'changeColumn' }>): readonly Task[] {
    const one = this.#columns.get(column.name);
    if (!one || one.isNew) return this.#newColumn(column.name);
    if (!this.#begins(`column ${column.name}`)) return [];
    const limits = checkOf({ ...column, name: '' }, this.#dialect.name, (name) => name);
    const isLimited = limits !== (was.limits === undefined ? '' : `check (${was.limits})`);
    const isLinked = column.reference !== undefined && column.reference.onDelete !== was.onDelete;
    return [
      ...(isLimited ? [this.#withoutConstraints('c', one.name), ...this.#checks(one)] : []),
      ...(isLinked ? [this.#withoutConstraints('f', one.name), ...this.#links(column)] : []),
      ...(was.nullable && !column.nullable ? this.#required(one) : []),
      ...(!was.nullable && column.nullable ? [this.#settled(column, 'drop not null')] : []),
      this.#default(column),
    ];
  }

  #settled({ name }: Column, words: string): Task {
    return this.#task('settle', `${this.#alter} alter column ${this.#dialect.quote(name)} ${words}`);
  }

  #default(column: Column): Task {
    const { default: value } = column;
    return this.#settled(column, value === null ? 'drop default' : `set default ${this.#dialect.literal(value)}`);
  }

  /** Constraints are found by their column, since they keep their names when columns and tables get others. */
  #withoutConstraints(kind: 'f' | 'c', column: string): Task {
    const { literal, quote } = this.#dialect;
    const ofColumn = `select attnum from pg_attribute where attrelid = rel and attname = ${literal(column)}`;
    const sql = [
      `do $$ declare rel regclass := ${literal(quote(this.#wanted.table))}; link name; begin`,
      `for link in select conname from pg_constraint where conrelid = rel and contype = '${kind}'`,
      `and conkey = array(${ofColumn}) and not starts_with(conname, '${ENGINE_PREFIX}')`,
      `loop execute format('alter table %s drop constraint %I', rel, link); end loop; end $$`,
    ].join(' ');
    return this.#task('define', sql);
  }

  /** A check that was validated while clients write spares SET NOT NULL the rows. */
  #checked(condition: string): { readonly name: string; readonly tasks: readonly Task[] } {
    const name = this.#unknown();
    const quoted = this.#dialect.quote(name);
    const tasks = [
      this.#task('check', `${this.#alter} add constraint ${quoted} ${condition} not valid`),
      this.#task('validate', `${this.#alter} validate constraint ${quoted}`),
    ];
    return { name, tasks };
  }

  #required({ name, column }: NewColumn): readonly Task[] {
    const { quote } = this.#dialect;
    const check = this.#checked(`check (${quote(name)} is not null)`);
    return [
      ...check.tasks,
      this.#settled(column, 'set not null'),
      this.#task('settle', `${this.#alter} drop constraint ${quote(check.name)}`),
    ];
  }

  #checks({ name, column }: NewColumn): readonly Task[] {
    const { quote, name: dialect } = this.#dialect;
    const limits = checkOf({ ...column, name }, dialect, quote);
    if (limits === '') return [];
    const check = this.#checked(limits);
    const wanted = quote(generatedName(this.#wanted.table, column.name, 'check'));
    return [...check.tasks, this.#task('settle', `${this.#alter} rename constraint ${quote(check.name)} to ${wanted}`)];
  }

  /** NOT VALID holds for every later write; earlier rows had the same key, or have none. */
  #links({ name, reference }: Column): readonly Task[] {
    if (!reference) return [];
    const { table } = this.#wanted;
    const key = this.#dialect.quote(foreignKeyName(table, name));
    const added = addForeignKey(table, name, reference, this.#dialect);
    return [
      this.#task('link', `${added} not valid`),
      this.#task('confirm', `${this.#alter} validate constraint ${key}`),
    ];
  }

  #newColumn(name: string): readonly Task[] {
    const one = this.#columns.get(name);
    if (!one?.isNew || !this.#begins(`column ${name}`)) return [];
    const { column, from } = one;
    const { table } = this.#wanted;
    const isConstant = !one.isFilled && column.default !== null;
    const words = [
      columnSql(column, this.#dialect),
      ...(isConstant ? [`default ${this.#dialect.literal(column.default)}`] : []),
      ...(isConstant && !column.nullable ? ['not null'] : []),
    ].join(' ');
    return [
      this.#task('column', addColumn(table, one.name, words, this.#dialect)),
      ...(one.isFilled ? this.#fill() : []),
      ...this.#checks(one),
      ...(column.nullable || isConstant ? [] : this.#required(one)),
      ...(from === undefined ? [] : [this.#droppedColumn(from)]),
      this.#task('rename', renameColumn(table, one.name, name, this.#dialect)),
      ...(isConstant ? [] : [this.#default(column)]),
      ...this.#links(column),
      ...(from === undefined ? [] : this.#lostIndexes(name).flatMap((index) => this.#index(index))),
    ];
  }

  /** All columns of a table that are filled have one trigger, and are filled together. */
  #fill(): readonly Task[] {
    if (this.#isFilled) return [];
    this.#isFilled = true;
    const { quote, literal } = this.#dialect;
    const { identifier, wasOpen } = this.#wanted;
    const [table, key] = [quote(this.#wanted.table), quote(identifier)];
    const filled = [...this.#columns.values()].filter((one) => one.isFilled);
    const sources = filled.flatMap(({ from, reads }) => [from ?? [], reads ?? []]).flat();
    const watched = new Set([...sources, ...(wasOpen ? [OPEN_COLUMN] : [])].map(quote));
    const events = watched.size === 0 ? 'insert' : `insert or update of ${[...watched].join(', ')}`;
    const name = quote(generatedName(`${ENGINE_PREFIX}fill`, this.#wanted.table));
    const values = filled.map(({ value }) => value).join(', ');
    const targets = filled.map((one) => `new.${quote(one.name)}`).join(', ');
    const body = `select ${values} into ${targets} from (select new.*) as row$; return new;`;
    const text = literal(`\n#variable_conflict use_column\nbegin ${body} end`);
    const set = filled.map((one) => `${quote(one.name)} = ${one.value}`).join(', ');
    return [
      this.#task('trigger', `create function ${name}() returns trigger language plpgsql as ${text}`),
      this.#task(
        'trigger',
        `create trigger ${name} before ${events} on ${table} for each row execute function ${name}()`,
      ),
      { ...this.#task('fill', `update ${table} set ${set} where ${key} > ? and ${key} <= ?`), identifier },
      this.#task('define', `drop function ${name}() cascade`),
    ];
  }

  /** Its indexes and constraints go with it. */
  #droppedColumn(name: string): Task {
    return { ...this.#task('define', `${this.#alter} drop column ${this.#dialect.quote(name)}`), drops: name };
  }

  #index(index: TableIndex): readonly Task[] {
    const { quote } = this.#dialect;
    const builds = this.#unknown();
    const named = (column: string): string => this.#columns.get(column)?.name ?? column;
    const sql = createIndex(index, this.#dialect, { name: builds, concurrently: true, named });
    return [
      { ...this.#task('index', sql), builds },
      this.#task('renameIndex', `alter index ${quote(builds)} rename to ${quote(index.name)}`),
    ];
  }

  /** Unchanged indexes that go with a column which is replaced. */
  #lostIndexes(name: string): readonly TableIndex[] {
    const made = new Set(this.#wanted.edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : [])));
    return this.#wanted.indexes.filter(
      (index) =>
        !made.has(index.name) &&
        index.columns.some((column) => column.name === name) &&
        this.#begins(`index ${index.name}`),
    );
  }
}
