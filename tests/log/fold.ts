/** Folds the log of changes from its start, and compares the result with the tables. */
import { isDeepStrictEqual } from 'node:util';
import Sqlite from 'better-sqlite3';
import { identifierJson } from '../../engine/model/identifier.ts';
import { type Model, OPEN_COLUMN, type RecordType } from '../../engine/model/model.ts';
import { columnType } from '../../engine/storage/columns.ts';
import type { Dialect } from '../../engine/storage/dialect.ts';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import { sqliteDialect } from '../../engine/storage/sqlite/dialect.ts';
import { connectTo, fileOf, type TestDatabase } from '../support/databases.ts';

type Database = Pick<TestDatabase, 'kind' | 'url'>;

export type Row = Readonly<Record<string, unknown>>;

/** What a statement of somebody else finds. */
export async function rowsOf({ kind, url }: Database, sql: string): Promise<readonly Row[]> {
  if (kind === 'sqlite') {
    const database = new Sqlite(fileOf({ url }));
    const rows = database.prepare<[], Row>(sql).all();
    database.close();
    return rows;
  }
  const client = await connectTo(url);
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

type Values = Record<string, unknown>;

const valuesIn = (text: unknown): Values => JSON.parse(String(text ?? '{}')) as Values;

const place = ({ source, record }: Row): string => `${String(source)}/${String(record)}`;

/** The tables of records, by their join table and its column for the other side. */
const linkedTables = ({ joinTables }: Model): ReadonlyMap<string, string> =>
  new Map(
    joinTables.flatMap(({ name, left, right }) => [
      [`${name} ${right.column}`, left.type.table] as const,
      [`${name} ${left.column}`, right.type.table] as const,
    ]),
  );

/** The records and links by table and identifier. Throws at an entry that does not follow from those before it. */
export function folded(entries: readonly Row[], model: Model): ReadonlyMap<string, Values> {
  const records = new Map<string, Values>();
  const tables = linkedTables(model);
  for (const entry of entries) {
    const [key, was, is] = [place(entry), valuesIn(entry['old']), valuesIn(entry['new'])];
    const known = records.get(key);
    const fail = (): never => {
      throw new Error(`${JSON.stringify(entry)} does not follow ${JSON.stringify(known)}`);
    };
    const link = entry['operation'] === 'link' ? is : was;
    const linked = `${key} ${JSON.stringify(link)}`;
    const table = tables.get(`${String(entry['source'])} ${Object.keys(link).join()}`);
    // Links begin after their records, and end before them.
    if (table !== undefined && !records.has(place({ ...entry, source: table }))) fail();
    switch (entry['operation']) {
      case 'create':
        if (known) fail();
        records.set(key, is);
        break;
      case 'update': {
        const before = Object.fromEntries(Object.keys(was).map((name) => [name, known?.[name] ?? null]));
        const keys = [was, is].map((values) => Object.keys(values).join());
        if (!known || !isDeepStrictEqual(before, was) || keys[0] !== keys[1]) fail();
        records.set(key, present({ ...known, ...is }));
        break;
      }
      case 'delete':
        if (!isDeepStrictEqual(known, was)) fail();
        records.delete(key);
        break;
      case 'link':
        if (records.has(linked)) fail();
        records.set(linked, {});
        break;
      default:
        if (!records.delete(linked)) fail();
    }
  }
  return records;
}

const present = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, one]) => one !== null));

function columnsOf(type: RecordType, { name, quote }: Dialect): readonly (readonly [column: string, json: string])[] {
  return [
    ...[...type.fields.values()].flatMap((field) =>
      field.sensitive ? [] : [[field.column, columnType(field, name).json(quote(field.column))] as const],
    ),
    ...type.references.map(
      ({ column, target }) => [column, identifierJson(target.identifier, name, quote(column))] as const,
    ),
    ...(type.open ? [[OPEN_COLUMN, `cast(${OPEN_COLUMN} as text)`] as const] : []),
  ];
}

/** Records and links of all recorded types, as the tables have them. */
export async function stored(database: Database, model: Model): Promise<ReadonlyMap<string, Values>> {
  const dialect = database.kind === 'sqlite' ? sqliteDialect : postgresDialect;
  const { quote } = dialect;
  const found = new Map<string, Values>();
  for (const type of model.types.values()) {
    if (!type.history) continue;
    const columns = columnsOf(type, dialect);
    const selected = columns.map(([, json], at) => `cast(${json} as text) as c${at}`);
    const id = `cast(${quote(type.identifier.column)} as text) as record`;
    for (const row of await rowsOf(database, `select ${[id, ...selected].join(', ')} from ${quote(type.table)}`)) {
      const values = columns.map(([column], at) => {
        const text = row[`c${at}`] ?? null;
        return [column, text === null ? null : (JSON.parse(String(text)) as unknown)] as const;
      });
      found.set(place({ source: type.table, record: row['record'] }), present(Object.fromEntries(values)));
    }
  }
  for (const { name, left, right } of model.joinTables)
    for (const [own, other] of [
      [left, right],
      [right, left],
    ] as const) {
      if (!own.type.history) continue;
      const json = identifierJson(other.type.identifier, dialect.name, quote(other.column));
      const sql = `select cast(${quote(own.column)} as text) as record, cast(${json} as text) as other from ${quote(name)}`;
      for (const { record, other: text } of await rowsOf(database, sql)) {
        const value = { [other.column]: JSON.parse(String(text)) as unknown };
        found.set(`${place({ source: name, record })} ${JSON.stringify(value)}`, {});
      }
    }
  return found;
}

export const LOG = 'select * from _records_log order by position';

/** What the log, from its start, leads to, and what the tables have. */
export async function foldedAndStored(database: Database, model: Model) {
  const entries = await rowsOf(database, LOG);
  const sorted = (all: ReadonlyMap<string, Values>) => [...all].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { entries, folded: sorted(folded(entries, model)), stored: sorted(await stored(database, model)) };
}

/** Expects that the log leads to the tables. Returns the number of its entries. */
export async function expectFold(database: Database, model: Model): Promise<number> {
  const { entries, ...found } = await foldedAndStored(database, model);
  expect(found.folded).toEqual(found.stored);
  return entries.length;
}
