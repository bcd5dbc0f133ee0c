/**
 * Follows the log of changes: pages of entries after a position, and new ones as they come. All streams of an instance share
 * one poll of the position up to which every entry is there, and those at the same place share their pages.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import type { Log } from '../../log.ts';
import { memoized } from '../../memo.ts';
import { type FaultPlace, faultyRequest, Problem } from '../../problem.ts';
import type { Statement } from '../dialect.ts';
import { COPIES_OF_TEXT, type Driver, type Row } from '../driver.ts';
import { type Entry, ENTRY_COLUMNS, type EntryReader } from './entries.ts';
import { CONTEXT_TABLE, LOG_TABLE } from './recording.ts';

/** A position in a log, which has a number: after another backup is restored, its positions are given again. */
export interface Place {
  readonly log: string;
  readonly position: number;
}

export const cursorOf = (log: string, position: number): string => `${log}-${position}`;

const CURSOR = /^(\d{1,19})-(0|[1-9]\d{0,15})$/;

/** Throws if a text is no cursor, and `cursor-expired` if it is one of another log. */
export function positionIn(cursor: string, log: string, place: FaultPlace = { parameter: 'after' }): number {
  const [, known, position] = CURSOR.exec(cursor) ?? [];
  const message = `${Object.values(place).join()} is not a cursor: send the "next" of an answer, or the "cursor" of an entry`;
  const code = 'header' in place ? 'invalid-header' : 'invalid-query';
  if (known === undefined) throw faultyRequest(code, [{ ...place, code: 'malformed', message }]);
  if (known !== log) throw cursorExpired(REPLACED);
  return Number(position);
}

const cursorExpired = (why: string): Problem =>
  new Problem(
    'cursor-expired',
    `The cursor cannot be followed: ${why}. Take "next" of after=now, read the lists again, and go on from there`,
  );

/** Its place is after the last entry, or the last one that the client does not see. */
export interface ChangePage extends Place {
  readonly entries: readonly Entry[];
  /** Whether no more entries were readable. */
  readonly isLast: boolean;
}

export type Feed = ReturnType<typeof createFeed>;

/** Entries come within half a second, of which reading them takes some. */
const POLL_MS = 400;
/** Between polls when this instance writes much. */
const BURST_MS = 50;
const TOLD_MS = 15_000;
const HELD_MS = 60_000;
const STREAM_LIMIT = 100;
/** Positions that one statement searches for entries of the types that are asked for. */
const MAX_RANGE = 10_000;
const PAGE_CHARS = 1024 ** 2;

interface End {
  readonly log: string;
  /** The entries up to here have been deleted. */
  readonly expired: number;
  /** The last position that was given, perhaps to an entry that is not committed yet. */
  readonly last: number;
  /** Up to here, each entry is there, or will never be. */
  readonly readable: number;
  /** The process that holds up readers, and its program; empty if there is none. */
  readonly holder: string;
}

type FeedDriver = Pick<Driver, 'dialect' | 'all' | 'get' | 'value' | 'write' | 'existing'>;

function createEndReader({ dialect: { log }, get }: FeedDriver) {
  const END: Statement = {
    sql: `select cast(log as text), expired, last, ${log.held} from ${CONTEXT_TABLE}, (select ${log.last} as last limit 1) as given`,
  };
  return async (): Promise<End> => {
    const [number, expired, last, held] = (await get(END, [])) ?? [];
    const [readable = Number(last), ...holder] = JSON.parse(String(held ?? '[]')) as [number?, ...string[]];
    return { log: String(number), expired: Number(expired), last: Number(last), readable, holder: holder.join(' ') };
  };
}

/** Names the process that has held up readers for long. */
function createHeldReport(log: Log | undefined, heldMs: number) {
  let held = { holder: '', since: 0, isTold: true };
  return ({ holder }: End): void => {
    if (holder !== held.holder) held = { holder, since: performance.now(), isTold: holder === '' };
    if (held.isTold || performance.now() - held.since < heldMs) return;
    held.isTold = true;
    log?.warn({ process: holder }, 'a transaction of this process is open, and readers of changes wait for its end');
  };
}

/** The next look at the end of the log, for which all streams wait together. */
function createNews(readEnd: () => Promise<End>, report: (end: End) => void) {
  let heard = new AbortController();
  let coming: Promise<End | undefined> | undefined;
  async function next(): Promise<End | undefined> {
    await delay(BURST_MS);
    await delay(POLL_MS, undefined, { signal: heard.signal }).catch(() => undefined);
    heard = new AbortController();
    const end = await readEnd().catch(() => undefined);
    if (end) report(end);
    coming = undefined;
    return end;
  }
  return {
    /** undefined if the database does not answer. */
    news: (): Promise<End | undefined> => (coming ??= next()),
    /** Ends the pause, or the next one. Most writes end none, and an abort makes an error with its stack. */
    hear: (): void => {
      if (!heard.signal.aborted) heard.abort();
    },
  };
}

const DELETED = 'changes after it have been deleted';
const REPLACED = 'the database was replaced';

/** Ends a statement early. */
const FULL = new Error('The page is full');

