/** Strong entity tags: a hash of what is answered, and the comparing of tags (RFC 9110, 8.8.3). */
import { createHash, hash } from 'node:crypto';
import { CODING_NAMES } from './coding.ts';

/** The tag of a record, from its JSON text. */
export const entityTag = (text: string): string => `"${hash('sha1', text, 'base64url')}"`;

/** The tag of a page: besides its text, the headers that change with other records. */
export const pageTag = (text: string, total: number | undefined, links: string): string =>
  entityTag(`${text}${pageEnd(total, links)}`);

const pageEnd = (total: number | undefined, links: string): string => `\n${total ?? ''}\n${links}`;

/** The same for a page in pieces. */
export function pageHash(): { add(piece: string): void; tag(total: number | undefined, links: string): string } {
  const sha1 = createHash('sha1');
  return {
    add: (piece) => void sha1.update(piece),
    tag: (total, links) => `"${sha1.update(pageEnd(total, links)).digest('base64url')}"`,
  };
}

/** The tag of what a coding has made of the bytes: other bytes, other tag. */
export const codedTag = (tag: string, coding: string): string => tag.replace(/"$/, `-${coding}"`);

/** `If-Match` of one tag or a list: only strong tags count (RFC 9110, 13.1.1). */
export function matchesStrongly(header: string, tag: string): boolean {
  return header === tag || tags(header).includes(tag);
}

/** `If-None-Match` of one tag or a list: weak tags count as well (RFC 9110, 13.1.2). */
export function matchesWeakly(header: string, tag: string): boolean {
  return header === tag || tags(header).some((candidate) => candidate === tag || candidate === `W/${tag}`);
}

/** The one of the client's tags that means this one, with the coding that it was sent with. */
export function asNamed(header: string, tag: string): string {
  const named = header.match(TAG)?.find((candidate) => candidate.replace(CODING, '"') === tag);
  return named ?? tag;
}

const TAG = /"[^"]*"/g;
const CODING = new RegExp(`-(?:${CODING_NAMES.join('|')})"$`);

/** What a tag says of the coding does not matter: the record is the same. */
const tags = (header: string): readonly string[] =>
  (header.match(/(?:W\/)?"[^"]*"/g) ?? []).flatMap((tag) => [tag, tag.replace(CODING, '"')]);
