/**
 * Whether this process is the only service on an SQLite file. The lock is one of the operating system, on a file beside
 * the database: it ends with the process, however that ends. Commands do not ask for it.
 */
import { realpathSync } from 'node:fs';
import Database from 'better-sqlite3';
import { makeOwnerOnly } from '../../files.ts';
import type { Log } from '../../log.ts';

/** Milliseconds until it is tried again, so that the next service learns of this one once the first has ended. */
const AGAIN = 1000;

interface Held {
  services: number;
  readonly release: () => void;
}

/** Within a process, services share the lock, as while one replaces another. */
const held = new Map<string, Held>();

/** Says in the log if another service has the file open. Returns a function that gives the lock back. */
export function claimFile(given: string, log: Log): () => void {
  const file = realpathSync(given);
  const known = held.get(file) ?? { services: 0, release: lockFile(file, log) };
  known.services += 1;
  held.set(file, known);
  return () => {
    known.services -= 1;
    if (known.services > 0) return;
    held.delete(file);
    known.release();
  };
}

function lockFile(file: string, log: Log): () => void {
  let lock: Database.Database | undefined;
  let timer: NodeJS.Timeout | undefined;

  function tryNow(): boolean {
    const opened = openLock(`${file}-service`);
    try {
      opened?.exec('begin exclusive');
      lock = opened;
      return true;
    } catch {
      opened?.close();
    }
    timer = setTimeout(tryNow, AGAIN).unref();
    return false;
  }

  if (!tryNow())
    log.warn(
      { database: file },
      'another service has this SQLite file open: writes wait for each other, and limits and metrics count for each process; serve a file with one process, or use PostgreSQL',
    );
  return () => {
    clearTimeout(timer);
    lock?.close();
  };
}

/** undefined where no file can be made beside the database. */
function openLock(name: string): Database.Database | undefined {
  try {
    makeOwnerOnly(name);
    return new Database(name, { timeout: 0 });
  } catch {
    return undefined;
  }
}
