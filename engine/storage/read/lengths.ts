/** What an answer takes of the caller's memory: charged as its texts are received, or at once where they cannot be long. */
import type { Caller } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { pageTooLong } from '../../problem.ts';
import { type Field, OPEN_COLUMN } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';

/** A text is held twice: as it was read, and in the answer. */
const COPIES = 2;
/** Characters of a page that is read as a whole and charged afterwards: SQLite reads rows one by one at twice the price. */
const SHORT_PAGE = 16 * 1024 * 1024;
/** Bytes that the values of a record which have no limit may have in such a page, and characters that each becomes in JSON. */
export const MOST_UNLIMITED = 16 * 1024;
const ESCAPED = 6;
/** Characters of a record that is not charged: most are shorter. */
const SHORT_RECORD = 16 * 1024;

/** Quotes, colon and comma. */
const KEY = 4;
/** A key of an identifier and its value, at most, and the braces. */
const IDENTIFIER = 100;

const isUnlimited = (field: Field): boolean => field.type.longest(field) === Infinity;

/** Columns of the view's own table whose values have no limit. */
export const unlimitedColumns = ({ fields, openKeys }: View): readonly string[] => [
  ...fields.filter(isUnlimited).map(({ column }) => column),
  ...(openKeys ? [OPEN_COLUMN] : []),
];

/** Whether so many records are short together, as long as the columns without a limit are. */
export function areShort(view: View, records: number): boolean {
  const own = longestRecord({ ...view, openKeys: false, fields: view.fields.filter((field) => !isUnlimited(field)) });
  return records * (own + ESCAPED * MOST_UNLIMITED) <= SHORT_PAGE;
}

/** Characters of a record's JSON text, at most; Infinity where that cannot be said. */
function longestRecord({ fields, relations, openKeys }: Pick<View, 'fields' | 'relations' | 'openKeys'>): number {
  if (openKeys) return Infinity;
  const own = fields.map((field) => field.name.length + KEY + field.type.longest(field));
  const related = relations.map(({ relation, view }) =>
    relation.toMany ? Infinity : relation.name.length + KEY + longestRecord(view),
  );
  return [...own, ...related].reduce((sum, length) => sum + length, IDENTIFIER);
}

/** The text of a record, once what it takes until it is sent is charged. */
export function chargedRecord(text: string | undefined, caller: Caller): string | undefined {
  if (text !== undefined && text.length > SHORT_RECORD) caller.take(COPIES * text.length);
  return text;
}

/** To be called with each text of a page as it is received. A page that is too long is refused before it is in memory. */
export function charging(caller: Caller): (text: SqlValue) => void {
  const { most } = caller;
  let total = 0;
  let longest = 0;
  return (text) => {
    const { length } = String(text);
    total += length;
    longest = Math.max(longest, length);
    // A single record is always answered, and one beyond the page is read to know whether there is a next page.
    if (total - longest > most) throw pageTooLong(most);
    caller.take(COPIES * length);
  };
}

/** The same for texts that are there. */
export function charge(texts: readonly string[], caller: Caller): void {
  let total = 0;
  let longest = 0;
  for (const { length } of texts) {
    total += length;
    longest = Math.max(longest, length);
  }
  if (total - longest > caller.most) throw pageTooLong(caller.most);
  caller.take(COPIES * total);
}
