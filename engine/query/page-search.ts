/** The query strings of neighbouring pages, for the links of a list. */
import type { Cursor } from './list-query.ts';
import { type Parameter, parseParameters } from './parameters.ts';

/** The query string of the page at a cursor, or of the first page. */
export type PageSearch = (direction?: Cursor['direction'], cursor?: string) => string;

/** Keeps the client's own parameters. All are encoded anew: what a client may send raw could end a header's value. */
export function pageSearches(search: string, limit: number): PageSearch {
  const own = parseParameters(search).all.filter((parameter) => !isPlace(parameter));
  const kept = own.map(({ key, value }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}&`).join('');
  const first = `${kept}_cnd%5Blimit%5D=0&_cnd%5Blimit%5D=${limit}`;
  return (direction, cursor) => (direction && cursor !== undefined ? `${first}&${direction}=${cursor}` : first);
}

/** What says where in the list a page lies. */
const isPlace = ({ key, steps }: Parameter): boolean => steps?.[0] === 'limit' || key === 'after' || key === 'before';
