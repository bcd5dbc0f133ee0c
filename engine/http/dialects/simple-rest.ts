/** The interface of ra-data-simple-rest: `sort`, `range` and `filter` as JSON, and `Content-Range`. */
import type { OperatorName } from '../../field-types/field-type.ts';
import { isObject, type JsonValue, parsedJson } from '../../json/json.ts';
import { didYouMean } from '../../names.ts';
import type { Fault } from '../../problem.ts';
import { type Complain, complainAbout, type Parameter, parseParameters, quote } from '../../query/parameters.ts';
import type { FrameList } from '../lists.ts';
import {
  type ConditionNames,
  conditionNames,
  conditionsOf,
  directionOf,
  limitedTo,
  orderedBy,
  shownRelations,
} from './conditions.ts';
import type { HttpDialect } from './dialect.ts';

/** One parameter, from its JSON value. */
type ReadValue = (value: JsonValue, context: ReadingContext) => readonly Parameter[];

interface ReadingContext {
  readonly names: ConditionNames;
  readonly faults: Fault[];
  readonly complain: Complain;
}

/** `range=[0,24]`: the first and the last place. */
const range: ReadValue = (value, { complain }) => {
  const [first, last, ...rest] = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  // A page of no records ends before it begins.
  if (isPlace(first, 0) && isPlace(last, first - 1) && rest.length === 0)
    return limitedTo('range', first, last - first + 1);
  return complain('invalid-value', 'range takes the places of the first and the last record: range=[0,24]') ?? [];
};

const isPlace = (value: JsonValue | undefined, least: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= least;

/** `sort=["position","DESC"]`; further pairs may follow. */
const sort: ReadValue = (value, { complain }) => {
  const items = Array.isArray(value) ? (value as readonly JsonValue[]).flat() : [];
  if (items.length === 0 || items.length % 2 > 0 || !items.every((item) => typeof item === 'string'))
    return complain('invalid-value', 'sort takes a field and its direction: sort=["name","ASC"]') ?? [];
  return items.flatMap((item, index) =>
    index % 2 > 0 ? [] : orderedBy('sort', item, directionOf(String(items[index + 1]), complain) ?? false),
  );
};

/** `filter={"id":[1,2],"position_gte":5,"author":{"name":"x"}}`. */
const filter: ReadValue = (value, { names, faults, complain }) => {
  if (isObject(value)) return Object.entries(value).flatMap(([key, inner]) => filtered(key, inner, names, faults));
  return complain('invalid-value', 'filter takes a JSON object: filter={"name":"x"}') ?? [];
};

function filtered(key: string, value: JsonValue, names: ConditionNames, faults: Fault[]): readonly Parameter[] {
  if (value === null) return conditionsOf(names, key, ['true'], faults).map(toNull);
  if (Array.isArray(value)) return listed(key, value as readonly JsonValue[], names, faults);
  if (!isObject(value)) return conditionsOf(names, key, [String(value)], faults).map(toEqual);
  const inside = Object.entries(value);
  if (inside.length === 0)
    return complainAbout(faults, key)('invalid-value', `${quote(key)} is compared with nothing`) ?? [];
  return inside.flatMap(([step, inner]) => filtered(`${key}.${step}`, inner, names, faults));
}

const comparedBy =
  (operator: OperatorName) =>
  (parameter: Parameter): Parameter => {
    const { steps = [] } = parameter;
    return steps.length === 1 ? { ...parameter, steps: [...steps, operator] } : parameter;
  };
const toEqual = comparedBy('eq');
/** `null` as a value asks for records without one. */
const toNull = comparedBy('null');

function listed(
  key: string,
  values: readonly JsonValue[],
  names: ConditionNames,
  faults: Fault[],
): readonly Parameter[] {
  const texts = values.flatMap((value) => (value === null || typeof value === 'object' ? [] : String(value)));
  if (texts.length < values.length)
    return complainAbout(faults, key)('invalid-value', `${quote(key)} has an item that is not a value`) ?? [];
  // Nothing is one of no values, and identifiers begin with 1.
  if (texts.length === 0) return [{ key, steps: [names.paths.type.identifier.name], value: '0' }];
  return conditionsOf(names, key, texts, faults);
}

/** `embed=["author"]`: the relations to show. */
const embed: ReadValue = (value, { complain }) => {
  const paths = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  if (paths.every((path) => typeof path === 'string')) return [shownRelations(paths)];
  return complain('invalid-value', 'embed takes the names of relations: embed=["author"]') ?? [];
};

const READERS: ReadonlyMap<string, ReadValue> = new Map([
  ['range', range],
  ['sort', sort],
  ['filter', filter],
  ['embed', embed],
]);

const parser: HttpDialect['parser'] = (type) => {
  return (search, rights) => {
    const names = conditionNames(type, rights, []);
    const { all: given, faults: unreadable } = parseParameters(search);
    const faults: Fault[] = [...unreadable];
    const all = [...Map.groupBy(given, ({ key }) => key)].flatMap(([key, [first, ...others]]) => {
      const complain = complainAbout(faults, key);
      const read = READERS.get(key);
      if (!read) return complain('unknown-parameter', `Unknown parameter ${quote(key)}`, () => hint(key, names)) ?? [];
      if (others.length > 0) return complain('repeated', `"${key}" is given twice`) ?? [];
      // Text that is not JSON is null, which no parameter takes: each says what it expects.
      return read(parsedJson(first?.value ?? '') ?? null, { names, faults, complain });
    });
    return { all, faults };
  };
};

function hint(key: string, { paths: { type } }: ConditionNames): string {
  if (key.startsWith('_cnd')) return '; parameters like this are for /api';
  if (type.fields.has(key) || key === type.identifier.name) return `; did you mean "filter={"${key}":…}"?`;
  return didYouMean(key, READERS.keys());
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
