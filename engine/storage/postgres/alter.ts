/**
 * Changes PostgreSQL tables while clients use them: a trigger keeps a new column up to date while older rows are
 * filled in batches, indexes are built concurrently, checks are validated later, and the switch only changes names.
 */
import type { OnDelete } from '../../descriptor/descriptor.ts';
import { ENGINE_PREFIX, OPEN_COLUMN, type Reference } from '../../model/model.ts';
import { generatedName } from '../../names.ts';
import { checkOf, type Column, type TableIndex } from '../columns.ts';
import { type Dialect, literal } from '../dialect.ts';
import type { Altered, ColumnSource, Edit, TableAlteration, Task } from '../migrate/task.ts';
import { addColumn, addForeignKey, columnSql, createIndex, foreignKeyName, renameColumn } from '../tables.ts';

/** SQL: whether a constraint `t` is a check by which the engine limits decimals, the only checks that it makes. */
export const OWN_CHECK = `contype = 'c' and cardinality(conkey) = 1 and pg_get_constraintdef(t.oid) like 'CHECK (((scale(%) <= %) AND (abs(%) < (%)::numeric)%'`;

/** Likewise its foreign key to a table: by its name, or if somebody has renamed it, the oldest one. */
const ownLink = (name: string, { target }: Reference, onDelete: OnDelete = 'restrict'): string =>
  `contype = 'f' and confrelid = ${literal(quote(target.table))}::regclass and (conname = ${literal(name)} or confdeltype = '${{ restrict: 'a', cascade: 'c', setNull: 'n' }[onDelete]}') order by conname <> ${literal(name)}, t.oid limit 1`;

interface NewColumn extends ColumnSource {
  readonly name: string;
  readonly isNew: boolean;
  readonly isFilled: boolean;
}

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export function alterTable(alteration: TableAlteration, dialect: Dialect): Altered {
  const alterer = new TableAlterer(alteration, dialect);
  return { each: alteration.edits.map((edit) => alterer.tasksOf(edit)), rebuild: [] };
}

class TableAlterer {
  readonly #alteration: TableAlteration;
  readonly #dialect: Dialect;
  readonly #table: string;
  readonly #columns: ReadonlyMap<string, NewColumn>;
  /** Tasks that several edits would make, by their subject. */
  readonly #handled = new Set<string>();
  #names = 0;

