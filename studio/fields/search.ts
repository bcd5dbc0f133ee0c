/** Finds records to choose from: in the list of their type, or through the types that lead to them. */
import { isValueList, isValueObject, type Value, type ValueObject } from '../data/json.ts';
import {
  can,
  identifierOf,
  isIdentifier,
  nameOf,
  noIdentifier,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';
import { UNCOUNTED } from '../data/provider.ts';
import { throughPaths } from '../data/list-request.ts';
import { send } from '../data/request.ts';
import { textOfWhere, type Where } from '../data/where.ts';
import { writeTree } from '../data/filter-tree.ts';
import { searchedWhere, searchOf } from '../data/search.ts';
import { detailFields } from './detail.ts';

export interface Choice {
  readonly id: string;
  readonly name: string;
  /** The values of a found record; undefined for a record that was chosen before. */
  readonly values?: ValueObject;
}

export const MAX_FOUND = 20;
/** Types without a list of their own are searched through at most so many others. */
const MAX_WAYS = 4;

/** A part of a name, with how many to find; or the whole of an identifier. */
type Wanted = { readonly text: string; readonly most?: number } | { readonly id: string };

export async function findChoices(
  model: StudioModel,
  type: TypeInfo,
  label: string | null,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<readonly Choice[]> {
  const found = await findRecords(model, type, label, wanted, signal);
  return found.map((values) => ({ id: identifierOf(type, values), name: nameOf(type, values, label), values }));
}

/** Finds records through their list, or through a relation that leads to them. */
export async function findRecords(
  model: StudioModel,
  type: TypeInfo,
  label: string | null,
  wanted: Wanted,
  signal?: AbortSignal,
): Promise<readonly ValueObject[]> {
  const found = can(type, 'list')
    ? await listed(model, type, label, wanted, signal)
    : (
        await Promise.all(
          type.foundThrough.slice(0, MAX_WAYS).map((way) => through(model, type, way, label, wanted, signal)),
        )
      ).flat();
  const byId = new Map(found.map((values) => [identifierOf(type, values), values]));
  return [...byId].filter(([id]) => !('id' in wanted) || id === wanted.id).map(([, values]) => values);
}

async function read(target: string, signal?: AbortSignal): Promise<readonly Value[]> {
  const { body } = await send({ method: 'GET', target, headers: UNCOUNTED }, signal);
  return isValueList(body) ? body : [];
}

async function listed(model: StudioModel, type: TypeInfo, label: string | null, wanted: Wanted, signal?: AbortSignal) {
  const details = detailFields(type, label).map(({ name }) => name);
  const paths = label === type.label ? type.labelPaths : label === null ? [] : [label];
  const isOrdered = type.fields.find(({ name }) => name === label)?.isOrderIndexed === true;
  const query = new URLSearchParams([
    ['include', throughPaths(paths).join(',')],
    ...('id' in wanted ? [] : [['fields', [...paths, ...details].join(',')]]),
    ...('id' in wanted
      ? filters(type, '', label, wanted)
      : searchedWhere(model, type, { q: wanted.text }).where.map((pair) => [...pair])),
    ...(isOrdered && label !== null ? [['_cnd[orderBy]', label]] : []),
    ...limit(wanted),
  ]);
  return (await read(`${type.path}?${query.toString()}`, signal)).filter(isValueObject);
}

async function through(
  model: StudioModel,
  type: TypeInfo,
  way: TypeInfo['foundThrough'][number],
  label: string | null,
  wanted: Wanted,
  signal: AbortSignal | undefined,
): Promise<readonly ValueObject[]> {
  const from = typeNamed(model, way.type).path;
  const where = filters(type, `${way.relation}.`, label, wanted);
  if (!way.toMany) {
    // A summary has each record once.
    const query = new URLSearchParams([['by', way.relation], ...where, ...limit(wanted)]);
    const groups = await read(`${from}/$summary?${query.toString()}`, signal);
    return groups.flatMap((group) => (isValueObject(group) ? recordsAt(group['by'], [way.relation]) : []));
  }
  const query = new URLSearchParams([['include', way.relation], ['fields', way.relation], ...where, ...limit(wanted)]);
  const records = await read(`${from}?${query.toString()}`, signal);
  return records.flatMap((record) => recordsAt(record, way.relation.split('.'))).slice(0, mostOf(wanted));
}

function recordsAt(value: Value | undefined, [name, ...rest]: readonly string[]): readonly ValueObject[] {
  if (isValueList(value)) return value.flatMap((one) => recordsAt(one, name === undefined ? [] : [name, ...rest]));
  if (!isValueObject(value)) return [];
  return name === undefined ? [value] : recordsAt(value[name], rest);
}

const mostOf = (wanted: Wanted): number => ('id' in wanted ? MAX_FOUND : (wanted.most ?? MAX_FOUND));

const limit = (wanted: Wanted): readonly string[][] => [
  ['_cnd[limit]', '0'],
  ['_cnd[limit]', String(mostOf(wanted))],
];

/** By a part of the label; an identifier finds its record as well. */
function filters(type: TypeInfo, prefix: string, label: string | null, wanted: Wanted): readonly string[][] {
  const { identifier } = type;
  if ('id' in wanted) return [[`_cnd[${prefix}${identifier.name}]`, wanted.id]];
  const { text } = wanted;
  if (text === '') return [];
  const isId = isIdentifier(type, text);
  const byLabel = label === null ? [] : [`[${prefix}${label}][like]`, `*${text}*`];
  const byId = isId ? [`[${prefix}${identifier.name}]`, text] : [];
  const both = [byLabel, byId].filter(({ length }) => length > 0);
  if (both.length === 0) return [[`_cnd[${prefix}${identifier.name}]`, noIdentifier(type)]];
  return both.length === 1
    ? both.map(([name = '', value = '']) => [`_cnd${name}`, value])
    : both.map(([name = '', value = ''], index) => [`_cnd[$any][${index}]${name}`, value]);
}

export interface FoundRecord {
  readonly type: TypeInfo;
  readonly id: string;
  readonly name: string;
  readonly values: ValueObject;
}

const MOST_OF_TYPE = 5;

export interface FoundInType {
  readonly type: TypeInfo;
  readonly records: readonly FoundRecord[];
  /** Undefined where the service does not count. */
  readonly total: number | undefined;
}

/** What the list of the type would find: the first records, and how many there are. */
export async function findInType(
  model: StudioModel,
  type: TypeInfo,
  text: string,
  signal: AbortSignal,
): Promise<FoundInType> {
  const { label, identifier } = type;
  const { nodes } = searchOf(model, type, text, model.limits.maxFilters);
  if (nodes.length === 0 || !can(type, 'get') || !identifier.inRecord) return { type, records: [], total: 0 };
  const fields = [...type.labelPaths, ...detailFields(type, label).map(({ name }) => name)].join(',');
  const where: Where = [['include', throughPaths(type.labelPaths).join(',')], ['fields', fields], ...writeTree(nodes)];
  const query = textOfWhere([...where, ['_cnd[limit]', '0'], ['_cnd[limit]', String(MOST_OF_TYPE)]]);
  const headers = type.list.count === 'none' ? UNCOUNTED : { Prefer: 'count=exact' };
  const { body, headers: given } = await send({ method: 'GET', target: `${type.path}?${query}`, headers }, signal);
  const total = given.get('X-Total-Count');
  const records = (isValueList(body) ? body : [])
    .filter(isValueObject)
    .map((values) => ({ type, id: identifierOf(type, values), name: nameOf(type, values), values }));
  return { type, records, total: total === null ? undefined : Number(total) };
}
