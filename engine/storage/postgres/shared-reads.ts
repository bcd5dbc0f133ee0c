/**
 * Reads of one statement. Those that arrive while others like them are being read are read together next, on one
 * connection: its socket is written and read once for all of them, which is most of what such a read costs.
 *
 * Only the same statement is shared, so that a table that is locked holds up only those who read it; and only one that is
 * known to be fast, since nothing that is shared is cancelled when its caller leaves.
 */
import { PATIENT } from '../../caller.ts';
import type { Statement, Values } from '../driver.ts';
import type { Connections } from './pool.ts';
import type { Answered } from './prepared.ts';
import { readTogether, type SharedRead } from './read-together.ts';
import { taken } from './transaction.ts';

/** Reads that one connection gets at once: the server runs them one after the other. */
const MOST = 32;
/** Milliseconds that they should take together. Slower ones are better run side by side. */
const TOGETHER = 4;
/** Connections that run the same statement before further reads wait to be read together. */
const SIDE_BY_SIDE = 2;

/** All reads of one statement. */
interface SharedStatement {
  readonly statement: Statement;
  waiting: SharedRead[];
  /** Connections that run it now, and how many reads that is. */
  running: number;
  reading: number;
  /** About how many milliseconds it takes; undefined before the first time. */
  pace: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** `alone` asks on a connection of its own: what is not known to be fast, and again what a shared connection lost. */
export type ShareRead = (statement: Statement, values: Values, alone: () => Promise<Answered>) => Promise<Answered>;

/** `now` tells the time, and `patience` says how long reads wait to be read together, in milliseconds. */
export function shareReads(
  connections: Connections,
  now = (): number => performance.now(),
  patience = 2 * TOGETHER,
): ShareRead {
  const known = new WeakMap<Statement, SharedStatement>();
  let gathered = new Set<SharedStatement>();
  /** Of all statements. */
  let running = 0;

  function sharedOf(statement: Statement): SharedStatement {
    const found = known.get(statement);
    if (found) return found;
    const fresh: SharedStatement = {
      statement,
      waiting: [],
      running: 0,
      reading: 0,
      pace: undefined,
      timer: undefined,
    };
    known.set(statement, fresh);
    return fresh;
  }

  const sizeOf = ({ pace = Infinity }: SharedStatement): number =>
    Math.max(1, Math.min(MOST, Math.floor(TOGETHER / pace)));

  /** What runs beside others takes between its share of the time and all of it. */
  async function measured<T>(shared: SharedStatement, count: number, work: () => Promise<T>): Promise<T> {
    const began = now();
    running += 1;
    shared.running += 1;
    shared.reading += count;
    const beside = running;
    try {
      return await work();
    } finally {
      shared.pace = paceAfter(shared.pace, now() - began, count, Math.max(beside, running));
      running -= 1;
      shared.running -= 1;
      shared.reading -= count;
      if (shared.waiting.length > 0) send(shared);
    }
  }

  function sendAll(): void {
    const all = gathered;
    gathered = new Set();
    for (const shared of all) send(shared);
  }

  /** The second connection is for as many as the first one reads: else one read would go alone again and again. */
  const mayGo = ({ waiting, running: busy, reading }: SharedStatement): boolean =>
    waiting.length > 0 && busy < SIDE_BY_SIDE && waiting.length >= reading;

  /** `enough`: so many do not wait for more. */
  function send(shared: SharedStatement, enough = sizeOf(shared)): void {
    const { waiting } = shared;
    while (waiting.length >= enough || mayGo(shared)) {
      const asked = waiting.splice(0, sizeOf(shared));
      void measured(shared, asked.length, () => read(shared.statement, asked));
    }
    if (waiting.length > 0) shared.timer ??= setTimeout(sendLate, patience, shared);
    else stop(shared);
  }

  function sendLate(shared: SharedStatement): void {
    stop(shared);
    send(shared, 1);
  }

  /** Never rejects. */
  async function read(statement: Statement, asked: readonly SharedRead[]): Promise<void> {
    try {
      const connection = await taken(connections, PATIENT);
      try {
        await readTogether(connection, statement, asked);
      } finally {
        connection.release();
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  return (statement, values, alone) => {
    const shared = sharedOf(statement);
    if (sizeOf(shared) === 1) return measured(shared, 1, alone);
    return new Promise((resolve, reject) => {
      if (gathered.size === 0) queueMicrotask(sendAll);
      gathered.add(shared);
      shared.waiting.push({ values, alone, resolve, reject });
    });
  };
}

function stop(shared: SharedStatement): void {
  clearTimeout(shared.timer);
  shared.timer = undefined;
}

// Other work on both machines makes a statement seem slow for a moment. Then sharing is what brings relief.

/** What runs beside others is taken to have had this many processors at most. */
const PROCESSORS = 4;
/** Milliseconds after which a statement counts as slow at once; otherwise it takes several times. */
const SLOW = 15 * TOGETHER;
/** How much slower a statement is taken to be, at most, after each time, and how much faster. */
const SLOWER = 1.1;
const FASTER = 0.9;

/** `beside`: how many ran at the same time. Each took between its share of the time and all of it. */
function paceAfter(pace: number | undefined, elapsed: number, count: number, beside: number): number {
  const most = elapsed / count;
  const least = most / Math.min(beside, PROCESSORS);
  const likely = Math.min(most, Math.max(least, (pace ?? 0) * FASTER));
  return pace === undefined || elapsed > SLOW ? likely : Math.min(likely, pace * SLOWER);
}
