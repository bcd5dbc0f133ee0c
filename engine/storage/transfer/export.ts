/** All records of a database as lines, from one snapshot. */
import type { JsonValue } from '../../json.ts';
import { type JoinTable, type Model, OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import { columnsOf, columnType } from '../columns.ts';
import type { Dialect, Driver, Reader, Row, Values } from '../driver.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import { referredFirst } from '../seed.ts';
import { FORMAT, type Head, type Line, type RecordLine } from './lines.ts';

const PAGE = 1000;
const SEEDS = { sql: `select type, identifier from ${SEED_TABLE} order by type, identifier` };

/** The head first. Ending early frees the snapshot. */
export async function* exportLines(model: Model, driver: Driver): AsyncGenerator<Head | Line> {
  const snapshot = await driver.snapshot();
  const { dialect } = driver;
  try {
    const types = referredFirst([...model.types.values()]);
    const others = [...(await sequences(snapshot, types, dialect)), ...(await seeds(snapshot))];
    const tables = [...types.map(({ table }) => table), ...model.joinTables.map(({ name }) => name)];
    let rows = 0;
    for (const table of tables)
      rows += Number(await snapshot.value({ sql: `select count(*) from ${dialect.quote(table)}` }, []));
    yield { format: FORMAT, lines: rows + others.length };
    for (const type of types) yield* records(snapshot, type, dialect);
    for (const table of model.joinTables) yield* pairs(snapshot, table, dialect);
    yield* others;
  } finally {
    await snapshot.close();
  }
}

async function* records(reader: Reader, type: RecordType, dialect: Dialect): AsyncGenerator<RecordLine> {
  const { quote } = dialect;
  const columns = columnsOf(type, dialect.name);
  const identifier = quote(type.identifier.column);
  const all = [identifier, ...columns.map(({ name }) => quote(name))].join(', ');
  const from = `select ${all} from ${quote(type.table)} where ${identifier} > ? order by ${identifier} limit ${PAGE}`;
  for await (const [id, ...values] of pages(reader, { sql: from }, ([last = 0]) => [last], [0])) {
    const fields: Record<string, JsonValue> = {};
    const references: Record<string, number | null> = {};
    let open: string | undefined;
    for (const [index, { name, field, reference }] of columns.entries()) {
      const value = values[index] ?? null;
      if (field) fields[field.name] = value === null ? null : columnType(field, dialect.name).decode(value);
      else if (reference) references[name] = value === null ? null : Number(value);
      else if (name === OPEN_COLUMN) open = String(value);
    }
    yield { type: type.name, identifier: Number(id), fields, references, ...(open === undefined ? {} : { open }) };
  }
}

async function* pairs(reader: Reader, { name, left, right }: JoinTable, { quote }: Dialect): AsyncGenerator<Line> {
  const both = `${quote(left.column)}, ${quote(right.column)}`;
  const sql = `select ${both} from ${quote(name)} where (${both}) > (?, ?) order by ${both} limit ${PAGE}`;
  for await (const [one, other] of pages(reader, { sql }, ([a = 0, b = 0]) => [a, b], [0, 0]))
    yield { pair: name, left: Number(one), right: Number(other) };
}

async function* pages(
  reader: Reader,
  statement: { readonly sql: string },
  after: (row: Row) => Values,
  first: Values,
): AsyncGenerator<Row> {
  for (let from = first; ;) {
    const rows = await reader.all(statement, from);
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    from = after(last);
  }
}

async function sequences(reader: Reader, types: readonly RecordType[], dialect: Dialect): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const { name, table, identifier } of types) {
    const last = Number(await reader.value({ sql: dialect.sequence.read(table, identifier.column) }, []));
    if (last > 0) lines.push({ sequence: name, last });
  }
  return lines;
}

async function seeds(reader: Reader): Promise<readonly Line[]> {
  const rows = await reader.all(SEEDS, []);
  return rows.map(([type, identifier]) => ({ seed: String(type), identifier: Number(identifier) }));
}
