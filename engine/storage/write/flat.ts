/**
 * Writes of one record that neither name nor show others, each as one statement without a transaction around it. One that
 * does not find what it expects does nothing: the transaction that every other write takes then does it, or says why not.
 */
import { OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import type { View } from '../../query/list-query.ts';
import { type Column, columnType, encode, withFolded } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { ConstraintError, type Driver, type Row, type Statement, type Values } from '../driver.ts';
import { newRecordJson, recordJson, ROOT_ALIAS } from '../read/views.ts';
import type { CreateRequest, Store, WriteItem, WriteRequest, Written } from '../store.ts';
import { textOf } from './values.ts';
import { type Stamp, stampValues } from './values.ts';
import { bound, isCurrent, rowOf, type Tables, type WriteTable } from './tables.ts';

type UpdateRequest = Omit<WriteRequest, 'items'> & WriteItem & { readonly identifier: number };
type DeleteRequest = Parameters<Store['delete']>[0];

/** Each returns undefined where nothing was done. */
interface FlatWrites {
  /** `values`: of all columns of the table but the identifier, in their order. */
  create(request: CreateRequest, table: WriteTable, values: Values): Promise<Written | undefined>;
  update(request: UpdateRequest, stamp: Stamp): Promise<Written | undefined>;
  delete(request: DeleteRequest): Promise<Written | undefined>;
}

/** Characters of all values that one statement writes; longer ones are compared first, since to write them again costs more. */
const MOST_GIVEN = 4096;
/** Bytes of a stored record that is answered without a look at the budget of memory. */
const MOST_STORED = 16 * 1024;
/** Characters of a field that is never looked at. */
const SHORT_FIELD = 1000;

/** Undefined where a transaction costs nothing more. */
export function createFlatWrites(driver: Driver, tables: Tables): FlatWrites | undefined {
  const { writeAlone, dialect } = driver;
  if (!writeAlone) return undefined;
  // By type, not by its name: tokens and changed tables make others of the same name.
  const statements = memoized<WriteTable, [], FlatStatements>(({ columns }) => ({
    creates: createShapeCache((view: View) => insertStatement(view, columns, dialect)),
    updates: createShapeCache((update: Update) => updateStatement(update, dialect)),
    deletes: createShapeCache((view: View) => deleteStatement(view, dialect)),
  }));
  const columns = memoized((table: WriteTable) => new Map(table.columns.map((one) => [one.name, one])));

  /** A constraint that broke is explained by the transaction. */
  const run = (
    statement: Statement,
    values: Values,
    { caller, view, identifier }: Pick<WriteRequest, 'caller' | 'view'> & { readonly identifier?: number },
  ) =>
    writeAlone(statement, values, caller, identifier === undefined ? undefined : rowOf(view.type, identifier)).catch(
      (error: unknown): Row | undefined => {
        if (error instanceof ConstraintError) return undefined;
        throw error;
      },
    );

  return {
    create: async (request, table, values) => {
      if (values.length === 0 || lengthOf(values) > MOST_GIVEN) return undefined;
      const { view } = request;
      const row = await run(statements(table).creates(view.key, view), values, request);
      return row && { identifier: Number(row[0]), body: String(row[1]) };
    },
    update: async (request, stamp) => {
      const { type, view, identifier, precondition } = request;
      if (view.relations.length > 0 || precondition) return undefined;
      const table = tables.of(type);
      const given = valuesIn(request, table, dialect);
      if (!given || lengthOf(given.values) > MOST_GIVEN) return undefined;
      const all = columns(table);
      const update = {
        view,
        columns: given.columns.flatMap((name) => all.get(name) ?? []),
        stamps: table.filled.stamped.flatMap((name) => all.get(name) ?? []),
      };
      const statement = statements(table).updates(`${view.key}|${given.columns.join()}`, update);
      const stamps = stampValues({ stamp, dialect: dialect.name }, table.filled);
      const row = await run(statement, [identifier, ...given.values, ...stamps], request);
      return row && { identifier, body: String(row[0]) };
    },
    delete: async (request) => {
      const { type, view, identifier, precondition } = request;
      if (view.relations.length > 0 || precondition || !isAlone(type) || tables.joinsOf(type).length > 0)
        return undefined;
      const row = await run(statements(tables.of(type)).deletes(view.key, view), [identifier], request);
      return row && { identifier, body: String(row[0]) };
    },
  };
}

/** Whether nothing is deleted or unlinked together with a record. */
const isAlone = ({ referrers }: RecordType): boolean =>
  referrers.every(({ reference }) => reference.onDelete === 'restrict');

const lengthOf = (values: Values): number =>
  values.reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 0), 0);

interface GivenValues {
  readonly columns: readonly string[];
  readonly values: Values;
}

/** The columns and values of a body, in the order of the descriptor; undefined if stored values are needed, as for checks. */
function valuesIn(
  { type, body, raw, faults, mergePatch }: UpdateRequest,
  table: WriteTable,
  { name }: Dialect,
): GivenValues | undefined {
  if (faults && faults.length > 0) return undefined;
  if (type.checks.some(({ fields }) => fields.some(({ name: key }) => Object.hasOwn(body, key)))) return undefined;
  const members = raw?.get(body);
  const given: (readonly [column: string, value: SqlValue])[] = [];
  let keys = type.identifier.inRecord && Object.hasOwn(body, type.identifier.name) ? 1 : 0;
  for (const [key, field] of type.fields) {
    if (!Object.hasOwn(body, key)) continue;
    const { keepsText } = field.type;
    if (field.generated !== undefined) {
      keys += 1;
      continue;
    }
    if (field.readOnly || (keepsText && mergePatch)) return undefined;
    keys += 1;
    const value = body[key] ?? null;
    given.push([field.column, keepsText ? textOf(members, key, value) : encode(field, name, value)]);
  }
  if (given.length === 0 || keys < Object.keys(body).length) return undefined;
  const written = withFolded(table, given);
  return { columns: written.map(([column]) => column), values: written.map(([, value]) => value) };
}

