/**
 * The one budget of memory: bodies, answers that wait, pages, pieces of lists and pipelined requests all draw from it. When
 * it is used up, the answers that have waited longest for their readers are cut off; if that is not enough, the
 * request is refused with 503.
 */
import { Problem } from './problem.ts';

export interface Budget {
  /** Takes bytes, or throws `overloaded` if there are not enough left. */
  take(bytes: number): Share;
  /** For bytes that are in memory already, and wait for a client. `cutOff` frees them, if others need the room. */
  keep(bytes: number, cutOff: () => void): Share;
  readonly limit: number;
  readonly used: number;
}

export interface Share {
  /** Takes more, as `take` does. */
  grow(bytes: number): void;
  /** Gives everything back; a second call does nothing. */
  release(): void;
  readonly bytes: number;
}

export function createBudget(limit: number): Budget {
  let used = 0;
  /** What can be cut off, oldest first. */
  const kept = new Map<Share, () => void>();

  function makeRoom(): void {
    for (const [share, cutOff] of kept) {
      if (used <= limit) return;
      share.release();
      cutOff();
    }
  }

  function share(): Share & { add(bytes: number): void } {
    let bytes = 0;
    let released = false;
    const add = (more: number): void => {
      if (released) return;
      bytes += more;
      used += more;
    };
    const own = {
      add,
      grow: (more: number): void => {
        add(more);
        if (used > limit) makeRoom();
        if (used <= limit || released) return;
        bytes -= more;
        used -= more;
        throw overloaded();
      },
      release: (): void => {
        if (released) return;
        released = true;
        used -= bytes;
        bytes = 0;
        kept.delete(own);
      },
      get bytes() {
        return bytes;
      },
    };
    return own;
  }

  return {
    limit,
    get used() {
      return used;
    },
    take: (bytes) => {
      const own = share();
      own.grow(bytes);
      return own;
    },
    keep: (bytes, cutOff) => {
      const own = share();
      kept.set(own, cutOff);
      own.add(bytes);
      makeRoom();
      return own;
    },
  };
}

const overloaded = (): Problem =>
  new Problem('overloaded', 'The service has no memory left for this request at the moment; try again in a second');
