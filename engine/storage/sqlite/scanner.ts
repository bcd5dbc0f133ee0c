/** Reads of many rows, each on a connection with its own snapshot: in a process that can be killed, or in pieces between the requests. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Awaitable } from '../../awaitable.ts';
import { type Caller, CallerGone } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Reader, Row, Snapshot, Statement, Values } from '../driver.ts';
import { connect, type SqliteConnection } from './connection.ts';
import { type RememberedCounts, rememberingCounts } from './counts.ts';
import { createReaderPool, type PoolOptions, type ReaderProcess } from './readers.ts';
import { weighing } from '../lengths.ts';
import { unavailable } from '../unavailable.ts';
import type { Verb } from './reader-protocol.ts';

interface Scanner {
  scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller): Promise<T>;
  /** `heavy` if a step of the list may take long: then it has a process of its own. */
  snapshot(caller: Caller, heavy: boolean): Promise<Snapshot>;
  close(): void;
}

type AskReader = (verb: Verb, statement?: Statement, values?: Values) => Promise<unknown>;

const NOTHING: Statement = { sql: '' };
const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
/** Connections of light lists that are kept for the next one. */
const MAX_IDLE = 2;
/** KiB of the file that each of them keeps. */
const LIGHT_CACHE = 1000;
/** Rows and characters of a light list that are read in one turn: a millisecond. */
const PIECE_ROWS = 100;
const PIECE_LENGTH = 64 * 1024;
/** How often a list holds a record while it waits to be read on: its pages, its columns, and its JSON as it grows. */
const HELD = 5;

/** Processes start when they are first needed: many services never need one. */
export function createScanner(options: PoolOptions): Scanner {
  const pool = createReaderPool(options);
  const light = createLightLists(options.file);

  async function own(caller: Caller, slow: boolean): Promise<Snapshot> {
    const { reader, giveBack } = await pool.take(caller, slow);
    const stop = caller.onGone(() => reader.kill(new CallerGone()));
    const ask = asking(reader);
    return snapshotOf(ask, holding(caller), () => {
      stop();
      // Nobody needs what is still being read.
      if (reader.isBusy) reader.kill(new CallerGone());
      else ask('end').catch(() => undefined);
      giveBack();
    });
  }

  async function scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller): Promise<T> {
    const reader = await own(caller, false);
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  }

  return {
    scan,
    snapshot: async (caller, heavy) => (heavy ? own(caller, true) : light.snapshot(caller)),
    close: () => {
      pool.close();
      light.close();
    },
  };
}

const asking =
  (reader: ReaderProcess): AskReader =>
  (verb, { sql } = NOTHING, values = []) =>
    reader.ask({ verb, sql, values });

function snapshotOf(ask: AskReader, hold: OnPiece, end: () => void): Snapshot {
  let open = true;
  return {
    get: (statement, values) => ask('get', statement, values) as Promise<Row | undefined>,
    all: (statement, values) => ask('all', statement, values) as Promise<readonly Row[]>,
    value: (statement, values) => ask('value', statement, values) as Promise<SqlValue | undefined>,
    column: (statement, values) => ask('column', statement, values) as Promise<readonly SqlValue[]>,
    page: async ({ statement, values, most, isShort }, caller) => {
      if (isShort) return { texts: (await ask('column', statement, values)) as readonly string[] };
      return { texts: await page(ask, statement, values, weighing(caller, most)) };
    },
    count: (statement, values) => ask('count', statement, values) as Promise<number>,
    texts: (statement, values) => texts(ask, statement, values, hold),
    close: () => {
      if (open) end();
      open = false;
    },
  };
}

/** In pieces: one long message would hold up other requests when it arrives. */
async function page(
  ask: AskReader,
  statement: Statement,
  values: Values,
  weigh: (text: string) => void,
): Promise<readonly string[]> {
  const all: string[] = [];
  await ask('open', statement, values);
  for (;;) {
    const some = (await ask('next')) as readonly string[] | undefined;
    if (some === undefined) return all;
    for (const text of some) {
      weigh(text);
      all.push(text);
    }
  }
}

