/** GET of `/api/TYPE/$summary`: how many records there are in each group, their sums, least and greatest values. */
import type { SummaryQuery } from '../query/list-query.ts';
import { offsetSearches } from '../query/parameters.ts';
import type { Summary } from '../storage/store.ts';
import type { Answer } from './answer.ts';
import { countPreference } from './preferences.ts';
import { pageEnd } from './preconditions.ts';
import { membersAt, type Table } from './formats.ts';
import { contentHeaders, formatOf, relationInTable, rowsAnswer } from './list.ts';
import type { Service } from './operations.ts';
import type { Exchange, ServeOperation } from './request.ts';

/** The last step of its path, where a record has its identifier. */
export const SUMMARY = '$summary';

export function summary(service: Service): ServeOperation {
  const { type, path, store, queries } = service;
  return async (exchange: Exchange): Promise<Answer> => {
    const { request, caller, target, mediaType } = exchange;
    const format = formatOf(mediaType);
    const query = queries.summary(target.query);
    const related = format.isTable ? query.keys.find(({ shown }) => shown) : undefined;
    if (related) throw relationInTable('by', `"${related.name}" is a record; name one of its fields`);
    const { count, applied } = countPreference(request.headers.prefer, type);
    const found = await store.summary(query, count, caller);
    const { groups: rows, total } = found;
    const links = linksOf(`${target.base}${path}/${SUMMARY}`, target.query, query, found);
    const headers = { ...contentHeaders(format, total), ...links, ...(count === 'estimated' ? {} : applied) };
    const end = pageEnd(total, links.Link ?? '');
    return rowsAnswer(service, exchange, { rows, format, table: () => tableOf(query), headers, end });
  };
}

function tableOf({ keys, measures }: SummaryQuery): Table {
  const namesOf = (columns: SummaryQuery['keys' | 'measures']): readonly string[] => columns.map(({ name }) => name);
  const [keyNames, measureNames] = [namesOf(keys), namesOf(measures)];
  const cellsOf = [membersAt(keyNames), membersAt(measureNames)];
  const parts = membersAt(['by', 'measures']);
  return {
    names: [...keyNames, ...measureNames],
    cells: (row) => parts(row).flatMap((part, index) => cellsOf[index]?.(part) ?? []),
  };
}

/** By offset: the value of a group, which its place depends on, can change with every record. */
function linksOf(
  url: string,
  search: string,
  { limit, offset }: SummaryQuery,
  { hasNext }: Summary,
): { readonly Link?: string } {
  if (limit === undefined) return {};
  const searchOf = offsetSearches(search, limit);
  const link = (relation: string, at: number): string => `<${url}?${searchOf(at)}>; rel="${relation}"`;
  const links = [
    link('first', 0),
    ...(hasNext && limit > 0 ? [link('next', offset + limit)] : []),
    ...(offset > 0 ? [link('prev', Math.max(0, offset - limit))] : []),
  ];
  return { Link: links.join(', ') };
}
