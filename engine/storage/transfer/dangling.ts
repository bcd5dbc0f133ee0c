/** After the last line of an import: that every record is there which another one refers to. */
import { escapeStep } from '../../json.ts';
import type { Model, RecordType } from '../../model/model.ts';
import type { Fault } from '../../problem.ts';
import type { Dialect, Reader } from '../driver.ts';
import type { Faults, PairLine, RecordLine, Source } from './lines.ts';

/** More of them are counted, and not told. */
const MOST = 100_000;

/** The rows say which records refer to none; only the file says in which lines they stand. */
export async function refuseDangling(
  model: Model,
  reader: Reader,
  { quote }: Dialect,
  source: Source,
  faults: Faults,
): Promise<void> {
  const found = new Map<string, Fault>();
  for (const { row, columns, table, column, pointer, target } of referencesOf(model)) {
    const there = `select 1 from ${quote(target.table)} as t where t.${quote(target.identifier.column)} = r.${quote(column)}`;
    const dangling = `r.${quote(column)} is not null and not exists (${there})`;
    const selected = columns.map((name) => `r.${quote(name)}`).join(', ');
    const sql = `select ${selected} from ${quote(table)} as r where ${dangling} limit ${Math.min(MOST, faults.room)}`;
    for (const values of await reader.all({ sql }, [])) {
      const missing = values[columns.indexOf(column)];
      const message = `There is no ${target.name} ${String(missing)} in the file`;
      found.set([row, ...values].join(' '), { pointer, code: 'not-found', message });
    }
  }
  if (found.size > 0) await tell(found, source, faults);
}

async function tell(found: ReadonlyMap<string, Fault>, source: Source, faults: Faults): Promise<void> {
  let number = 0;
  for await (const texts of source())
    for (const text of texts) {
      number += 1;
      for (const key of keysOf(text)) {
        const fault = found.get(key);
        if (fault) faults.add(number, fault);
      }
    }
}

/** What a line refers to, as `refuseDangling` names it. */
function keysOf(text: unknown): readonly string[] {
  try {
    const { type, identifier, references, pair, left, right } = JSON.parse(String(text)) as Partial<
      RecordLine & PairLine
    >;
    if (pair !== undefined)
      return [`pair ${pair} left`, `pair ${pair} right`].map((side) => `${side} ${left} ${right}`);
    return Object.entries(references ?? {}).map(
      ([column, value]) => `type ${type} ${column} ${identifier} ${String(value)}`,
    );
  } catch {
    return [];
  }
}

interface ReferenceRow {
  /** What the line of the row begins with, and the columns that it is known by. */
  readonly row: string;
  readonly columns: readonly string[];
  readonly table: string;
  readonly column: string;
  readonly pointer: string;
  readonly target: RecordType;
}

const referencesOf = ({ types, joinTables }: Model): readonly ReferenceRow[] => [
  ...[...types.values()].flatMap(({ name, table, identifier, references }) =>
    references.map(({ column, target }) => ({
      row: `type ${name} ${column}`,
      columns: [identifier.column, column],
      table,
      column,
      pointer: `/references/${escapeStep(column)}`,
      target,
    })),
  ),
  ...joinTables.flatMap(({ name: table, left, right }) => {
    const columns = [left.column, right.column];
    return [
      { row: `pair ${table} left`, columns, table, column: left.column, pointer: '/left', target: left.type },
      { row: `pair ${table} right`, columns, table, column: right.column, pointer: '/right', target: right.type },
    ];
  }),
];
