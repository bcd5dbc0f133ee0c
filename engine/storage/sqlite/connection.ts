/** One connection to an SQLite file: prepares each statement once and runs it. */
import Database from 'better-sqlite3';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Row, Statement, Values, Writer } from '../driver.ts';
import { weighed } from '../weighed.ts';
import { translated } from './errors.ts';
import { isLike, LIKE } from './like.ts';

/** A prepared statement, as much of it as is used. */
interface Prepared {
  get(...values: Values): unknown;
  all(...values: Values): unknown[];
  run(...values: Values): { readonly changes: number; readonly lastInsertRowid: number | bigint };
  iterate(...values: Values): IterableIterator<unknown>;
}

type Shape = 'row' | 'value' | 'run';

export interface Connection extends Writer {
  readonly database: Database.Database;
  iterate(statement: Statement, values: Values): IterableIterator<SqlValue>;
  rows(statement: Statement, values: Values): IterableIterator<Row>;
  /** Prepared once, for what is run again and again and answers nothing. */
  command(statement: Statement): void;
  execute(sql: string): void;
  close(): void;
}

export function connect(file: string, readonly: boolean): Connection {
  const database = new Database(file, { readonly, timeout: 0 });
  database.function(LIKE, { deterministic: true, directOnly: true }, isLike);
  const prepared: Readonly<Record<Shape, WeakMap<Statement, Prepared>>> = {
    row: new WeakMap(),
    value: new WeakMap(),
    run: new WeakMap(),
  };

  function prepare(statement: Statement, shape: Shape): Prepared {
    const known = prepared[shape].get(statement);
    if (known) return known;
    const fresh = database.prepare<SqlValue[]>(statement.sql);
    if (shape === 'row') fresh.raw();
    if (shape === 'value') fresh.pluck();
    prepared[shape].set(statement, fresh);
    return fresh;
  }

  return {
    database,
    get: translated((statement, values) => prepare(statement, 'row').get(...values) as Row | undefined),
    all: translated((statement, values) => prepare(statement, 'row').all(...values) as Row[]),
    value: translated((statement, values) => prepare(statement, 'value').get(...values) as SqlValue | undefined),
    count: translated((statement, values) => Number(prepare(statement, 'value').get(...values))),
    page: translated((statement, values, caller, most) => {
      const texts = prepare(statement, 'value').iterate(...values) as IterableIterator<string>;
      return weighed(texts, caller, most);
    }),
    column: translated((statement, values) => prepare(statement, 'value').all(...values) as SqlValue[]),
    run: translated((statement, values) => {
      const { changes, lastInsertRowid } = prepare(statement, 'run').run(...values);
      return { changes, identifier: Number(lastInsertRowid) };
    }),
    iterate: translated(
      (statement, values) => prepare(statement, 'value').iterate(...values) as IterableIterator<SqlValue>,
    ),
    rows: translated((statement, values) => prepare(statement, 'row').iterate(...values) as IterableIterator<Row>),
    command: translated((statement: Statement) => void prepare(statement, 'run').run()),
    execute: translated((sql: string) => void database.exec(sql)),
    close: () => void database.close(),
  };
}
