/**
 * Statements that read for a role begin with a WITH clause, in which each table name stands for what the role sees of it:
 * hidden rows are missing, and hidden columns and links to hidden rows are null. `orders$` is the whole table.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { createCache, memoized } from '../../memo.ts';
import type { Filter } from '../../model/filters.ts';
import { identifierSql } from '../../model/identifier.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import {
  dataOf,
  entryOf,
  maskedColumn,
  partsOf,
  type Rights,
  shows,
  showsLink,
  type VisibleTable,
} from '../../model/rights.ts';
import { type Column, columnsOf, writtenSql } from '../columns.ts';
import type { Dialect, RecordStatement, Statement } from '../dialect.ts';
import type { Reader, RecordReader, Values } from '../driver.ts';
import { createJoinedTables, perRecord, sqlOf } from './conditions.ts';
import { relationsIn } from './heaviness.ts';
import { tablesOfPath } from './views.ts';

interface Bound {
  readonly statement: Statement;
  /** Of the conditions; they precede those of the statement itself. */
  readonly values: readonly SqlValue[];
}

/** Statements of roles that differ only in values are the same object, which connections prepare once. */
const MOST_STATEMENTS = 2000;

/** PostgreSQL would plan the conditions anew, and together, for each set that a filter reads: 20 sets take half a minute. */
const MOST_PLANNED_SETS = 4;

export function createVisible(dialect: Dialect) {
  const statements = createCache<Statement>(MOST_STATEMENTS);
  const prepared = ({ sql, reads, values }: ReturnType<Clause['before']>): Bound => {
    return { statement: statements(sql, () => ({ sql, reads })), values };
  };
  const plain = memoized(({ query, reads }: RecordStatement): Statement => ({ sql: query, reads }));
  const boundTo = memoized((rights: Rights) =>
    memoized((statement: RecordStatement): Bound => {
      if (rights.tables === undefined) return { statement: plain(statement), values: [] };
      return prepared(new Clause(rights, dialect, statement.readsMany).before(statement));
    }),
  );
  const meeting = memoized((conditions: readonly Filter[], table: VisibleTable, rights: Rights): Bound =>
    prepared(new Clause(rights, dialect).meeting(table, conditions)),
  );
  return {
    /** Finds those of the given records that meet conditions of the role. Bound: JSON array of identifiers. */
    meeting,
    /** Whether a record that is not stored like this would. Bound, before the conditions: its identifier and the columns. */
    meetingRow: (
      conditions: readonly Filter[],
      table: VisibleTable,
      rights: Rights,
      columns: readonly Column[],
    ): Bound => prepared(new Clause(rights, dialect).meeting(table, conditions, columns)),
    bind: (rights: Rights, statement: RecordStatement): Bound => boundTo(rights)(statement),
    to: (rights: Rights, reader: Reader): RecordReader => {
      const bound = (asked: RecordStatement, given: Values): [Statement, Values] => {
        const { statement, values } = boundTo(rights)(asked);
        return [statement, values.length === 0 ? given : [...values, ...given]];
      };
      return {
        all: (asked, given, onRow) => reader.all(...bound(asked, given), onRow),
        get: (asked, given) => reader.get(...bound(asked, given)),
        value: (asked, given) => reader.value(...bound(asked, given)),
        column: (asked, given, onRow) => reader.column(...bound(asked, given), onRow),
      };
    },
  };
}

/** The conditions of the role on the records of a type; undefined if it sees none. */
export const conditionsOn = (rights: Rights, { name }: RecordType): readonly Filter[] | undefined =>
  entryOf(rights, name, 'read')?.where;

/** The sets that the conditions of the role on these tables read, on SQLite at once for all records. */
export const setsOfRole = ({ tables, types }: Rights, named: readonly string[]): readonly Relation[] =>
  named
    .flatMap((table) => relationsIn(types.get(tables?.get(table)?.type.name ?? '')?.read?.where ?? []))
    .filter(({ toMany }) => toMany)
    .flatMap(({ source, name }) => tables?.get(storedTable(source.table))?.type.relations.get(name) ?? []);

/** Quoted names; strings, which may contain either sign, are skipped. */
const NAMES = /'(?:[^']|'')*'|`([^`]+)`|"([^"]+)"/g;
const ROW = 'v$';
const PARTS = partsOf('');
/** The table that a name of `dataOf` stands for. */
const storedTable = (name: string): string => name.slice(0, -1);

const wholeName = (name: string): string => (name.endsWith(PARTS) ? name.slice(0, -PARTS.length) : name);

class Clause {
  readonly #rights: Rights;
  readonly #dialect: Dialect;
  /** The dialect in which conditions are written. */
  readonly #asking: Dialect;
  /** The whole tables that conditions read, by the names without `$`. */
  readonly #data = new Set<string>();
  readonly #values: SqlValue[] = [];

  constructor(rights: Rights, dialect: Dialect, readsMany = false) {
    this.#rights = rights;
    this.#dialect = dialect;
    this.#asking = readsMany ? dialect : perRecord(dialect);
  }

