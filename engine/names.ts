/** Default names of paths and tables, titles from names, and suggestions for misspelled names. */
import { createHash } from 'node:crypto';
import { distance } from 'fastest-levenshtein';
import { pluralize, singularize } from 'inflection';

/** PostgreSQL truncates identifiers to 63 bytes; generated names leave some room. */
const MAX_BYTES = 60;
const HASH_LENGTH = 8;

function wordsAsWritten(name: string): string[] {
  return name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .split('_')
    .filter((word) => word !== '');
}

const words = (name: string): string[] => wordsAsWritten(name).map((word) => word.toLowerCase());

function plural(name: string, separator: string): string {
  const all = words(name);
  return [...all.slice(0, -1), pluralize(all.at(-1) ?? name)].join(separator);
}

export const defaultPath = (type: string): string => plural(type, '-');

export const defaultTable = (type: string): string => plural(type, '_');

export const snakeCase = (name: string): string => words(name).join('_');

/** Longer strings are enum values, not names. */
const LATIN_NAME = /^[\p{Script=Latin}\p{N}_]{1,60}$/u;
/** Other scripts have no English plural. */
const LATIN_END = /\p{Script=Latin}$/u;
const ACRONYM = /^\p{Lu}[\p{Lu}\p{N}]*$/u;
const INITIALS: ReadonlySet<string> = new Set(['api', 'html', 'id', 'ip', 'json', 'uri', 'url', 'uuid']);

/** `defaultVATRate` -> `Default VAT rate`. */
export function titleFrom(name: string): string {
  if (!LATIN_NAME.test(name)) return name;
  const title = wordsAsWritten(name).map((word) => {
    const lower = word.toLowerCase();
    return INITIALS.has(lower) ? word.toUpperCase() : ACRONYM.test(word) ? word : lower;
  });
  return capitalized(title.join(' ')) || name;
}

/** `Tax class` -> `Tax classes`. */
export const pluralOf = (title: string): string => (LATIN_END.test(title) ? pluralize(title) : title);

/** Joins the parts by `_`; a name that is too long ends in its hash. */
export function generatedName(...parts: readonly string[]): string {
  const name = parts.join('_');
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  let head = name;
  while (Buffer.byteLength(head) > MAX_BYTES - HASH_LENGTH - 1) head = head.slice(0, -1);
  return `${head.toWellFormed()}_${hash}`;
}

/** Maximum characters of a client's text in a message. */
export const MAX_ECHO = 100;

export const shortened = (text: string, most = MAX_ECHO): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;

/** Comparing or normalizing longer names would take too long. */
const LONGEST_MEANT = 200;

/** Singular and plural of a name, without and with `id`, in lower case. */
function formsOf(name: string): readonly string[] {
  const bare = name.replace(/[-_.]ids?$|(?<=\p{Ll}|\p{N})I[Dd]s?$/u, '').toLowerCase();
  const one = singularize(bare);
  return [bare, one, pluralize(bare), `${bare}_id`, `${bare}id`, `${one}_id`, `${one}id`];
}

export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST_MEANT) return undefined;
  const forms = formsOf(name);
  let best: string | undefined;
  let bestDistance = name.length > 3 ? Math.max(2, Math.floor(name.length / 3)) + 1 : name.length > 2 ? 2.5 : 2;
  const lower = name.toLowerCase();
  for (const candidate of known) {
    const other = candidate.toLowerCase();
    const form = forms.indexOf(other);
    if (form < 0 && Math.abs(candidate.length - name.length) >= bestDistance) continue;
    // An equal first letter decides between equal distances: "dsc" suggests "desc", not "asc".
    const candidateDistance = form < 0 ? distance(lower, other) + (lower[0] === other[0] ? 0 : 0.5) : form / 10;
    if (candidateDistance < Math.min(bestDistance, name.length, candidate.length))
      [best, bestDistance] = [candidate, candidateDistance];
  }
  return best;
}

/** `; did you mean "x"?` or the empty string. Names in other Unicode forms look the same. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const composed = name.length > LONGEST_MEANT ? name : name.normalize();
  const candidate = nearest(composed, known);
  if (candidate === composed && name !== composed) return `; "${candidate}" must be written in Unicode form NFC`;
  return candidate === undefined ? '' : `; did you mean "${candidate}"?`;
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Whether one letter is missing, added, replaced or swapped; ignores case. */
export function isOneEditAway(given: string, name: string): boolean {
  const [one, other] = [given.toUpperCase(), name.toUpperCase()];
  const isSwap = [...one].toSorted().join('') === [...other].toSorted().join('');
  return distance(one, other) <= (isSwap ? 2 : 1);
}

/** `a, b and 3 more`: the first of so many, of which `names` may lack the last. */
export const firstOf = (names: readonly unknown[], most: number, count = names.length): string =>
  names.slice(0, most).join(', ') + (count > most ? ` and ${count - most} more` : '');