interface Update {
  readonly view: View;
  readonly columns: readonly Column[];
  /** Columns that change together with any other. */
  readonly stamps: readonly Column[];
}

type ByShape<Q> = ReturnType<typeof createShapeCache<Q, Statement>>;

interface FlatStatements {
  readonly creates: ByShape<View>;
  readonly updates: ByShape<Update>;
  readonly deletes: ByShape<View>;
}

// Statements. The value that is bound last is always the revision of the tables: where they changed, none does anything.

/** A row that another write has locked is not found. */
const UNLOCKED = 'for update skip locked';

function insertStatement(view: View, columns: readonly Column[], dialect: Dialect): Statement {
  const { type } = view;
  const names = columns.map(({ name }) => dialect.quote(name)).join(', ');
  const values = columns.map((column, index) => bound(column, index + 1, dialect)).join(', ');
  const json = newRecordJson(view, ROOT_ALIAS, dialect);
  const made = columnOf(type.identifier.column, dialect);
  const sql = (conflict = ''): string =>
    `insert into ${tableOf(type.table, dialect)} (${names}) select ${values} ` +
    `where ${isCurrent(dialect, columns.length + 1)}${conflict} returning ${made}, ${json}`;
  // One with a value that is taken does not undo the others.
  return { sql: sql(), together: { sql: sql(' on conflict do nothing') } };
}

/** Writes only if a value differs. */
function updateStatement({ columns, stamps, view }: Update, dialect: Dialect): Statement {
  const { type } = view;
  const table = tableOf(type.table, dialect);
  const written = [...columns, ...stamps];
  const all = written.map((column, index) => bound(column, index + 2, dialect, columnOf(column.name, dialect)));
  const values = all.slice(0, columns.length);
  const set = written.map(({ name }, index) => `${dialect.quote(name)} = ${all[index] ?? ''}`).join(', ');
  const before = columns.map(({ name }) => `${columnOf(name, dialect)}::text`).join(', ');
  const after = values.map((value) => `${value}::text`).join(', ');
  const identifier = dialect.quote(type.identifier.column);
  const json = recordJson(view, ROOT_ALIAS, dialect);
  const sql = (locked: string): string =>
    [
      `with old$ as materialized (select ${ROOT_ALIAS}.* from ${table} where ${isFound(view, written.length + 2, dialect)} ${locked}),`,
      `new$ as (update ${table} set ${set} from old$ where ${ROOT_ALIAS}.${identifier} = old$.${identifier}`,
      `and (${before}) is distinct from (${after}) returning ${json} as json$)`,
      `select json$ from new$ union all select ${json} from old$ as ${ROOT_ALIAS} where not exists (select from new$)`,
    ].join(' ');
  const isUnique = type.indexes.some(
    ({ unique, members }) => unique && members.some(({ name }) => columns.some(({ field }) => field?.name === name)),
  );
  return { sql: sql('for update'), together: isUnique ? undefined : { sql: sql(UNLOCKED) } };
}

function deleteStatement(view: View, dialect: Dialect): Statement {
  const { type } = view;
  const table = tableOf(type.table, dialect);
  const identifier = columnOf(type.identifier.column, dialect);
  const found = isFound(view, 2, dialect);
  const sql = (condition: string): string =>
    `delete from ${table} where ${condition} returning ${recordJson(view, ROOT_ALIAS, dialect)}`;
  // The server looks for the rows that refer to it, and waits for those that are locked.
  const isReferred = type.referrers.length > 0;
  const unlocked = `${identifier} = (select ${identifier} from ${table} where ${found} ${UNLOCKED})`;
  return { sql: sql(found), together: isReferred ? undefined : { sql: sql(unlocked) } };
}

const tableOf = (table: string, { quote }: Dialect): string => `${quote(table)} as ${ROOT_ALIAS}`;
const columnOf = (column: string, { quote }: Dialect): string => `${ROOT_ALIAS}.${quote(column)}`;

/** The record, if it is not too long. `place`: that of the revision. */
function isFound(view: View, place: number, dialect: Dialect): string {
  const long = view.fields.filter((field) => field.type.longest(field) > SHORT_FIELD);
  const lengths = [
    ...long.map((field) => dialect.bytes(columnOf(field.column, dialect), columnType(field, dialect.name).sqlType)),
    ...(view.openKeys ? [dialect.bytes(columnOf(OPEN_COLUMN, dialect), dialect.openKeys)] : []),
  ];
  return [
    `${columnOf(view.type.identifier.column, dialect)} = $1::bigint`,
    isCurrent(dialect, place),
    ...(lengths.length > 0
      ? [`${lengths.map((length) => `coalesce(${length}, 0)`).join(' + ')} <= ${MOST_STORED}`]
      : []),
  ].join(' and ');
}