  before({ query, reads, isOfData = false, sets = 0 }: RecordStatement) {
    const { quote } = this.#dialect;
    // Whatever the text names, lest a name that no list has stand for the whole table.
    const named = new Set([...query.matchAll(NAMES)].map(([, ticked, quoted]) => ticked ?? quoted ?? ''));
    for (const name of this.#rights.tables?.keys() ?? []) if (named.has(dataOf(name))) this.#data.add(name);
    const isRepeated = this.#dialect.plansSets && sets > MOST_PLANNED_SETS;
    const shown = [...named].flatMap((name) => {
      const table = this.#rights.tables?.get(wholeName(name));
      if (table === undefined) return [];
      this.#data.add(table.type.table);
      const all = `select * from ${quote(table.data.table)}`;
      const visible = isOfData ? all : this.#visible(table, named, wholeName(name) !== name);
      return [`${quote(name)} as ${isRepeated ? '' : 'not '}materialized (${visible})`];
    });
    const [comma, rest] = query.startsWith('with ') ? [',', query.slice('with '.length)] : ['', query];
    const sql = `with ${[...this.#whole(), ...shown].join(', ')}${comma} ${rest}`;
    return { sql, reads: [...new Set([...reads.map(wholeName), ...this.#data])], values: this.#values };
  }

  meeting({ type, data }: VisibleTable, conditions: readonly Filter[], columns?: readonly Column[]) {
    const { quote, name, oneOf } = this.#dialect;
    this.#data.add(type.table);
    const { joins, condition } = this.#condition(data, conditions, ROW);
    const identifier = `${ROW}.${quote(data.identifier.column)}`;
    const among = oneOf(identifier, identifierSql(data.identifier, name));
    const table = quote(data.table);
    const names = [data.identifier.column, ...(columns?.map((column) => column.name) ?? [])].map(quote).join();
    const values = ['?', ...(columns?.map(({ field }) => writtenSql(field, '?', name)) ?? [])].join();
    // The table gives the values their types.
    const row = `(select ${names} from ${table} where 1 = 0 union all select ${values})`;
    const from = `${columns ? row : table} as ${ROW}${joins} where ${condition}${columns ? '' : ` and ${among}`}`;
    const sql = `with ${this.#whole().join(', ')} select ${identifier} from ${from}`;
    return { sql, reads: [...this.#data], values: this.#values };
  }

  #whole(): readonly string[] {
    const { quote, locks } = this.#dialect;
    const stored = (name: string): string => (locks ? quote(name) : `main.${quote(name)}`);
    return [...this.#data].map((name) => `${quote(dataOf(name))} as not materialized (select * from ${stored(name)})`);
  }

  #visible({ type, data }: VisibleTable, named: ReadonlySet<string>, isOfOwner: boolean): string {
    const { quote } = this.#dialect;
    const shown = columnsOf(type, this.#dialect.name).flatMap((column, index) => {
      const names = [column.name, ...(column.reference ? [maskedColumn(column.reference)] : [])];
      const read = names.filter((name) => named.has(name));
      return read.map((name) => this.#column(type, data, { ...column, name }, index));
    });
    const select = [`${ROW}.${quote(type.identifier.column)}`, ...shown].join(', ');
    const conditions = isOfOwner ? [] : conditionsOn(this.#rights, type);
    const { joins, condition } = this.#condition(data, conditions, ROW);
    return `select ${select} from ${quote(data.table)} as ${ROW}${joins}${condition === '' ? '' : ` where ${condition}`}`;
  }

  #column(type: RecordType, data: RecordType, { name, field, folds, reference }: Column, index: number): string {
    const { quote } = this.#dialect;
    const column = `${ROW}.${quote(reference?.column ?? name)}`;
    const stored = field ?? folds;
    if (stored && type.fields.has(stored.name) && !shows(this.#rights, type, stored.name))
      return `null as ${quote(name)}`;
    if (stored) return column;
    if (reference === undefined) {
      const isOpen = entryOf(this.#rights, type.name, 'read')?.openKeys;
      return isOpen ? column : `cast('{}' as ${this.#dialect.openKeys}) as ${quote(name)}`;
    }
    const target = data.references.find((one) => one.column === reference.column)?.target ?? data;
    const conditions = showsLink(this.#rights, type, reference) ? conditionsOn(this.#rights, target) : undefined;
    if (conditions?.length === 0 || (conditions && name === reference.column)) return `${column} as ${quote(name)}`;
    if (conditions === undefined)
      return `cast(null as ${identifierSql(target.identifier, this.#dialect.name)}) as ${quote(name)}`;
    const alias = `l${index}$`;
    const { joins, condition } = this.#condition(target, conditions, alias);
    const linked = `${alias}.${quote(target.identifier.column)} = ${column}`;
    this.#data.add(storedTable(target.table));
    const found = `select 1 from ${quote(target.table)} as ${alias}${joins} where ${linked} and ${condition}`;
    return `case when exists (${found}) then ${column} end as ${quote(name)}`;
  }

  #condition(data: RecordType, conditions: readonly Filter[] | undefined, alias: string) {
    if (conditions === undefined) return { joins: '', condition: '1 = 0' };
    const source = createJoinedTables(data, this.#dialect, alias);
    const { sql: written, values } = sqlOf(conditions, source, this.#asking);
    // For a bare parameter, SQLite may prepare the statement again each time that values are bound.
    const sql = this.#dialect.plansSets ? written : written.replaceAll('?', '+?');
    for (const name of tablesOfPath(relationsIn(conditions))) this.#data.add(storedTable(name));
    this.#values.push(...values);
    const joins = source.joins();
    if (joins === '') return { joins: '', condition: sql };
    // SQLite reads a subquery with joins as a whole where it is joined itself.
    if (this.#dialect.plansSets) return { joins: ` ${joins}`, condition: sql };
    return { joins: '', condition: `exists (select 1 from (select 1) as one$ ${joins} where ${sql})` };
  }
}
