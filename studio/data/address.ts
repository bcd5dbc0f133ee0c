/**
 * Addresses of lists: `?state=open&total[gte]=9&$sort=-total&$page=2`. Names of fields never begin with `$`. The library of
 * the lists has its own way to write them.
 */
import { textOfWhere, whereOf } from './where.ts';

const SORT = '$sort';
const PAGE = '$page';
const SIZE = '$size';
export const SEARCH = '$q';
export const VIEW = '$view';
/** The columns of a view that somebody passes on. */
export const COLUMNS = '$columns';

interface Filter {
  readonly where?: string;
  readonly q?: string;
}

/** People read these: only what has a meaning in a query is written as a code. */
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/%(?:24|2C|3A|5B|5D|2F|40)/g, decodeURIComponent);

const queryOf = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;

/** `_cnd[state][eq]` -> `state`, `_cnd[$any][0][a][lt]` -> `$any[0][a][lt]`. */
function shortName(parameter: string): string | undefined {
  const [, first = '', rest = ''] = /^_cnd\[([^[\]]+)\]((?:\[[^[\]]*\])*)$/.exec(parameter) ?? [];
  return first === '' ? undefined : first + (rest === '[eq]' ? '' : rest);
}

function longName(name: string): string | undefined {
  const [, first = '', rest = ''] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name) ?? [];
  if (first === '' || (first.startsWith('$') && rest === '')) return undefined;
  return `_cnd[${first}]${rest === '' ? '[eq]' : rest}`;
}

const whereInAddress = (where: string): readonly (readonly [string, string])[] =>
  whereOf(where).flatMap(([parameter, value]) => {
    const name = shortName(parameter);
    return name === undefined ? [] : [[name, value] as const];
  });

/** Converts the query of the list library to the address of the page. */
export function addressSearch(search: string): string {
  const query = new URLSearchParams(search);
  const { where = '', q = '' } = filterIn(query.get('filter'));
  const [sort = '', page = '1', view] = [query.get('sort') ?? '', query.get('page') ?? '1', query.get('variant')];
  const size = query.get('perPage');
  const pairs: [string, string][] = whereInAddress(where).map(([name, value]) => [name, value]);
  if (q !== '') pairs.push([SEARCH, q]);
  if (sort !== '') pairs.push([SORT, query.get('order') === 'DESC' ? `-${sort}` : sort]);
  if (page !== '1') pairs.push([PAGE, page]);
  if (size !== null && size !== DEFAULT_SIZE) pairs.push([SIZE, size]);
  if (view !== null) pairs.push([VIEW, view]);
  const columns = query.get('columns');
  if (columns !== null) pairs.push([COLUMNS, columns]);
  return queryOf(pairs);
}

/** The defaults of a list whose address does not name them. */
const DEFAULT_SIZE = '25';

function filterIn(text: string | null): Filter {
  try {
    const filter: unknown = JSON.parse(text ?? '{}');
    return typeof filter === 'object' && filter !== null ? filter : {};
  } catch {
    return {};
  }
}

/** The address -> what the library of the lists reads. */
export function librarySearch(search: string): string {
  const query = new URLSearchParams(search);
  const where = [...query].flatMap(([name, value]): (readonly [string, string])[] => {
    const parameter = longName(name);
    return parameter === undefined ? [] : [[parameter, value]];
  });
  const [q, sort, page, size] = [SEARCH, SORT, PAGE, SIZE].map((name) => query.get(name) ?? '');
  const filter: Filter = { ...(where.length > 0 ? { where: textOfWhere(where) } : {}), ...(q ? { q } : {}) };
  const found = new URLSearchParams();
  if (Object.keys(filter).length > 0) found.set('filter', JSON.stringify(filter));
  if (sort) {
    found.set('sort', sort.replace(/^-/, ''));
    found.set('order', sort.startsWith('-') ? 'DESC' : 'ASC');
  }
  if (page && /^[1-9]\d*$/.test(page)) found.set('page', page);
  if (size && /^[1-9]\d*$/.test(size)) found.set('perPage', size);
  return found.size === 0 ? '' : `?${found.toString()}`;
}

/** The query of a page, as people read it. */
export const addressOf = (params: URLSearchParams): string => queryOf([...params]);

export const listSearch = (where: string): string => queryOf(whereInAddress(where));