  constructor(alteration: TableAlteration, dialect: Dialect) {
    const { table, columns } = alteration;
    [this.#alteration, this.#dialect, this.#table] = [alteration, dialect, table];
    this.#columns = new Map(columns.map((source) => [source.column.name, this.#columnUntilSwitch(source)]));
  }

  #isFirst(tasks: string): boolean {
    if (this.#handled.has(tasks)) return false;
    this.#handled.add(tasks);
    return true;
  }

  #hiddenName(): string {
    this.#names += 1;
    return generatedName(`${ENGINE_PREFIX}new`, String(this.#names), this.#table);
  }

  readonly #taskOf = (kind: Task['kind'], sql: string): Task => ({ kind, table: this.#table, sql });

  readonly #altering = (kind: Task['kind'], words: string): Task =>
    this.#taskOf(kind, `alter table ${quote(this.#table)} ${words}`);

  #columnUntilSwitch(source: ColumnSource): NewColumn {
    const { column, value, from, isRetyped } = source;
    if (from !== undefined && value === quote(from) && !isRetyped)
      return { ...source, name: from, isNew: false, isFilled: false };
    return { ...source, name: this.#hiddenName(), isNew: true, isFilled: value !== literal(column.default) };
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
        // Dropping its column may have dropped the index.
        return [this.#taskOf('define', `drop index if exists ${quote(edit.name)}`)];
      case 'createIndex':
        return this.#newIndex(edit.index);
    }
  }

  #changedColumn({ column, was }: Extract<Edit, { kind: 'changeColumn' }>): readonly Task[] {
    const one = this.#columns.get(column.name);
    if (!one || one.isNew) return this.#newColumn(column.name);
    if (!this.#isFirst(`column ${column.name}`)) return [];
    const limits = checkOf({ ...column, name: '' }, this.#dialect.name, (name) => name);
    const isLimited = limits !== (was.limits === undefined ? '' : `check (${was.limits})`);
    const isLinked = column.reference !== undefined && column.reference.onDelete !== was.onDelete;
    return [
      ...(isLimited ? [this.#without(OWN_CHECK, one.name), ...this.#checks(one)] : []),
      ...(isLinked
        ? [
            this.#without(ownLink(this.#linkOf(column), column.reference, was.onDelete), column.name),
            ...this.#links(column),
          ]
        : []),
      ...(was.nullable && !column.nullable ? this.#required(one) : []),
      ...(!was.nullable && column.nullable
        ? [this.#altering('settle', `alter column ${quote(column.name)} drop not null`)]
        : []),
      ...(was.hasOtherDefault ? [this.#changeDefault(column)] : []),
    ];
  }

  #changeDefault({ name, default: value }: Column): Task {
    const words = value === null ? 'drop default' : `set default ${literal(value)}`;
    return this.#altering('settle', `alter column ${quote(name)} ${words}`);
  }

  /** Finds the engine's constraint of a column by what it is: its name may have given way to another. */
  #without(own: string, column: string): Task {
    const ofColumn = `select attnum from pg_attribute where attrelid = rel and attname = ${literal(column)}`;
    const sql = [
      `do $$ declare rel regclass := ${literal(quote(this.#table))}; link name; begin`,
      `for link in select conname from pg_constraint t where conrelid = rel and conkey = array(${ofColumn})`,
      `and not starts_with(conname, '${ENGINE_PREFIX}') and ${own}`,
      `loop execute format('alter table %s drop constraint %I', rel, link); end loop; end $$`,
    ].join(' ');
    return this.#taskOf('define', sql);
  }

  /** With a check validated while clients write, SET NOT NULL skips its scan. `settled`: words that follow. */
  #checked(condition: string, settled: (check: string) => readonly string[]): readonly Task[] {
    const check = quote(this.#hiddenName());
    return [
      this.#altering('check', `add constraint ${check} ${condition} not valid`),
      this.#altering('validate', `validate constraint ${check}`),
      ...settled(check).map((words) => this.#altering('settle', words)),
    ];
  }

  readonly #required = ({ name, column }: NewColumn): readonly Task[] =>
    this.#checked(`check (${quote(name)} is not null)`, (check) => [
      `alter column ${quote(column.name)} set not null`,
      `drop constraint ${check}`,
    ]);

  #checks({ name, column }: NewColumn): readonly Task[] {
    const limits = checkOf({ ...column, name }, this.#dialect.name, quote);
    const constraint = generatedName(this.#table, column.name, 'check');
    if (limits === '') return [];
    const tasks = this.#checked(limits, (check) => [`rename constraint ${check} to ${quote(constraint)}`]);
    return tasks.map((task) => ({ ...task, constraint }));
  }

  readonly #linkOf = ({ name }: Column): string => foreignKeyName(this.#table, name);

  /** NOT VALID still checks later writes; earlier rows had the same key, or have none. */
  #links(column: Column): readonly Task[] {
    const { name, reference } = column;
    if (!reference) return [];
    const constraint = this.#linkOf(column);
    const sql = `${addForeignKey(this.#table, name, reference, this.#dialect)} not valid`;
    return [
      { ...this.#taskOf('link', sql), constraint },
      this.#altering('confirm', `validate constraint ${quote(constraint)}`),
    ];
  }

  #newColumn(name: string): readonly Task[] {
    const one = this.#columns.get(name);
    if (!one?.isNew || !this.#isFirst(`column ${name}`)) return [];
    const { column, from, isFilled } = one;
    const isConstant = !isFilled && column.default !== null;
    const words = [
      columnSql(column, this.#dialect),
      ...(isConstant ? [`default ${literal(column.default)}`] : []),
      ...(isConstant && !column.nullable ? ['not null'] : []),
    ].join(' ');
    return [
      this.#taskOf('column', addColumn(this.#table, one.name, words, this.#dialect)),
      ...(isFilled && this.#isFirst('fill') ? this.#fill() : []),
      ...this.#checks(one),
      ...(column.nullable || isConstant ? [] : this.#required(one)),
      ...(from === undefined ? [] : [this.#droppedColumn(from)]),
      this.#taskOf('rename', renameColumn(this.#table, one.name, name, this.#dialect)),
      ...(isConstant ? [] : [this.#changeDefault(column)]),
      ...this.#links(column),
      ...(from === undefined ? [] : this.#lostIndexes(name).flatMap((index) => this.#newIndex(index))),
    ];
  }

  /** One trigger and one pass fill all new columns of a table. */
  #fill(): readonly Task[] {
    const { identifier, keyType, wasOpen } = this.#alteration;
    const filled = [...this.#columns.values()].filter(({ isFilled }) => isFilled);
    const key = quote(identifier);
    const read = filled.flatMap(({ from, reads }) => [from ?? [], reads ?? []]).flat();
    const watched = new Set([...read, ...(wasOpen ? [OPEN_COLUMN] : [])].map(quote));
    const events = watched.size === 0 ? 'insert' : `insert or update of ${[...watched].join(', ')}`;
    const name = quote(generatedName(`${ENGINE_PREFIX}fill`, this.#table));
    const values = filled.map(({ value }) => value).join(', ');
    const targets = filled.map((one) => `new.${quote(one.name)}`).join(', ');
    const body = `select ${values} into ${targets} from (select new.*) as row$; return new;`;
    const text = literal(`\n#variable_conflict use_column\nbegin ${body} end`);
    const set = filled.map((one) => `${quote(one.name)} = ${one.value}`).join(', ');
    const trigger = `create trigger ${name} before ${events} on ${quote(this.#table)} for each row execute function ${name}()`;
    return [
      this.#taskOf('trigger', `create function ${name}() returns trigger language plpgsql as ${text}`),
      this.#taskOf('trigger', trigger),
      {
        ...this.#taskOf(
          'fill',
          `update ${quote(this.#table)} set ${set} where ${key} ${keyType ? '>=' : '>'} ? and ${key} <= ?`,
        ),
        identifier,
        keyType,
        updates: true,
      },
      this.#taskOf('define', `drop function ${name}() cascade`),
    ];
  }

  readonly #droppedColumn = (name: string): Task => ({
    ...this.#altering('define', `drop column ${quote(name)}`),
    drops: name,
  });

  #newIndex(index: TableIndex): readonly Task[] {
    const builds = this.#hiddenName();
    const named = (column: string): string => this.#columns.get(column)?.name ?? column;
    const sql = createIndex(index, this.#dialect, { name: builds, concurrently: true, named });
    return [
      { ...this.#taskOf('index', sql), builds },
      this.#taskOf('renameIndex', `alter index ${quote(builds)} rename to ${quote(index.name)}`),
    ];
  }

  /** Unchanged indexes that are lost when `column` is replaced. */
  #lostIndexes(column: string): readonly TableIndex[] {
    const { edits, indexes } = this.#alteration;
    const made = new Set(edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : [])));
    return indexes.filter(
      ({ name, columns: all }) =>
        !made.has(name) && all.some((one) => one.name === column) && this.#isFirst(`index ${name}`),
    );
  }
}