function createPages({ dialect: { oneOf }, all }: FeedDriver) {
  const ENTRIES: Statement = {
    sql:
      `select cast(log as text), expired, entry.* from ${CONTEXT_TABLE} left join (select ${ENTRY_COLUMNS} from ${LOG_TABLE} ` +
      `where position > ? and position <= ? and ${oneOf('source', 'text')} order by position limit ?) as entry on 1 = 1 order by entry.position`,
  };
  /** The entries in the range of positions that follows. */
  return async ({ log, position }: Place, end: End, reader: EntryReader, limit: number, caller = NO_CLIENT) => {
    const upTo = Math.max(position, Math.min(end.readable, position + MAX_RANGE));
    const rows: Row[] = [];
    let chars = 0;
    const collect = (row: Row): void => {
      rows.push(row);
      for (const value of row) chars += typeof value === 'string' ? value.length : 0;
      if (chars > PAGE_CHARS) throw FULL;
    };
    try {
      await all(ENTRIES, [position, upTo, JSON.stringify(reader.sources), limit], collect);
    } catch (error) {
      if (error !== FULL) throw error;
    }
    caller.take(COPIES_OF_TEXT * chars);
    const [now, expired] = rows[0] ?? [];
    if (now !== log) throw cursorExpired(REPLACED);
    if (Number(expired) > position) throw cursorExpired(DELETED);
    const found = rows.filter(([, , at]) => at !== null).map(([, , ...row]) => row);
    const isCut = chars > PAGE_CHARS || found.length === limit;
    const next = isCut ? Number(found.at(-1)?.[0]) : upTo;
    const entries = found.flatMap((row) => reader.entryOf(row) ?? []);
    return { log, position: next, entries, isLast: next >= end.readable };
  };
}

function placeIn({ log, last, readable, expired }: End, after: string | undefined, place?: FaultPlace): Place {
  if (after === undefined) return { log, position: expired };
  if (after === 'now') return { log, position: readable };
  const position = positionIn(after, log, place);
  if (position > last) throw cursorExpired('it is beyond the end of the log');
  if (position < expired) throw cursorExpired(DELETED);
  return { log, position };
}

export function createFeed(driver: FeedDriver, log?: Log, heldMs = HELD_MS) {
  const readEnd = createEndReader(driver);
  const { news, hear } = createNews(readEnd, createHeldReport(log, heldMs));
  const read = createPages(driver);
  const closing = new AbortController();

  // Streams that were woken together read the same.
  const reading = memoized<EntryReader, [], Map<number, Promise<ChangePage>>>(() => new Map());
  function readTogether(place: Place, end: End, reader: EntryReader): Promise<ChangePage> {
    const pages = reading(reader);
    const known = pages.get(place.position);
    if (known) return known;
    const page = read(place, end, reader, STREAM_LIMIT).finally(() => pages.delete(place.position));
    pages.set(place.position, page);
    return page;
  }

  /**
   * Pages as entries come, and empty ones at the beginning and to tell that it goes on. Asks for the reader before each page,
   * since types may be renamed, and several times a second whether it is over.
   */
  async function* follow(from: Place, reader: () => EntryReader, isOver: () => boolean | Promise<boolean>) {
    let place = from;
    let end = await readEnd();
    let toldAt = -Infinity;
    while (!closing.signal.aborted && !(await isOver())) {
      const page = await readTogether(place, end, reader()).catch(laterIfBusy);
      place = page ?? place;
      if (page && (page.entries.length > 0 || performance.now() - toldAt > TOLD_MS)) {
        toldAt = performance.now();
        yield page;
      }
      if (page === undefined || page.isLast) end = (await news()) ?? end;
      else if (page.entries.length === 0) await nextTurn();
    }
  }

  return {
    /** The place of a cursor; undefined: before the oldest entry that is kept, `now`: behind the last one. */
    placeOf: async (after: string | undefined, place?: FaultPlace): Promise<Place> =>
      placeIn(await readEnd(), after, place),
    /** The next entries after a cursor, at most `limit`; none only at the end. */
    page: async (after: string | undefined, reader: EntryReader, limit: number, caller: Caller) => {
      const end = await readEnd();
      let page = await read(placeIn(end, after), end, reader, limit, caller);
      while (page.entries.length === 0 && !page.isLast && !caller.signal.aborted) {
        await nextTurn();
        page = await read(page, end, reader, limit, caller);
      }
      return page;
    },
    follow,
    /** Looks for news at once, and whether streams are over. */
    hear,
    forget: createForgetting(driver, readEnd),
    close: (): void => {
      closing.abort();
      hear();
    },
  };
}

/** The database may work again soon: the stream goes on. */
function laterIfBusy(error: unknown): undefined {
  if (!(error instanceof Problem) || error.status !== 503) throw error;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const DELETED_TOGETHER = 1000;
/** Milliseconds between deletions, at least: SQLite's write lock is not fair. */
const PAUSE_MS = 5;

/** Deletes entries that are older than some days, oldest first, once at a time. Returns their number, undefined without a log. */
function createForgetting(driver: FeedDriver, readEnd: () => Promise<End>) {
  const oldest: Statement = {
    sql: `select max(position) from (select position, at from ${LOG_TABLE} where position > ? and position <= ? order by position limit ${DELETED_TOGETHER}) as oldest where at <= ?`,
  };
  const expire: Statement = { sql: `update ${CONTEXT_TABLE} set expired = ? where expired < ?` };
  const remove: Statement = { sql: `delete from ${LOG_TABLE} where position > ? and position <= ?` };
  async function forget(days: number): Promise<number | undefined> {
    if (!(await driver.existing()).includes(LOG_TABLE)) return undefined;
    const before = Date.now() - days * DAY_MS;
    for (let deleted = 0; ;) {
      const began = performance.now();
      const { expired, readable } = await readEnd();
      const upTo = (await driver.value(oldest, [expired, readable, before])) ?? null;
      if (upTo === null) return deleted;
      const { changes } = await driver.write(async (writer) => {
        await writer.run(expire, [upTo, upTo]);
        return writer.run(remove, [expired, upTo]);
      });
      deleted += changes;
      await delay(Math.max(PAUSE_MS, performance.now() - began));
    }
  }
  let running: ReturnType<typeof forget> | undefined;
  return (days: number) => (running ??= forget(days).finally(() => (running = undefined)));
}
