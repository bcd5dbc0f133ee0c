/**
 * The one budget of memory: bodies, answers that wait, pages, pieces of lists and pipelined requests all draw from it. When
 * it is used up, the answers that have waited longest for their readers are cut off; if that is not enough, the
 * request is refused with 503. The last eighth is for small requests: those that want much cannot keep the others out.
 */
import { Problem } from './problem.ts';

export interface Budget {
  /** Takes bytes, or throws `overloaded` if there are not enough left. */
  take(bytes: number): Share;
  /**
   * For bytes that are in memory already, and wait for a client. `cutOff` frees them, if others need the room: it is never
   * refused, however much it grows.
   */
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

/** Bytes that a request may have of the last eighth. */
const SMALL = 64 * 1024;

export function createBudget(limit: number): Budget {
  let used = 0;
  /** As much of it as can be cut off. */
  let waiting = 0;
  /** What can be cut off, oldest first. */
  const kept = new Map<Share, () => void>();

  function makeRoom(most: number): void {
    for (const [share, cutOff] of kept) {
      if (used <= most) return;
      share.release();
      cutOff();
    }
  }

  function open(cutOff: (() => void) | undefined): Share {
    let bytes = 0;
    let released = false;
    const count = (more: number): void => {
      bytes += more;
      used += more;
      if (cutOff) waiting += more;
    };
    const share: Share = {
      get bytes() {
        return bytes;
      },
      grow: (more) => {
        if (released) return;
        const most = !cutOff && bytes + more > SMALL ? limit - limit / 8 : limit;
        // What would not fit anyway cuts nobody off.
        if (!cutOff && used - waiting + more > most) throw overloaded();
        count(more);
        if (used > most) makeRoom(most);
      },
      release: () => {
        if (released) return;
        released = true;
        count(-bytes);
        kept.delete(share);
      },
    };
    if (cutOff) kept.set(share, cutOff);
    return share;
  }

  const grown = (share: Share, bytes: number): Share => {
    share.grow(bytes);
    return share;
  };

  return {
    limit,
    get used() {
      return used;
    },
    take: (bytes) => grown(open(undefined), bytes),
    keep: (bytes, cutOff) => grown(open(cutOff), bytes),
  };
}

const overloaded = (): Problem =>
  new Problem('overloaded', 'There is not enough memory for this request right now; try again in a second');
