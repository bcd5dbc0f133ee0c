/** Texts that are read one by one: what would be too much is not in memory before it is refused. */
import type { Caller } from '../caller.ts';
import { pageTooLong } from '../problem.ts';

/** A text is held twice: as it was read, and in the answer. */
const COPIES = 2;

export function weighed(texts: Iterable<string>, caller: Caller, most = caller.most): readonly string[] {
  const all: string[] = [];
  const weigh = weighing(caller, most);
  for (const text of texts) {
    weigh(text);
    all.push(text);
  }
  return all;
}

/** To be called with each text, as it comes. */
export function weighing(caller: Caller, most = caller.most): (text: string) => void {
  let total = 0;
  let longest = 0;
  return (text) => {
    total += text.length;
    longest = Math.max(longest, text.length);
    // A single record is always answered, and one beyond the page is read to know whether there is a next page.
    if (total - longest > most) throw pageTooLong(most);
    caller.take(COPIES * text.length);
  };
}
