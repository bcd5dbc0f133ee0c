/** Rows into tables that were empty: many with one statement, if the database is a server; each conflict is told apart. */
import { andThen, type Awaitable } from '../../awaitable.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Fault } from '../../problem.ts';
import type { BulkColumn, Dialect, Row, Statement, Values, Writer } from '../driver.ts';

/** Rows of one statement, and characters of their texts. */
const MAX_ROWS = 1000;
const MAX_LENGTH = 1024 * 1024;

export interface Target {
  /** The first columns, by which a row is known. */
  readonly keys: number;
  /** Bound: the columns. A row that breaks a unique constraint is left out. */
  readonly one: Statement;
  /** Bound: rows as JSON, each an array. Answers the keys of those that were taken. */
  readonly many: Statement | undefined;
  /** Why a row was left out. */
  readonly conflict: (values: Values) => Awaitable<Fault>;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Loader {
  add(target: Target, values: Values, line: number): Awaitable<void>;
  /** Resolves when every row has been taken or refused. */
  flush(): Promise<void>;
  /** Lines that are under way. */
  underWay(): Span | undefined;
}

interface Waiting {
  readonly values: Values;
  readonly line: number;
}

export function createTarget(
  dialect: Dialect,
  table: string,
  columns: readonly BulkColumn[],
  keys: number,
  conflict: Target['conflict'],
): Target {
  const names = columns.map(({ name }) => dialect.quote(name)).join(', ');
  const into = `insert into ${dialect.quote(table)} (${names})`;
  const one = `${into} values (${columns.map(() => '?').join(', ')}) on conflict do nothing`;
  const rows = dialect.rowsOfJson?.(columns);
  const taken = columns
    .slice(0, keys)
    .map(({ name }) => dialect.quote(name))
    .join(', ');
  const many = rows === undefined ? undefined : { sql: `${into} ${rows} on conflict do nothing returning ${taken}` };
  return { keys, one: { sql: one }, many, conflict };
}

/** `slow`: lines that are sent one by one, because one of them fails in a way that says nothing of it. */
export function createLoader(
  writer: Writer,
  refuse: (line: number, fault: Fault) => void,
  slow: Span | undefined,
): Loader {
  let batch: Waiting[] = [];
  /** Each stands once in a batch, so that what was taken says which row it was. */
  let keys = new Set<string>();
  let length = 0;
  let current: Target | undefined;
  let sent: { readonly span: Span; readonly done: Promise<void> } | undefined;

  async function refused(to: Target, { values, line }: Waiting): Promise<void> {
    refuse(line, await to.conflict(values));
  }

  async function send(to: Target, many: Statement, rows: readonly Waiting[]): Promise<void> {
    const answered = await writer.all(many, [JSON.stringify(rows.map(({ values }) => objectOf(values)))]);
    if (answered.length === rows.length) return;
    const taken = new Set(answered.map(keyOf));
    for (const row of rows) if (!taken.has(keyOf(row.values.slice(0, to.keys)))) await refused(to, row);
  }

  /** One batch is on its way while the next one is read. */
  async function sendBatch(): Promise<void> {
    const rows = batch;
    [batch, keys, length] = [[], new Set(), 0];
    await sent?.done;
    const [first, last] = [rows[0], rows.at(-1)];
    if (!current?.many || !first || !last) return;
    const done = send(current, current.many, rows);
    done.catch(() => undefined);
    sent = { span: { from: first.line, to: last.line }, done };
  }

  const isSlow = (line: number): boolean => slow !== undefined && line >= slow.from && line <= slow.to;

  /** Most rows only join a batch, and need no promise. */
  function addToBatch(to: Target, row: Waiting): Awaitable<void> {
    const key = keyOf(row.values.slice(0, to.keys));
    if (batch.length > 0 && (to !== current || keys.has(key))) return sendBatch().then(() => addToBatch(to, row));
    current = to;
    batch.push(row);
    keys.add(key);
    length += lengthOf(row.values);
    if (isSlow(row.line)) return flush();
    return batch.length >= MAX_ROWS || length >= MAX_LENGTH ? sendBatch() : undefined;
  }

  async function flush(): Promise<void> {
    await sendBatch();
    await sent?.done;
  }

  return {
    add: (to, values, line) =>
      to.many === undefined
        ? andThen(writer.run(to.one, values), ({ changes }) =>
            changes === 0 ? refused(to, { values, line }) : undefined,
          )
        : addToBatch(to, { values, line }),
    flush,
    underWay: () => sent?.span,
  };
}

const keyOf = (values: Row): string => values.join(' ');

/** As the rows of a JSON array are named. */
const objectOf = (values: Values): Readonly<Record<string, SqlValue>> =>
  Object.fromEntries(values.map((value, index) => [`c${index}`, value]));

function lengthOf(values: Values): number {
  let length = 0;
  for (const value of values) length += typeof value === 'string' ? value.length : 8;
  return length;
}
