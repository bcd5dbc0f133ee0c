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
import { limited, textOfWhere, type Where } from '../data/where.ts';
import { condition, writeTree } from '../data/filter-tree.ts';
import { containing, searchedWhere, searchOf } from '../data/search.ts';
import { detailFields } from './detail.ts';

export interface Choice {
  readonly id: string;
  readonly name: string;
  /** The values of a found record; undefined for a record that was chosen before. */
  readonly values?: ValueObject;
}

/** More are found by typing. */
const MAX_FOUND = 50;
/** Types without a list of their own are searched through at most so many others. */
const MAX_WAYS = 4;

/** A part of a name, or the whole of an identifier. */
type Wanted = { readonly text: string } | { readonly id: string };

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
  const isKnown = 'id' in wanted;
  const query = textOfWhere([
    ['include', throughPaths(paths).join(',')],
    ...(isKnown ? [] : [['fields', [...paths, ...details].join(',')] as const]),
    ...(isKnown ? filters(type, '', label, wanted) : searchedWhere(model, type, { q: wanted.text }).where),
    ...(isOrdered && label !== null ? [['_cnd[orderBy]', label] as const] : []),
    ...limited(Math.min(MAX_FOUND, type.list.maxLimit)),
  ]);
  return (await read(`${type.path}?${query}`, signal)).filter(isValueObject);
}

async function through(
  model: StudioModel,
  type: TypeInfo,
  way: TypeInfo['foundThrough'][number],
  label: string | null,
  wanted: Wanted,
  signal: AbortSignal | undefined,
): Promise<readonly ValueObject[]> {
  const { path: from, list } = typeNamed(model, way.type);
  const most = Math.min(MAX_FOUND, list.maxLimit);
  const where = filters(type, `${way.relation}.`, label, wanted);
  if (!way.toMany) {
    // A summary has each record once.
    const query = textOfWhere([['by', way.relation], ...where, ...limited(most)]);
    const groups = await read(`${from}/$summary?${query}`, signal);
    return groups.flatMap((group) => (isValueObject(group) ? recordsAt(group['by'], [way.relation]) : []));
  }
  const query = textOfWhere([['include', way.relation], ['fields', way.relation], ...where, ...limited(most)]);
  const records = await read(`${from}?${query}`, signal);
  return records.flatMap((record) => recordsAt(record, way.relation.split('.'))).slice(0, most);
}

function recordsAt(value: Value | undefined, [name, ...rest]: readonly string[]): readonly ValueObject[] {
  if (isValueList(value)) return value.flatMap((one) => recordsAt(one, name === undefined ? [] : [name, ...rest]));
  if (!isValueObject(value)) return [];
  return name === undefined ? [value] : recordsAt(value[name], rest);
}

/** By a part of the label; an identifier finds its record as well. */
function filters(type: TypeInfo, prefix: string, label: string | null, wanted: Wanted): Where {
  const { identifier } = type;
  if ('id' in wanted) return [[`_cnd[${prefix}${identifier.name}]`, wanted.id]];
  const { text } = wanted;
  if (text === '') return [];
  const byLabel = label === null ? [] : [condition(prefix + label, 'like', containing(text))];
  const byId = isIdentifier(type, text) ? [condition(prefix + identifier.name, 'eq', text)] : [];
  const items = [...byLabel, ...byId];
  const none = condition(prefix + identifier.name, 'eq', noIdentifier(type));
  return writeTree([{ kind: 'group', mode: 'any', items: items.length === 0 ? [none] : items }]);
}

const MOST_OF_TYPE = 5;

export interface FoundInType {
  readonly type: TypeInfo;
  readonly records: readonly Required<Choice>[];
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
  const query = textOfWhere([...where, ...limited(MOST_OF_TYPE)]);
  const headers = type.list.count === 'none' ? UNCOUNTED : { Prefer: 'count=exact' };
  const { body, headers: given } = await send({ method: 'GET', target: `${type.path}?${query}`, headers }, signal);
  const total = given.get('X-Total-Count');
  const records = (isValueList(body) ? body : [])
    .filter(isValueObject)
    .map((values) => ({ id: identifierOf(type, values), name: nameOf(type, values), values }));
  return { type, records, total: total === null ? undefined : Number(total) };
}
