/** Rows as the database holds them: the world of a service, and copies of what a role sees into another one's tables. */
import Database from 'better-sqlite3';
import type { JsonValue } from '../../../engine/json/json.ts';
import type { Model, RecordType, Reference } from '../../../engine/model/model.ts';
import { createWorld, type Id, rankByCreation, type RecordRow, type World } from '../../oracle/world.ts';
import { connectTo, fileOf, runSql, type TestDatabase } from '../../support/databases.ts';
import type { Seen } from './drawn-role.ts';

type Cells = readonly unknown[];

async function query({ kind, url }: TestDatabase, statements: readonly string[]): Promise<readonly Cells[][]> {
  if (kind === 'sqlite') {
    const database = new Database(fileOf({ url }), { readonly: true });
    const results = statements.map((sql) => database.prepare(sql).raw().all() as Cells[]);
    database.close();
    return results;
  }
  const client = await connectTo(url);
  const results: Cells[][] = [];
  for (const text of statements) results.push((await client.query({ text, rowMode: 'array' })).rows as Cells[]);
  await client.end();
  return results;
}

const quoted = (name: string): string => `"${name}"`;
const idOf = (cell: unknown): Id => Number(cell);

/** `values`: the records of each type, as its list shows them without relations. */
export async function readWorld(
  database: TestDatabase,
  model: Model,
  values: ReadonlyMap<RecordType, readonly Readonly<Record<string, JsonValue>>[]>,
): Promise<World> {
  const world = createWorld(rankByCreation);
  const types = [...model.types.values()];
  const keys = types.map(({ table, identifier, references }) => {
    const columns = [identifier.column, ...references.map(({ column }) => column)];
    return `select ${columns.map(quoted).join(', ')} from ${quoted(table)} order by 1`;
  });
  const joins = [
    ...new Set(
      types.flatMap((type) =>
        [...type.relations.values()].flatMap(({ link }) => (link.at === 'join' ? [link.table] : [])),
      ),
    ),
  ];
  const pairs = joins.map(
    ({ name, left, right }) => `select ${quoted(left.column)}, ${quoted(right.column)} from ${quoted(name)}`,
  );
  const results = await query(database, [...keys, ...pairs]);
  for (const [index, type] of types.entries()) {
    const records = new Map((values.get(type) ?? []).map((record) => [Number(record[type.identifier.name]), record]));
    const rows = (results[index] ?? []).map(([id, ...links]): RecordRow => ({
      id: idOf(id),
      values: new Map([...type.fields.values()].map((field) => [field, records.get(Number(id))?.[field.name] ?? null])),
      links: new Map(
        type.references.flatMap((key, at): [Reference, Id][] => (links[at] === null ? [] : [[key, idOf(links[at])]])),
      ),
      open: new Map(),
    }));
    world.rows.set(type, new Map(rows.map((row) => [row.id, row])));
  }
  for (const [index, table] of joins.entries())
    world.joins.set(
      table,
      (results[types.length + index] ?? []).map(([left, right]) => [idOf(left), idOf(right)]),
    );
  return world;
}

const listOf = (ids: ReadonlySet<Id>): string => `(${[-1, ...ids].join(', ')})`;

interface Ends {
  readonly table: string;
  readonly source: string;
  readonly target: string;
}

/** The same relation in both models: its column, or its table with two. */
function linksOf(type: RecordType): ReadonlyMap<string, string | Ends> {
  return new Map(
    [...type.relations.values()].map(({ name, link }) => [
      name,
      link.at === 'join'
        ? { table: link.table.name, source: link.sourceColumn, target: link.targetColumn }
        : link.reference.column,
    ]),
  );
}

/** Copies what the role sees: its rows, without links to others. The reduced model names the same types and relations. */
export async function copySeen(
  from: TestDatabase,
  to: TestDatabase,
  reduced: Model,
  whole: ReadonlyMap<RecordType, Seen>,
): Promise<void> {
  const place = (database: TestDatabase, table: string): string =>
    database.kind === 'sqlite'
      ? `${database === from ? 'source' : 'main'}.${quoted(table)}`
      : `${quoted(/search_path=(\w+)/.exec(decodeURIComponent(database.url))?.[1] ?? '')}.${quoted(table)}`;
  const seen = new Map([...whole].map(([type, one]) => [type.name, { type, ...one }]));
  const idsOf = (type: RecordType): string => listOf(seen.get(type.name)?.ids ?? new Set());
  const statements: string[] = [];
  const joined = new Set<string>();
  for (const type of reduced.types.values()) {
    const original = seen.get(type.name)?.type;
    if (original === undefined) throw new Error(`${type.name} is not seen`);
    const keys = new Map<Reference, string>();
    for (const end of reduced.types.values())
      for (const { name, link } of end.relations.values()) {
        const was = linksOf(seen.get(end.name)?.type ?? end).get(name);
        if (link.at !== 'join' && typeof was === 'string') keys.set(link.reference, was);
        if (link.at !== 'join' || typeof was !== 'object' || end !== type || joined.has(link.table.name)) continue;
        joined.add(link.table.name);
        const { target } = end.relations.get(name) ?? { target: end };
        statements.push(
          `insert into ${place(to, link.table.name)} (${quoted(link.sourceColumn)}, ${quoted(link.targetColumn)}) ` +
            `select ${quoted(was.source)}, ${quoted(was.target)} from ${place(from, was.table)} ` +
            `where ${quoted(was.source)} in ${idsOf(end)} and ${quoted(was.target)} in ${idsOf(target)}`,
        );
      }
    const references = type.references.map((key): [string, string] => {
      const was = quoted(keys.get(key) ?? key.column);
      return [quoted(key.column), `case when ${was} in ${idsOf(key.target)} then ${was} end`];
    });
    const taken = new Set(references.map(([name]) => name));
    const [columns] = await query(to, [
      to.kind === 'sqlite'
        ? `select name from pragma_table_info('${type.table}')`
        : `select column_name from information_schema.columns where table_name = '${type.table}' and table_schema = current_schema()`,
    ]);
    const others = (columns ?? []).map(([name]) => quoted(String(name))).filter((name) => !taken.has(name));
    const pairs = [...references, ...others.map((name): [string, string] => [name, name])];
    statements.unshift(
      `insert into ${place(to, type.table)} (${pairs.map(([name]) => name).join(', ')}) ` +
        `select ${pairs.map(([, value]) => value).join(', ')} from ${place(from, original.table)} ` +
        `where ${quoted(original.identifier.column)} in ${idsOf(type)}`,
    );
  }
  const opening =
    to.kind === 'sqlite'
      ? ['pragma foreign_keys = off', `attach '${fileOf(from)}' as source`]
      : ['set session_replication_role = replica'];
  await runSql(to, ...opening, ...statements);
}
