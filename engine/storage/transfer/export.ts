/** All records of a database as lines, from one snapshot. */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import type { Field, JoinTable, Model, RecordType } from '../../model/model.ts';
import { type Column, columnsOf, readSql } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader, Row, Values } from '../driver.ts';
import { SEED_TABLE, tablesOf } from '../tables.ts';
import { referredFirst } from '../seed.ts';
import { FORMAT, type Head, type Line } from './lines.ts';

const PAGE = 1000;
const SEEDS = { sql: `select type, identifier from ${SEED_TABLE} order by type, identifier` };

/** The head, and then each line as text. Ending early frees the snapshot. */
export async function* exportLines(model: Model, driver: Driver): AsyncGenerator<Head | string> {
  const snapshot = await driver.snapshot();
  const { dialect } = driver;
  try {
    const types = referredFirst([...model.types.values()]);
    const others = [...(await sequences(snapshot, types, dialect)), ...(await seeds(snapshot))];
    let rows = 0;
    for (const table of tablesOf(model))
      rows += Number(await snapshot.value({ sql: `select count(*) from ${dialect.quote(table)}` }, []));
    yield { format: FORMAT, lines: rows + others.length };
    for (const type of types) yield* records(snapshot, type, dialect);
    for (const table of model.joinTables) yield* pairs(snapshot, table, dialect);
    for (const line of others) yield JSON.stringify(line);
  } finally {
    await snapshot.close();
  }
}

async function* records(reader: Reader, type: RecordType, dialect: Dialect): AsyncGenerator<string> {
  const { quote } = dialect;
  const columns = columnsOf(type, dialect.name, () => undefined);
  const identifier = quote(type.identifier.column);
  const all = [identifier, ...columns.map((column) => readSql(column, dialect.name, quote))].join(', ');
  const from = `select ${all} from ${quote(type.table)} where ${identifier} > ? order by ${identifier} limit ${PAGE}`;
  const text = recordText(type, columns, dialect.name);
  for await (const row of pages(reader, { sql: from }, ([last = 0]) => [last], [0])) yield text(row);
}

type Text = (row: Row) => string;

/** What is kept as JSON text goes out as it is. */
function recordText(type: RecordType, columns: readonly Column[], dialect: DialectName): Text {
  const named = (name: string, index: number, json: (value: SqlValue) => string): Text => {
    const key = `${JSON.stringify(name)}:`;
    return (row) => key + json(row[index + 1] ?? null);
  };
  const texts = columns.map((column, index) => {
    const { field, reference } = column;
    if (field) return { place: 'fields', text: named(field.name, index, fieldText(field, dialect)) };
    if (reference) return { place: 'references', text: named(reference.exportName, index, String) };
    return { place: 'open', text: named('open', index, JSON.stringify) };
  });
  const at = (wanted: string): readonly Text[] => texts.filter(({ place }) => place === wanted).map(({ text }) => text);
  const [fields, references, open] = [at('fields'), at('references'), at('open')];
  const head = `{"type":${JSON.stringify(type.name)},"identifier":`;
  const joined = (all: readonly Text[], row: Row): string => all.map((text) => text(row)).join(',');
  return (row) =>
    `${head}${String(row[0])},"fields":{${joined(fields, row)}},"references":{${joined(references, row)}}${open.map((text) => `,${text(row)}`).join('')}}`;
}

function fieldText({ type }: Field, dialect: DialectName): (value: SqlValue) => string {
  const { decode } = type.columns[dialect];
  if (type.keepsText) return String;
  return (value) => (value === null ? 'null' : JSON.stringify(decode(value)));
}

async function* pairs(reader: Reader, table: JoinTable, { quote }: Dialect): AsyncGenerator<string> {
  const { name, exportName, left, right } = table;
  const both = `${quote(left.column)}, ${quote(right.column)}`;
  const sql = `select ${both} from ${quote(name)} where (${both}) > (?, ?) order by ${both} limit ${PAGE}`;
  for await (const [one, other] of pages(reader, { sql }, ([a = 0, b = 0]) => [a, b], [0, 0]))
    yield JSON.stringify({ pair: exportName, left: Number(one), right: Number(other) });
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
