/**
 * Writes of one record that neither name nor show others, each as one statement without a transaction around it. One that
 * does not find what it expects does nothing: the transaction that every other write takes then does it, or says why not.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import type { RecordType } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import { encode, withFolded } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { ConstraintError, type Driver, type Row, type Statement, type Values } from '../driver.ts';
import { newRecordJson, recordJson, ROOT_ALIAS } from '../read/views.ts';
import type { CreateRequest, RecordDeletion, WriteItem, WriteRequest, Written } from '../store.ts';
import { bound, isCurrent, rowOf, type Tables, type WriteTable } from './tables.ts';
import { type Stamp, stampValues, textOf } from './values.ts';

type UpdateRequest = Omit<WriteRequest, 'items'> & WriteItem & { readonly identifier: number };

/** Undefined where a transaction costs nothing more. Each of the writes returns undefined where nothing was done. */
export function createFlatWrites({ writeAlone, dialect }: Driver, tables: Tables) {
  if (!writeAlone) return undefined;
  // By type, not by its name: tokens and changed tables make others of the same name.
  const statements = memoized((table: WriteTable) => ({
    create: createShapeCache((view: View) => insertStatement(view, table, dialect)),
    update: createShapeCache((update: Update) => updateStatement(update, table, dialect)),
    delete: createShapeCache((view: View) => deleteStatement(view, dialect)),
  }));

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
    /** `values`: of all columns of the table but the identifier, in their order. */
    create: async (request: CreateRequest, table: WriteTable, values: Values): Promise<Written | undefined> => {
      if (values.length === 0) return undefined;
      const { view } = request;
      const row = await run(statements(table).create(view.key, view), values, request);
      return row && { identifier: Number(row[0]), body: String(row[1]) };
    },
    update: async (request: UpdateRequest, stamp: Stamp): Promise<Written | undefined> => {
      const { type, view, identifier, precondition } = request;
      if (view.relations.length > 0 || precondition) return undefined;
      const table = tables.of(type);
      const given = valuesIn(request, table, dialect);
      if (!given) return undefined;
      const columns = given.map(([column]) => column);
      const statement = statements(table).update(`${view.key}|${columns.join()}`, { view, columns });
      const stamps = stampValues({ stamp, dialect: dialect.name }, table.filled);
      const row = await run(statement, [identifier, ...given.map(([, value]) => value), ...stamps], request);
      return row && { identifier, body: String(row[0]) };
    },
    delete: async (request: RecordDeletion): Promise<Written | undefined> => {
      const { type, view, identifier, precondition } = request;
      if (view.relations.length > 0 || precondition || !isAlone(type) || tables.joinsOf(type).length > 0)
        return undefined;
      const row = await run(statements(tables.of(type)).delete(view.key, view), [identifier], request);
      return row && { identifier, body: String(row[0]) };
    },
  };
}

/** Whether nothing is deleted or unlinked together with a record. */
const isAlone = ({ referrers }: RecordType): boolean =>
  referrers.every(({ reference }) => reference.onDelete === 'restrict');

/** The columns and values of a body, in the order of the descriptor; undefined if stored values are needed, as for checks. */
function valuesIn(
  { type, body, raw, faults = [], mergePatch }: UpdateRequest,
  table: WriteTable,
  { name }: Dialect,
): readonly (readonly [column: string, value: SqlValue])[] | undefined {
  if (faults.length > 0) return undefined;
  if (type.checks.some(({ fields }) => fields.some(({ name: key }) => Object.hasOwn(body, key)))) return undefined;
  const given: (readonly [column: string, value: SqlValue])[] = [];
  let keys = type.identifier.inRecord && Object.hasOwn(body, type.identifier.name) ? 1 : 0;
  for (const [key, field] of type.fields) {
    if (!Object.hasOwn(body, key)) continue;
    keys += 1;
    const { keepsText } = field.type;
    if (field.generated !== undefined) continue;
    if (field.readOnly || (keepsText && mergePatch)) return undefined;
    const value = body[key] ?? null;
    given.push([field.column, keepsText ? textOf(raw?.get(body), key, value) : encode(field, name, value)]);
  }
  return given.length === 0 || keys < Object.keys(body).length ? undefined : withFolded(table, given);
}

