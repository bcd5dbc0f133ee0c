/** How long an answer may be: told by its descriptor before it is read, or counted while it is read. */
import type { Caller } from '../caller.ts';
import { pageTooLong } from '../problem.ts';
import type { ListQuery, Path, SummaryQuery, View } from '../query/list-query.ts';

/** A text is held twice: as it was read, and in the answer. */
const COPIES = 2;
/** Characters of a page that is read at once, without a look at its length. */
export const SHORT_PAGE = 256 * 1024;
/** Characters of a record that draws nothing from the budget: most are shorter. */
const SHORT_RECORD = 16 * 1024;

/** Whether a page is short whatever the records hold. */
export const isShortPage = ({ view, limit }: ListQuery): boolean =>
  limit !== undefined && (limit + 1) * longestRecord(view) <= SHORT_PAGE;

/** Quotes, colon and comma. */
const KEY = 4;
/** A key of an identifier and its value, at most, and the braces. */
const IDENTIFIER = 100;

/** Characters of a record's JSON text, at most; Infinity where that cannot be said. */
export function longestRecord({ fields, relations, openKeys }: View): number {
  if (openKeys) return Infinity;
  const own = fields.map((field) => field.name.length + KEY + field.type.longest(field));
  const related = relations.map(({ relation, view }) =>
    relation.toMany ? Infinity : relation.name.length + KEY + longestRecord(view),
  );
  return [...own, ...related].reduce((sum, length) => sum + length, IDENTIFIER);
}

/** `{"by":…,"measures":…}` around the columns of a group. */
const GROUP = 24;

/** Whether all groups of a summary are short together, whatever the records hold. */
export function isShortSummary({ keys, measures, limit = Infinity }: SummaryQuery): boolean {
  const columns = [
    ...keys.map(({ name, path, shown }) => name.length + (shown ? longestRecord(shown) : longestValue(path))),
    // A sum has more digits than a value, but no more than a record has characters.
    ...measures.map(({ name, path }) => name.length + IDENTIFIER + (path ? longestValue(path) : 0)),
  ];
  const longest = columns.reduce((sum, length) => sum + KEY + length, GROUP);
  // Each key may also be null.
  const groups = keys.reduce((all, { path: { field } }) => all * ((field?.type.fewValues?.length ?? Infinity) + 1), 1);
  return Math.min(groups, limit + 1) * longest <= SHORT_PAGE;
}

const longestValue = ({ field }: Path): number => field?.type.longest(field) ?? IDENTIFIER;

/** The text of a record, once what it takes until it is sent is drawn. */
export function drawn(text: string | undefined, caller: Caller): string | undefined {
  if (text !== undefined && text.length > SHORT_RECORD) caller.take(COPIES * text.length);
  return text;
}

/** The texts of a page. One that is too long is refused before all of it is in memory. */
export function weighed(texts: Iterable<string>, caller: Caller, most = caller.most): readonly string[] {
  const all: string[] = [];
  const weigh = weighing(caller, most);
  for (const text of texts) {
    weigh(text);
    all.push(text);
  }
  return all;
}

/** To be called with each text of a page, as it comes. */
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
