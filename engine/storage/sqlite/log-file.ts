/**
 * Keeps the log file (`-wal`) short. SQLite copies the log into the database after a commit and then writes it again from
 * its start, but not beyond what a reader's snapshot needs: while a slow client reads a list, the log grows, and when the
 * list ends, one commit would copy all of it. A log that has grown is copied by a process of its own instead, which then
 * cuts the file, while requests are served as before.
 */
import { statSync } from 'node:fs';
import type { SqliteConnection } from './connection.ts';
import type { LogState } from './reader-protocol.ts';

/** Bytes. SQLite copies the log at 4 MB; a log that is longer is held by a reader, or by a very large write. */
export const LONG_LOG = 8 * 1024 * 1024;
/** Pages after which a commit copies the log itself: a few milliseconds. */
const AT_ONCE = 1000;
/** Milliseconds until the next attempt, as long as a reader needs the log. */
const PAUSE = 1000;

const FAILED: Partial<LogState> = { isCut: false };

export interface Copier {
  /** Copies as much of the log as its readers allow, and cuts the file if that is all of it. */
  copy(): Promise<LogState>;
  /** Ends its process. */
  end(): void;
}

interface LogFile {
  /** To be called after each commit. */
  look(): void;
  close(): void;
}

export function createLogFile(file: string, writer: SqliteConnection, start: () => Copier): LogFile {
  const log = `${file}-wal`;
  let copier: Copier | undefined;
  let timer: NodeJS.Timeout | undefined;

  const isLong = (): boolean => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > LONG_LOG;

  /** It only decides who copies the log: a disk that fails is reported by the next write. */
  function copyAfter(pages: number): void {
    try {
      writer.execute(`pragma wal_autocheckpoint = ${pages}`);
    } catch {
      return;
    }
  }

  function look(): void {
    if (timer !== undefined || copier !== undefined) return;
    try {
      if (isLong()) begin();
    } catch {
      // What was committed is committed; the log can wait.
      finish();
      later();
    }
  }

  function begin(): void {
    copier = start();
    copyAfter(0);
    void copyOn(copier);
  }

  async function copyOn(current: Copier): Promise<void> {
    // A process that failed is replaced after a while; until then, commits copy the log.
    const { behind, isCut } = await current.copy().catch(() => FAILED);
    if (copier !== current) return;
    if (isCut || behind === undefined) finish();
    else copyAfter(behind > AT_ONCE ? 0 : AT_ONCE);
    if (!isCut) later();
  }

  const later = (): void => void (timer = setTimeout(again, PAUSE).unref());

  function again(): void {
    timer = undefined;
    if (copier === undefined) look();
    else void copyOn(copier);
  }

  function finish(): void {
    copier?.end();
    copier = undefined;
    copyAfter(AT_ONCE);
  }

  const close = (): void => {
    clearTimeout(timer);
    copier?.end();
    copier = undefined;
  };

  // A service that was killed may have left a long log.
  look();
  return { look, close };
}
