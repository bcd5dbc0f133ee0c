/** The query for the list that is shown. */
import type { TypeInfo } from './model.ts';
import { orderOf, type SortKey } from './sort.ts';
import type { Where } from './where.ts';

/** A column: a field, the identifier, or a relation to one record. */
export type Column = string;

export interface ListRequest {
  readonly columns: readonly Column[];
  readonly where: Where;
  readonly sort: readonly SortKey[];
  readonly offset: number;
  readonly limit: number;
  readonly after?: string | undefined;
  readonly variant?: string | undefined;
}

export function listQuery(
  type: TypeInfo,
  { columns, where, sort, offset, limit, after, variant }: ListRequest,
): string {
  const parameters: [string, string][] = [
    ...shownColumns(type, columns),
    ...where.map(([parameter, value]): [string, string] => [parameter, value]),
  ];
  if (variant !== undefined) parameters.push(['variant', variant]);
  if (sort.length > 0) parameters.push(['_cnd[orderBy]', orderOf(type, sort)]);
  parameters.push(['_cnd[limit]', after === undefined ? String(offset) : '0'], ['_cnd[limit]', String(limit)]);
  if (after !== undefined) parameters.push(['after', after]);
  return readable(parameters);
}

export const shownColumns = (type: TypeInfo, columns: readonly Column[]): readonly [string, string][] => [
  ['fields', columns.flatMap((column) => shownBy(type, column)).join(',')],
  [
    'include',
    columns
      .flatMap((column) => {
        const relation = relationNamed(type, column);
        return relation === undefined
          ? []
          : [column, ...throughPaths(relation.labelPaths).map((name) => `${column}.${name}`)];
      })
      .join(','),
  ],
];

/** The relations that labels lead through. */
export const throughPaths = (paths: readonly string[]): readonly string[] => [
  ...new Set(paths.filter((path) => path.includes('.')).map((path) => path.split('.')[0] ?? '')),
];

const relationNamed = (type: TypeInfo, name: string) => type.relations.find((relation) => relation.name === name);

/** The identifier is always shown; of a related record, its label is enough. */
function shownBy(type: TypeInfo, column: Column): readonly string[] {
  if (column === type.identifier.name) return [];
  const relation = relationNamed(type, column);
  const shows = type.fields.find(({ name }) => name === column)?.shows;
  // The currency of an amount stands beside it.
  if (typeof shows === 'object' && type.fields.some(({ name }) => name === shows.money)) return [column, shows.money];
  const paths = relation?.labelPaths ?? [];
  return paths.length === 0 ? [column] : paths.map((path) => `${column}.${path}`);
}

/** Brackets and commas stay as they are: people read these. */
const readable = (parameters: readonly (readonly [string, string])[]): string =>
  parameters
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&')
    .replaceAll(/%(?:5B|5D|2C|24|2A)/g, decodeURIComponent);

const encode = (text: string): string => encodeURIComponent(text);

/** The query of the link to the page behind this one, which says where that begins. */
export function nextAfter(link: string | null): string | undefined {
  const [, next] = /<([^>]*)>;\s*rel="?next"?/.exec(link ?? '') ?? [];
  return next === undefined ? undefined : (new URLSearchParams(next.split('?')[1]).get('after') ?? undefined);
}
