/** Lines of an export -> the rows that they become. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { type Model, OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import type { Fault } from '../../problem.ts';
import { type Column, columnsOf, encode } from '../columns.ts';
import { columnSql } from '../define.ts';
import type { Dialect, Values, Writer } from '../driver.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import { createTables } from '../write/tables.ts';
import { conflictOf } from './conflict.ts';
import type { Line, PairLine, RecordLine, SeedLine, SequenceLine } from './lines.ts';
import { createTarget, type Target } from './load.ts';

type RowLine = Exclude<Line, SequenceLine>;

/** `line` was checked: its names are those of the model. */
export type RowOf = (line: RowLine) => { readonly target: Target; readonly values: Values };

export function createRows(model: Model, dialect: Dialect, writer: Writer): RowOf {
  const tables = createTables(dialect, model.joinTables);
  const integer = (name: string) => ({ name, type: dialect.integer });
  const seeds = createTarget(dialect, SEED_TABLE, [{ name: 'type', type: 'text' }, integer('identifier')], 2, () =>
    twice('seed'),
  );
  const pairs = new Map(
    model.joinTables.map(({ name, left, right }) => [
      name,
      createTarget(dialect, name, [integer(left.column), integer(right.column)], 2, () => twice('pair')),
    ]),
  );
  const records = new Map<string, readonly [target: Target, columns: readonly Column[]]>();

  function recordsOf(name: string): readonly [target: Target, columns: readonly Column[]] {
    const known = records.get(name);
    if (known) return known;
    const type = typeNamed(model, name);
    const columns = columnsOf(type, dialect.name);
    const bulk = columns.map((column) => ({ name: column.name, type: columnSql(column, dialect) }));
    const target = createTarget(dialect, type.table, [integer(type.identifier.column), ...bulk], 1, (values) =>
      conflictOf(tables.of(type), values, dialect.name, writer),
    );
    records.set(name, [target, columns]);
    return [target, columns];
  }

  return (line) => {
    if ('pair' in line) return { target: found(pairs, line), values: [line.left, line.right] };
    if ('seed' in line) return seedRow(seeds, line);
    const [target, columns] = recordsOf(line.type);
    return { target, values: [line.identifier, ...columns.map((column) => valueOf(column, line, dialect))] };
  };
}

const seedRow = (target: Target, { seed, identifier }: SeedLine) => ({ target, values: [seed, identifier] });

const twice = (what: string): Fault => ({ pointer: '', code: 'taken', message: `This ${what} is in the file twice` });

export function typeNamed({ types }: Model, name: string): RecordType {
  const type = types.get(name);
  if (type) return type;
  throw new Error(`a line of a type "${name}" was not refused`);
}

function found(pairs: ReadonlyMap<string, Target>, { pair }: PairLine): Target {
  const target = pairs.get(pair);
  if (target) return target;
  throw new Error(`a pair "${pair}" was not refused`);
}

/** A field that the export does not know has its default, as in a record that is made. */
function valueOf(column: Column, { fields, references, texts, open }: RecordLine, dialect: Dialect): SqlValue {
  const { name, field } = column;
  if (field) {
    const given = fields[field.name];
    if (given === undefined) return column.default;
    return given === null ? null : (texts.get(field.name) ?? encode(field, dialect.name, given));
  }
  return name === OPEN_COLUMN ? (open ?? '{}') : (references[name] ?? null);
}