/**
 * One piece is read ahead while the one before is sent, and no more: a slow client slows the scan down. `hold` is
 * called with each piece before the next one is read.
 */
async function* texts(
  ask: AskReader,
  statement: Statement,
  values: Values,
  hold: OnPiece,
): AsyncGenerator<readonly string[]> {
  const read = async (): Promise<readonly string[] | undefined> => {
    const some = (await ask('next')) as readonly string[] | undefined;
    if (some !== undefined) hold(some);
    return some;
  };
  await ask('open', statement, values);
  let some = await read();
  while (some !== undefined) {
    const next = read();
    // It may fail while the piece before is being sent: it is awaited later, or never.
    next.catch(() => undefined);
    yield some;
    some = await next;
  }
}

/** Draws what the process holds of the longest record so far; of one that is longer than a page, enough that few are held. */
function holding(caller: Caller): OnPiece {
  let drawn = 0;
  return (piece) => {
    const longest = piece.reduce((most, { length }) => Math.max(most, length), 0);
    const held = Math.min(HELD * longest, 2 * caller.most);
    if (held > drawn) caller.take(held - drawn);
    drawn = Math.max(drawn, held);
  };
}

type OnPiece = (piece: readonly string[]) => void;

interface LightLists {
  snapshot(caller: Caller): Snapshot;
  close(): void;
}

/** Lists whose rows an index finds one after the other. */
function createLightLists(file: string): LightLists {
  const all = new Set<LightConnection>();
  const idle: LightConnection[] = [];

  function open(): LightConnection {
    const connection = connect(file, true);
    connection.execute(`pragma cache_size = -${LIGHT_CACHE}`);
    const one: LightConnection = { connection, counts: rememberingCounts(connection) };
    all.add(one);
    return one;
  }

  function end(one: LightConnection): void {
    all.delete(one);
    one.rows?.return?.();
    one.connection.close();
  }

  function snapshot(caller: Caller): Snapshot {
    const one = idle.pop() ?? open();
    const { connection, counts } = one;
    counts.expire();
    connection.command(BEGIN);
    const hold = holding(caller);
    let isOpen = true;

    async function* pieces(statement: Statement, values: Values): AsyncGenerator<readonly string[]> {
      const rows = connection.iterate(statement, values);
      one.rows = rows;
      for (let some = nextPiece(rows); some.length > 0; some = nextPiece(rows)) {
        hold(some);
        yield some;
        await nextTurn();
        if (!all.has(one)) throw unavailable('stopping');
      }
    }

    return {
      get: connection.get,
      all: connection.all,
      value: connection.value,
      column: connection.column,
      page: connection.page,
      count: counts.count,
      texts: pieces,
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        if (!all.has(one)) return;
        try {
          one.rows?.return?.();
          one.rows = undefined;
          connection.command(COMMIT);
          if (idle.length < MAX_IDLE) return void idle.push(one);
        } catch {
          // What cannot be ended would show old records to the next list.
        }
        end(one);
      },
    };
  }

  return {
    snapshot,
    close: () => {
      idle.length = 0;
      for (const one of all) end(one);
    },
  };
}

interface LightConnection {
  readonly connection: SqliteConnection;
  readonly counts: RememberedCounts;
  /** Of the list that is being read. */
  rows?: IterableIterator<SqlValue> | undefined;
}

function nextPiece(rows: IterableIterator<SqlValue>): readonly string[] {
  const some: string[] = [];
  for (let length = 0; some.length < PIECE_ROWS && length < PIECE_LENGTH;) {
    const { value, done } = rows.next();
    if (done === true) break;
    const text = String(value);
    some.push(text);
    length += text.length;
  }
  return some;
}
