/** The interface of json-server: version 0 (`_start`, `_order`, `position_gte`) and 1 (`-position`, `_per_page`, `position:gte`). */
import type { Fault } from '../../problem.ts';
import { complainAbout, type Parameter, parseParameters, quote } from '../../query/parameters.ts';
import { namesOf } from '../../query/paths.ts';
import { type FrameList, linksTo } from '../lists.ts';
import { conditionsOf, isDescending, limitedTo, orderedBy, shownRelations } from './conditions.ts';
import type { HttpDialect } from './dialect.ts';

const EMBEDS = ['_embed', '_expand'];
const ONCE = ['_start', '_end', '_limit', '_page', '_per_page', '_sort', '_order'];
const OTHERS = [...ONCE, ...EMBEDS];

/** Records of a page whose size the client does not say. */
const USUAL_SIZE = 10;

type ParameterValues = ReadonlyMap<string, readonly string[]>;

const valuesIn = (all: readonly Parameter[]): ParameterValues =>
  new Map([...Map.groupBy(all, ({ key }) => key)].map(([key, same]) => [key, same.map(({ value }) => value)]));

const parser: HttpDialect['parser'] = (type) => (search, rights) => {
  const names = namesOf(type, type.defaultVariant, rights);
  const { all: given, faults: unreadable } = parseParameters(search);
  const faults: Fault[] = [...unreadable];
  const values = valuesIn(given);
  for (const name of ONCE)
    if ((values.get(name)?.length ?? 0) > 1) complainAbout(faults, name)('repeated', `"${name}" is given twice`);
  const embedded = EMBEDS.flatMap((name) => values.get(name) ?? []);
  const conditions = [...values].filter(([key]) => !OTHERS.includes(key));
  const all = [
    ...conditions.flatMap(([key, some]) => conditionsOf(names, key, some, faults, OTHERS)),
    ...ordered(values, faults),
    ...placed(values, faults),
    ...(embedded.length > 0 ? [shownRelations(embedded)] : []),
  ];
  return { all, faults };
};

/** `_sort=position,name&_order=desc,asc`, or `_sort=-position,name`. */
function ordered(values: ParameterValues, faults: Fault[]): readonly Parameter[] {
  const [fields, directions] = ['_sort', '_order'].map((name) => values.get(name)?.[0]?.split(','));
  const complain = complainAbout(faults, '_order');
  if (fields === undefined) {
    if (directions) complain('misplaced-direction', '"_order" needs "_sort", which names the fields');
    return [];
  }
  if (directions && directions.length > fields.length)
    complain('misplaced-direction', '"_order" has more items than "_sort"');
  return fields.flatMap((text, index) => {
    const direction = directions?.[index];
    const descends = direction === undefined ? text.startsWith('-') : isDescending(direction, complain);
    return orderedBy('_sort', text.replace(/^[-+]/, ''), descends);
  });
}

function placesIn(values: ParameterValues, faults: Fault[]) {
  const read = (name: string, least: number): number | undefined => {
    const text = values.get(name)?.[0];
    if (text === undefined) return undefined;
    const number = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number;
    return complainAbout(faults, name)('invalid-value', `${quote(text)} is not an integer from ${least} on`);
  };
  const limit = read('_limit', 0);
  const [number, size] = [read('_page', 1), read('_per_page', 1)];
  const isNumbered = number !== undefined || size !== undefined;
  return {
    start: read('_start', 0),
    end: read('_end', 0),
    limit,
    page: isNumbered ? { number: number ?? 1, size: size ?? limit ?? USUAL_SIZE } : undefined,
  };
}

function placed(values: ParameterValues, faults: Fault[]): readonly Parameter[] {
  const { start = 0, end, limit, page } = placesIn(values, faults);
  const key = ['_per_page', '_limit', '_end', '_start'].find((name) => values.has(name));
  if (page) {
    const slice = ['_start', '_end'].find((name) => values.has(name));
    if (slice !== undefined)
      complainAbout(faults, slice)('mixed-forms', `"${slice}" cannot be used together with pages`);
    return limitedTo(key ?? '_page', Math.min((page.number - 1) * page.size, Number.MAX_SAFE_INTEGER), page.size);
  }
  if (key === undefined) return [];
  return limitedTo(key, start, limit ?? (end === undefined ? undefined : Math.max(0, end - start)));
}

/** Version 0 says in `Link` which pages there are, version 1 in the body. */
const frame: FrameList = ({ path }, { target }, { format, result }) => {
  const { total } = result;
  const values = valuesIn(parseParameters(target.query).all);
  const { page } = placesIn(values, []);
  if (!page || !('rows' in result)) return { headers: {} };
  const { number, size } = page;
  const last = total === undefined ? undefined : Math.max(1, Math.ceil(total / size));
  const prev = number > 1 ? number - 1 : undefined;
  const next = result.hasNext ? number + 1 : undefined;
  if (values.has('_per_page')) {
    const head = { first: 1, prev: prev ?? null, next: next ?? null, last, pages: last, items: total };
    const open = `${JSON.stringify(head).slice(0, -1)},"data":${format.open}`;
    return { headers: {}, format: { ...format, open, close: `${format.close}}` } };
  }
  const searchOf = (place: number | undefined): string | undefined => {
    const search = new URLSearchParams(target.query);
    search.set('_page', String(place));
    return place === undefined ? undefined : search.toString();
  };
  const searches = { first: searchOf(1), prev: searchOf(prev), next: searchOf(next), last: searchOf(last) };
  return { headers: { Link: linksTo(target.base + path, searches) } };
};

export const jsonServer: HttpDialect = { parser, frame, embed: '_embed' };
