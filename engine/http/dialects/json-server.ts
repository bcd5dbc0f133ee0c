/** The interface of json-server: version 0 (`_start`, `_order`, `position_gte`) and 1 (`-position`, `_per_page`, `position:gte`). */
import type { Fault } from '../../problem.ts';
import { complainAbout, type Parameter, parseParameters, quote } from '../../query/parameters.ts';
import type { FrameList } from '../lists.ts';
import { conditionNames, conditionsOf, isDescending, limitedTo, orderedBy, shownRelations } from './conditions.ts';
import type { HttpDialect } from './dialect.ts';

const PLACES = { start: '_start', end: '_end', limit: '_limit', page: '_page', size: '_per_page' } as const;
const EMBEDS = ['_embed', '_expand'];
const ONCE: readonly string[] = [...Object.values(PLACES), '_sort', '_order'];
const OTHERS = [...ONCE, ...EMBEDS];

/** Records of a page whose size the client does not say. */
const USUAL_SIZE = 10;

/** The values of parameters, by their names. */
type ParameterValues = ReadonlyMap<string, readonly string[]>;

const valuesIn = (all: readonly Parameter[]): ParameterValues =>
  new Map([...Map.groupBy(all, ({ key }) => key)].map(([key, same]) => [key, same.map(({ value }) => value)]));

const parser: HttpDialect['parser'] = (type) => (search, rights) => {
  const names = conditionNames(type, rights, OTHERS);
  const { all: given, faults: unreadable } = parseParameters(search);
  const faults: Fault[] = [...unreadable];
  const values = valuesIn(given);
  for (const name of ONCE)
    if ((values.get(name)?.length ?? 0) > 1) complainAbout(faults, name)('repeated', `"${name}" is given twice`);
  const embedded = EMBEDS.flatMap((name) => values.get(name) ?? []);
  const all = [
    ...[...values].flatMap(([key, some]) => (OTHERS.includes(key) ? [] : conditionsOf(names, key, some, faults))),
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

interface AskedPlaces extends Readonly<Partial<Record<keyof typeof PLACES, number>>> {
  /** A page by its number; `size` is that of the client if it names one. */
  readonly numbered?: { readonly number: number; readonly size: number } | undefined;
}

function placesIn(values: ParameterValues, faults: Fault[]): AskedPlaces {
  const found = Object.entries(PLACES).flatMap(([place, name]) => {
    const [text] = values.get(name) ?? [];
    if (text === undefined) return [];
    const least = place === 'page' || place === 'size' ? 1 : 0;
    const number = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return [[place, number] as const];
    complainAbout(faults, name)('invalid-value', `${quote(text)} is not an integer from ${least} on`);
    return [];
  });
  const places: AskedPlaces = Object.fromEntries(found);
  const { page, size, limit } = places;
  const isNumbered = page !== undefined || size !== undefined;
  return { ...places, numbered: isNumbered ? { number: page ?? 1, size: size ?? limit ?? USUAL_SIZE } : undefined };
}

function placed(values: ParameterValues, faults: Fault[]): readonly Parameter[] {
  const { start = 0, end, limit, numbered } = placesIn(values, faults);
  const key = Object.values(PLACES).findLast((name) => values.has(name) && name !== PLACES.page);
  if (numbered) {
    const slice = [PLACES.start, PLACES.end].find((name) => values.has(name));
    if (slice !== undefined)
      complainAbout(faults, slice)('mixed-forms', `"${slice}" cannot be used together with pages`);
    const offset = Math.min((numbered.number - 1) * numbered.size, Number.MAX_SAFE_INTEGER);
    return limitedTo(key ?? PLACES.page, offset, numbered.size);
  }
  if (key === undefined) return [];
  return limitedTo(key, start, limit ?? (end === undefined ? undefined : Math.max(0, end - start)));
}

/** Version 0 says in `Link` which pages there are, version 1 in the body. */
const frame: FrameList = ({ path }, { target }, { format, result }) => {
  const { total } = result;
  const { numbered, size } = placesIn(valuesIn(parseParameters(target.query).all), []);
  if (!numbered || !('rows' in result)) return { headers: {} };
  const { number } = numbered;
  const last = total === undefined ? undefined : Math.max(1, Math.ceil(total / numbered.size));
  const prev = number > 1 ? number - 1 : undefined;
  const next = result.hasNext ? number + 1 : undefined;
  if (size !== undefined) {
    const head = { first: 1, prev: prev ?? null, next: next ?? null, last, pages: last, items: total };
    const open = `${JSON.stringify(head).slice(0, -1)},"data":${format.open}`;
    return { headers: {}, format: { ...format, open, close: `${format.close}}` } };
  }
  const links = Object.entries({ first: 1, prev, next, last }).flatMap(([relation, page]) => {
    const search = new URLSearchParams(target.query);
    search.set('_page', String(page));
    return page === undefined ? [] : [`<${target.base}${path}?${search.toString()}>; rel="${relation}"`];
  });
  return { headers: { Link: links.join(', ') } };
};

export const jsonServer: HttpDialect = { parser, frame, embed: '_embed' };
