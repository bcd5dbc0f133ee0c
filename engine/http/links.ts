/** The `Link` header of a page (RFC 8288): cursors, which stay right while records come and go. */
import type { JsonValue } from '../json.ts';
import { encodeCursor } from '../query/cursor.ts';
import type { Cursor, ListQuery } from '../query/list-query.ts';
import { pageSearches } from '../query/page-search.ts';
import { perQuery } from '../query/per-query.ts';
import type { Page } from '../storage/store.ts';

const searchesOf = perQuery(({ limit = 0 }: ListQuery, search: string) => pageSearches(search, limit));

/** `url` is the path of the collection, `search` the query string that the client sent. */
export function pageLinks(url: string, search: string, query: ListQuery, page: Page): string {
  const searchOf = searchesOf(query, search);
  const link = (relation: string, text: string): string => `<${url}?${text}>; rel="${relation}"`;
  const neighbour = (relation: string, direction: Cursor['direction'], values: readonly JsonValue[]): string[] => {
    const cursor = encodeCursor(query, values);
    return cursor === undefined ? [] : [link(relation, searchOf(direction, cursor))];
  };
  return [
    link('first', searchOf()),
    ...(page.hasNext && page.last ? neighbour('next', 'after', page.last) : []),
    ...(page.hasPrevious && page.first ? neighbour('prev', 'before', page.first) : []),
  ].join(', ');
}
