/** Strong entity tags: a hash of what is answered, and the comparing of tags (RFC 9110, 8.8.3). */
import { hash } from 'node:crypto';

/** The tag of a record, from its JSON text. */
export const entityTag = (text: string): string => `"${hash('sha1', text, 'base64url')}"`;

/** The tag of a page: besides its text, the headers that change with other records. */
export const pageTag = (text: string, total: number | undefined, links: string): string =>
  entityTag(`${text}\n${total ?? ''}\n${links}`);

/** `If-Match` of one tag or a list: only strong tags count (RFC 9110, 13.1.1). */
export function matchesStrongly(header: string, tag: string): boolean {
  return header === tag || tags(header).includes(tag);
}

/** `If-None-Match` of one tag or a list: weak tags count as well (RFC 9110, 13.1.2). */
export function matchesWeakly(header: string, tag: string): boolean {
  return header === tag || tags(header).some((candidate) => candidate === tag || candidate === `W/${tag}`);
}

const tags = (header: string): readonly string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];
