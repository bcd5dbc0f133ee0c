/** Reads in reader processes, beside the requests: each in a session with its own snapshot. */
import type { Awaitable } from '../../awaitable.ts';
import { type Caller, CallerGone } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Reader, Row, Snapshot, Statement, Values } from '../driver.ts';
import { createReaderPool, type PoolOptions, type ReaderProcess, startReader } from './readers.ts';
import { weighing } from '../lengths.ts';
import type { Verb } from './reader-protocol.ts';

interface Scanner {
  scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller): Promise<T>;
  /** `heavy` if a step of the list may take long: then it has a process of its own. */
  snapshot(caller: Caller, heavy: boolean): Promise<Snapshot>;
  close(): void;
}

type AskReader = (verb: Verb, statement?: Statement, values?: Values) => Promise<unknown>;

const NOTHING: Statement = { sql: '' };
/** Sessions of light lists that are kept for the next one. */
const MAX_IDLE = 2;
/** KiB of cache for each connection: heavy lists sort with it, light lists are many. */
const OWN_CACHE = 16_000;
const SHARED_CACHE = 1000;
/** How often a process holds a record while its list waits to be read on: its pages, its columns, and its JSON as it grows. */
const HELD = 5;

/** The process of the light lists, and its sessions that are free; they end together. */
interface Shared {
  readonly process: ReaderProcess;
  readonly idle: number[];
  /** A list begins once the ones before have drawn what they hold: many that begin together may be too many. */
  readonly begin: InTurn;
}

/** Processes start when they are first needed: many services never need one. */
export function createScanner(options: Omit<PoolOptions, 'cache'>): Scanner {
  const pool = createReaderPool({ ...options, cache: OWN_CACHE });
  let shared: Shared | undefined;
  let sessions = 0;

  const share = (): Shared => ({
    process: startReader({ ...options, cache: SHARED_CACHE }, options.patience, () => (shared = undefined)),
    idle: [],
    begin: createTurns(),
  });

  async function own(caller: Caller, slow: boolean): Promise<Snapshot> {
    const { reader, giveBack } = await pool.take(caller, slow);
    const stop = caller.onGone(() => reader.kill(new CallerGone()));
    const ask = asking(reader, 0);
    return snapshotOf(ask, holding(caller), atOnce, () => {
      stop();
      // Nobody needs what is still being read.
      if (reader.isBusy) reader.kill(new CallerGone());
      else ask('end').catch(() => undefined);
      giveBack();
    });
  }

  function among(caller: Caller): Snapshot {
    const { process, idle, begin } = (shared ??= share());
    const session = idle.pop() ?? (sessions += 1);
    const ask = asking(process, session);
    return snapshotOf(ask, holding(caller), begin, () => {
      const isKept = idle.length < MAX_IDLE;
      if (isKept) idle.push(session);
      ask(isKept ? 'end' : 'close').catch(() => undefined);
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
    snapshot: async (caller, heavy) => (heavy ? own(caller, true) : among(caller)),
    close: () => {
      pool.close();
      shared?.process.kill(new CallerGone());
    },
  };
}

const asking =
  (reader: ReaderProcess, session: number): AskReader =>
  (verb, { sql } = NOTHING, values = []) =>
    reader.ask({ session, verb, sql, values });

function snapshotOf(ask: AskReader, hold: OnPiece, begin: InTurn, end: () => void): Snapshot {
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
    texts: (statement, values) => texts(ask, statement, values, hold, begin),
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
  begin: InTurn,
): AsyncGenerator<readonly string[]> {
  const read = async (): Promise<readonly string[] | undefined> => {
    const some = (await ask('next')) as readonly string[] | undefined;
    if (some !== undefined) hold(some);
    return some;
  };
  let some = await begin(async () => {
    await ask('open', statement, values);
    return read();
  });
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
type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

const atOnce: InTurn = (work) => work();

/** One after the other, whether they fail or not. */
function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
