/** After an import: that every record is there which another one refers to. */
import type { Model, RecordType } from '../../model/model.ts';
import { StartError } from '../../start-error.ts';
import type { Dialect, Reader } from '../driver.ts';

export async function refuseDangling(model: Model, reader: Reader, { quote }: Dialect): Promise<void> {
  for (const { from, table, identifier, column, target } of referencesOf(model)) {
    const there = `select 1 from ${quote(target.table)} as t where t.${quote(target.identifier.column)} = r.${quote(column)}`;
    const dangling = `r.${quote(column)} is not null and not exists (${there})`;
    const columns = [identifier, column].map((name) => `r.${quote(name)}`).join(', ');
    const row = await reader.get({ sql: `select ${columns} from ${quote(table)} as r where ${dangling} limit 1` }, []);
    if (row)
      throw new StartError(
        `${from} ${String(row[0])} refers to ${target.name} ${String(row[1])}, which is not in the export. Nothing was changed.`,
      );
  }
}

interface ReferenceRow {
  /** The type of the record that refers, or that of the other side of a pair. */
  readonly from: string;
  readonly table: string;
  readonly identifier: string;
  readonly column: string;
  readonly target: RecordType;
}

const referencesOf = ({ types, joinTables }: Model): readonly ReferenceRow[] => [
  ...[...types.values()].flatMap(({ name, table, identifier, references }) =>
    references.map(({ column, target }) => ({ from: name, table, identifier: identifier.column, column, target })),
  ),
  ...joinTables.flatMap(({ name, left, right }) => [
    { from: left.type.name, table: name, identifier: left.column, column: right.column, target: right.type },
    { from: right.type.name, table: name, identifier: right.column, column: left.column, target: left.type },
  ]),
];
