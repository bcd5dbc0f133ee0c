/** How much a JSON text holds, counted byte by byte while it arrives: cheaper than to parse it. */

export interface Counts {
  readonly keys: number;
  /** Objects and arrays. */
  readonly brackets: number;
}

export interface Tally {
  /** Counts on from where it has come to, up to `end`: `bytes` begin with those that were counted before. */
  count(bytes: Buffer, end: number): Counts;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;

/** Nobody has said yet that the text is JSON: what it counts of another one means nothing. */
export function createTally(): Tally {
  let at = 0;
  let inString = false;
  let keys = 0;
  let brackets = 0;

  /** Goes to `end`, or behind the quote that ends the string. */
  function skipString(bytes: Buffer, end: number): void {
    let place = at;
    // An escape may reach beyond what is there.
    while (place < end && bytes[place] !== QUOTE) place += bytes[place] === BACKSLASH ? 2 : 1;
    inString = place >= end;
    at = inString ? place : place + 1;
  }

  function skipToString(bytes: Buffer, end: number): void {
    let place = at;
    for (; place < end && bytes[place] !== QUOTE; place += 1) {
      const byte = bytes[place];
      if (byte === COLON) keys += 1;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) brackets += 1;
    }
    inString = place < end;
    at = inString ? place + 1 : place;
  }

  return {
    count: (bytes, end) => {
      while (at < end) {
        if (inString) skipString(bytes, end);
        else skipToString(bytes, end);
      }
      return { keys, brackets };
    },
  };
}
