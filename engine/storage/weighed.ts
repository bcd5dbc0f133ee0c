/** Texts that are read one by one: what would be too much is not in memory before it is refused. */
import type { Caller } from '../caller.ts';
import { pageTooLong } from '../problem.ts';

/** A text is held twice: as it was read, and in the answer. */
const COPIES = 2;

export function weighed(texts: Iterable<string>, caller: Caller, most = caller.most): readonly string[] {
  const all: string[] = [];
  let total = 0;
  let longest = 0;
  for (const text of texts) {
    total += text.length;
    longest = Math.max(longest, text.length);
    // A single record is always answered, and one beyond the page is read to know whether there is a next page.
    if (total - longest > most) throw pageTooLong(most);
    caller.take(COPIES * text.length);
    all.push(text);
  }
  return all;
}
