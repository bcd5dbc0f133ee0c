/** What is in a file that this engine did not make: it may run with each write, or look like a table and be something else. */
import type Database from 'better-sqlite3';
import { isObject } from '../../json.ts';
import { type AppliedModel, MODEL_TABLE } from '../applied-model.ts';
import { engineTables } from '../engine-tables.ts';
import { sqliteDialect } from './dialect.ts';

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** As people name them: `trigger "x" of "things"`. Of a file without a model, everything is foreign. */
export function foreignObjects(database: Database.Database): readonly string[] {
  const own = ownNames(database);
  // Of what SQLite makes by itself, only tables and indexes have such names.
  const isOwn = ({ type, name, sql }: SchemaRow): boolean =>
    (type === 'table' || type === 'index') &&
    (name.startsWith('sqlite_') || (own.has(name) && !/^create virtual/i.test(sql ?? '')));
  return database
    .prepare<[], SchemaRow>('select type, name, tbl_name, sql from sqlite_schema order by type, name')
    .all()
    .filter((row) => !isOwn(row))
    .map(nameOf);
}

function nameOf({ type, name, tbl_name: table, sql }: SchemaRow): string {
  if (type === 'trigger' || type === 'index') return `${type} "${name}" of "${table}"`;
  return `${/^create virtual/i.test(sql ?? '') ? 'virtual table' : type} "${name}"`;
}

/** Names of tables and indexes that the applied model and the engine itself make. */
function ownNames(database: Database.Database): ReadonlySet<string> {
  const { types, joins } = appliedIn(database);
  return new Set([
    ...engineTables(sqliteDialect).keys(),
    ...[...Object.values(types), ...joins].flatMap(({ table, definition }) => [
      table,
      ...Object.keys(definition.indexes),
    ]),
  ]);
}

function appliedIn(database: Database.Database): Pick<AppliedModel, 'types' | 'joins'> {
  const text = database.prepare<[], string>(`select applied from ${MODEL_TABLE}`).pluck().get();
  const applied: unknown = text === undefined ? undefined : JSON.parse(text);
  return isObject(applied) ? (applied as unknown as AppliedModel) : { types: {}, joins: [] };
}
