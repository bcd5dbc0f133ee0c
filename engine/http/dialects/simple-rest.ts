/** The interface of ra-data-simple-rest: `sort`, `range` and `filter` as JSON, and `Content-Range`. */
import { isObject, type JsonValue, parsedJson } from '../../json/json.ts';
import { didYouMean } from '../../names.ts';
import type { Fault } from '../../problem.ts';
import type { PathNames } from '../../query/list-query.ts';
import { type Complain, complainAbout, type Parameter, parseParameters, quote } from '../../query/parameters.ts';
import { namesOf } from '../../query/paths.ts';
import type { FrameList } from '../lists.ts';
import { conditionsOf, isDescending, limitedTo, orderedBy, shownRelations } from './conditions.ts';
import type { HttpDialect } from './dialect.ts';

interface ReadingContext {
  readonly names: PathNames;
  readonly faults: Fault[];
  readonly complain: Complain;
}

const listIn = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const isPlace = (value: JsonValue | undefined, least: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= least;

const READERS: Readonly<Record<string, (value: JsonValue, context: ReadingContext) => readonly Parameter[]>> = {
  /** `range=[0,24]`: the first and the last place. */
  range: (value, { complain }) => {
    const [first, last, ...rest] = listIn(value);
    // A page of no records ends before it begins.
    if (isPlace(first, 0) && isPlace(last, first - 1) && rest.length === 0)
      return limitedTo('range', first, last - first + 1);
    return complain('invalid-value', 'range takes the places of the first and the last record: range=[0,24]') ?? [];
  },
  /** `sort=["position","DESC"]`; further pairs may follow. */
  sort: (value, { complain }) => {
    const items = listIn(value).flat();
    if (items.length === 0 || items.length % 2 > 0 || !items.every((item) => typeof item === 'string'))
      return complain('invalid-value', 'sort takes a field and its direction: sort=["name","ASC"]') ?? [];
    return items.flatMap((item, index) =>
      index % 2 > 0 ? [] : orderedBy('sort', item, isDescending(items[index + 1] ?? '', complain)),
    );
  },
  /** `filter={"id":[1,2],"position_gte":5,"author":{"name":"x"}}`. */
  filter: (value, { names, faults, complain }) => {
    if (isObject(value)) return Object.entries(value).flatMap(([key, inner]) => filtered(key, inner, names, faults));
    return complain('invalid-value', 'filter takes a JSON object: filter={"name":"x"}') ?? [];
  },
  /** `embed=["author"]`: the relations to show. */
  embed: (value, { complain }) => {
    const paths = Array.isArray(value) ? listIn(value) : [value];
    if (paths.every((path) => typeof path === 'string')) return [shownRelations(paths)];
    return complain('invalid-value', 'embed takes the names of relations: embed=["author"]') ?? [];
  },
};

function filtered(key: string, value: JsonValue, names: PathNames, faults: Fault[]): readonly Parameter[] {
  const complain = complainAbout(faults, key);
  if (isObject(value)) {
    const inside = Object.entries(value);
    if (inside.length === 0) return complain('invalid-value', `${quote(key)} is compared with nothing`) ?? [];
    return inside.flatMap(([step, inner]) => filtered(`${key}.${step}`, inner, names, faults));
  }
  if (!Array.isArray(value)) {
    // `null` as a value asks for records without one.
    const [text, operator] = value === null ? ['true', 'null'] : [String(value), 'eq'];
    return conditionsOf(names, key, [text], faults).map((parameter) =>
      parameter.steps?.length === 1 ? { ...parameter, steps: [...parameter.steps, operator] } : parameter,
    );
  }
  const values = listIn(value);
  if (values.some((item) => item === null || typeof item === 'object'))
    return complain('invalid-value', `${quote(key)} has an item that is not a value`) ?? [];
  // Nothing is one of no values, and identifiers begin with 1.
  if (values.length === 0) return [{ key, steps: [names.type.identifier.name], value: '0' }];
  return conditionsOf(names, key, values.map(String), faults);
}

const parser: HttpDialect['parser'] = (type) => (search, rights) => {
  const names = namesOf(type, type.defaultVariant, rights);
  const { all: given, faults: unreadable } = parseParameters(search);
  const faults: Fault[] = [...unreadable];
  const all = [...Map.groupBy(given, ({ key }) => key)].flatMap(([key, [first, ...others]]) => {
    const complain = complainAbout(faults, key);
    const read = Object.hasOwn(READERS, key) ? READERS[key] : undefined;
    if (!read) return complain('unknown-parameter', `Unknown parameter ${quote(key)}`, () => hint(key, names)) ?? [];
    if (others.length > 0) return complain('repeated', `"${key}" is given twice`) ?? [];
    // Text that is not JSON is read as null, which no parameter takes: each says what it expects.
    return read(parsedJson(first?.value ?? '') ?? null, { names, faults, complain });
  });
  return { all, faults };
};

function hint(key: string, { type }: PathNames): string {
  if (key.startsWith('_cnd')) return '; parameters like this are for /api';
  if (type.fields.has(key) || key === type.identifier.name) return `; did you mean "filter={"${key}":…}"?`;
  return didYouMean(key, Object.keys(READERS));
}

const frame: FrameList = ({ type }, _, { query: { offset }, result }) => {
  const { total } = result;
  const count = 'rows' in result ? result.rows.length : total === undefined ? undefined : Math.max(0, total - offset);
  if (count === undefined) return { headers: {} };
  const places = count === 0 ? '*' : `${offset}-${offset + count - 1}`;
  // An estimate may be less than what is here.
  const all = total === undefined ? '*' : Math.max(total, count === 0 ? 0 : offset + count);
  return { headers: { 'Content-Range': `${encodeURIComponent(type.path)} ${places}/${all}` } };
};

export const simpleRest: HttpDialect = { parser, frame, embed: 'embed' };