// Statements. The value that is bound last is always the revision of the tables: where they changed, none does anything.

interface Update {
  readonly view: View;
  readonly columns: readonly string[];
}

/** A row that another write has locked is not found. */
const UNLOCKED = 'for update skip locked';

function insertStatement(view: View, { columns }: WriteTable, dialect: Dialect): Statement {
  const { type } = view;
  const names = columns.map(({ name }) => dialect.quote(name)).join(', ');
  const values = columns.map((column, index) => bound(column, index + 1, dialect)).join(', ');
  const json = newRecordJson(view, ROOT_ALIAS, dialect);
  const sql = (conflict = ''): string =>
    `insert into ${tableOf(type, dialect)} (${names}) select ${values} ` +
    `where ${isCurrent(dialect, columns.length + 1)}${conflict} returning ${identifierOf(type, dialect)}, ${json}`;
  // One with a value that is taken does not undo the others.
  return { sql: sql(), together: { sql: sql(' on conflict do nothing') } };
}

/** Writes only if a value differs. */
function updateStatement({ view, columns }: Update, table: WriteTable, dialect: Dialect): Statement {
  const { type } = view;
  const stamped = table.filled.stamped.map(({ name }) => name);
  const written = [...columns, ...stamped].map((name, index) => {
    const column = table.columns.find((one) => one.name === name);
    const before = `${ROOT_ALIAS}.${dialect.quote(name)}`;
    return { name, before, after: column ? bound(column, index + 2, dialect, before) : '' };
  });
  const compared = written.slice(0, columns.length);
  const [before, after] = [compared.map((one) => `${one.before}::text`), compared.map((one) => `${one.after}::text`)];
  const set = written.map((one) => `${dialect.quote(one.name)} = ${one.after}`).join(', ');
  const [rows, json] = [tableOf(type, dialect), recordJson(view, ROOT_ALIAS, dialect)];
  const found = isFound(type, written.length + 2, dialect);
  const identifier = dialect.quote(type.identifier.column);
  const sql = (locked: string): string =>
    [
      `with old$ as materialized (select ${ROOT_ALIAS}.* from ${rows} where ${found} ${locked}),`,
      `new$ as (update ${rows} set ${set} from old$ where ${ROOT_ALIAS}.${identifier} = old$.${identifier}`,
      `and (${before.join(', ')}) is distinct from (${after.join(', ')}) returning ${json} as json$)`,
      `select json$ from new$ union all select ${json} from old$ as ${ROOT_ALIAS} where not exists (select from new$)`,
    ].join(' ');
  const isUnique = type.indexes.some(
    ({ unique, members }) => unique && members.some((member) => 'column' in member && columns.includes(member.column)),
  );
  return { sql: sql('for update'), together: isUnique ? undefined : { sql: sql(UNLOCKED) } };
}

function deleteStatement(view: View, dialect: Dialect): Statement {
  const { type } = view;
  const [rows, identifier, found] = [tableOf(type, dialect), identifierOf(type, dialect), isFound(type, 2, dialect)];
  const sql = (condition: string): string =>
    `delete from ${rows} where ${condition} returning ${recordJson(view, ROOT_ALIAS, dialect)}`;
  // The server looks for the rows that refer to it, and waits for those that are locked.
  const isReferred = type.referrers.length > 0;
  const unlocked = `${identifier} = (select ${identifier} from ${rows} where ${found} ${UNLOCKED})`;
  return { sql: sql(found), together: isReferred ? undefined : { sql: sql(unlocked) } };
}

const tableOf = ({ table }: RecordType, { quote }: Dialect): string => `${quote(table)} as ${ROOT_ALIAS}`;
const identifierOf = ({ identifier }: RecordType, { quote }: Dialect): string =>
  `${ROOT_ALIAS}.${quote(identifier.column)}`;

/** `place`: that of the revision. */
const isFound = (type: RecordType, place: number, dialect: Dialect): string =>
  `${identifierOf(type, dialect)} = $1::bigint and ${isCurrent(dialect, place)}`;
