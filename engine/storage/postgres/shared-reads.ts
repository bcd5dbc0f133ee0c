/**
 * Reads of one statement. Those that arrive while others like them are being read are read together next, on one
 * connection: its socket is written and read once for all of them, which is most of what such a read costs.
 *
 * Only the same statement is shared, so that a table that is locked holds up only those who read it; and only one that is
 * known to be fast, since nothing that is shared is cancelled when its caller leaves.
 */
import { append } from '../../append.ts';
import { PATIENT } from '../../caller.ts';
import type { BoundStatement, Statement, Values } from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { isConnectionLost, isRepeatable, translate } from './errors.ts';
import type { Connections } from './pool.ts';
import type { Answered, Ran } from './prepared.ts';
import { type PageParts, pageParts } from './reader.ts';
import { READ_ONLY, taken } from './transaction.ts';

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

// Several reads by one statement on one connection: what they have in common is read once, and counted once.

interface SharedRead {
  readonly values: Values;
  /** Asks on a connection of its own. */
  readonly alone: () => Promise<Answered>;
  readonly resolve: (answered: Answered | Promise<Answered>) => void;
  readonly reject: (error: unknown) => void;
}

/** Those that get the same answer. */
interface SameRead {
  readonly call: BoundStatement;
  /** Of their total, if it is counted apart. */
  readonly count: BoundStatement | undefined;
  readonly asked: readonly SharedRead[];
}

/** An error is told to those who asked for what failed; the others are asked again. */
async function readTogether(
  connection: PostgresConnection,
  statement: Statement,
  asked: readonly SharedRead[],
): Promise<void> {
  const groups = grouped(statement, asked);
  const counts = [...new Set(groups.flatMap(({ count }) => count ?? []))];
  const calls = [...counts, ...groups.map(({ call }) => call)];
  const { answers, error } = await (counts.length > 0 ? inSnapshot : inTurn)(connection, calls);
  const answerTo = new Map(calls.map((call, place) => [call, answers[place]]));
  const unanswered = groups.filter((group) => {
    const answered = withTotal(answerTo.get(group.call), group.count && answerTo.get(group.count));
    if (answered) for (const { resolve } of group.asked) resolve(answered);
    return answered === undefined;
  });
  if (unanswered.length === 0) return undefined;
  if (isAgain(error)) {
    connection.spoil();
    for (const { alone, resolve } of unanswered.flatMap((group) => group.asked)) resolve(alone());
    return undefined;
  }
  const failed = calls[answers.length];
  const behind: SharedRead[] = [];
  for (const { call, count, asked: same } of unanswered)
    if (call !== failed && count !== failed) append(behind, same);
    else for (const { reject } of same) reject(translate(error));
  return behind.length === 0 ? undefined : readTogether(connection, statement, behind);
}

/** What was only asked in the wrong place, or at the wrong time. */
const isAgain = (error: unknown): boolean => isConnectionLost(error) || isRepeatable(error);

function grouped(statement: Statement, asked: readonly SharedRead[]): readonly SameRead[] {
  const pages = byValues(asked, ({ values }) => values);
  const parts = pageParts(statement);
  const apart = parts ? byValues(pages, ([{ values }]) => values.slice(parts.values)) : pages.map((page) => [page]);
  return apart.flatMap((alike) => withSameTotal(statement, parts, alike));
}

/** Totals that several pages ask for are counted apart. */
function withSameTotal(
  statement: Statement,
  parts: PageParts | undefined,
  pages: readonly Some<SharedRead>[],
): readonly SameRead[] {
  const [first] = pages;
  if (!parts || !first || pages.length === 1)
    return pages.map((asked) => ({ call: { statement, values: asked[0].values }, count: undefined, asked }));
  const count = { statement: parts.count, values: first[0].values.slice(parts.values) };
  return pages.map((asked) => {
    const values = asked[0].values.slice(0, parts.values);
    return { call: { statement: parts.page, values }, count, asked };
  });
}

type Some<T> = readonly [T, ...T[]];

/** Those with equal values, in the order of the first of each. */
function byValues<T>(all: readonly T[], valuesOf: (one: T) => Values): readonly Some<T>[] {
  const found = new Map<string, [T, ...T[]]>();
  for (const one of all) {
    const key = JSON.stringify(valuesOf(one));
    const alike = found.get(key);
    if (alike) alike.push(one);
    else found.set(key, [one]);
  }
  return [...found.values()];
}

function withTotal(page: Answered | undefined, counted: Answered | undefined): Answered | undefined {
  const [total] = counted?.rows[0] ?? [];
  if (page === undefined || total === undefined) return page;
  return { ...page, rows: page.rows.map((row) => [...row.slice(0, -1), total]) };
}

/** In one transaction, unless the connection does not know all of them: then it gets to know them. */
async function inTurn(connection: PostgresConnection, calls: readonly BoundStatement[]): Promise<Ran> {
  const known = connection.queryAll(calls);
  if (known) return known;
  const asked = connection.atOnce(() => calls.map(({ statement, values }) => connection.query(statement, values)));
  const settled = await Promise.allSettled(asked);
  const answers: Answered[] = [];
  for (const outcome of settled) {
    if (outcome.status === 'rejected') return { answers, error: outcome.reason };
    answers.push(outcome.value);
  }
  return { answers };
}

async function inSnapshot(connection: PostgresConnection, calls: readonly BoundStatement[]): Promise<Ran> {
  const [ran, ...around] = connection.atOnce(() => {
    const begun = connection.execute(READ_ONLY);
    return [inTurn(connection, calls), begun, connection.execute('commit')] as const;
  });
  // What ails the connection is told by the statements.
  await Promise.allSettled(around);
  return ran;
}
