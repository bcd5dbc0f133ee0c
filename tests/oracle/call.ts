/** A request in the words of the oracle, and as it is sent. */
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import { MAX_GIVEN_IDENTIFIER } from '../../engine/field-types/identifiers.ts';
import type { RecordType } from '../../engine/model/model.ts';
import type { Request } from './case.ts';
import type { ConditionRequest, ListRequest, OrderRequest, ViewRequest } from './reads.ts';
import { givenId, type Id, idValue } from './world.ts';

type Query = readonly string[];

export interface Call {
  readonly type: RecordType;
  readonly method: string;
  readonly id?: Id | undefined;
  readonly view?: ViewRequest;
  readonly list?: ListRequest;
  readonly headers?: Readonly<Record<string, string>>;
  readonly dryRun?: true;
  /** PUT of a collection: the unique values that identify the record. */
  readonly on?: readonly string[];
  readonly body?: JsonValue;
}

/** An identifier that no record has: clients cannot choose it. */
export const MISSING_ID = MAX_GIVEN_IDENTIFIER + 1;

/** Likewise of types whose identifiers are no numbers: nobody chooses it. */
export const missingId = (type: RecordType): Id => givenId(type, MISSING_ID);

const idText = (id: Id): string => (typeof id === 'string' ? `{${id}}` : String(id));

export const linkTo = (type: RecordType, id: Id): JsonObject => ({ [type.identifier.name]: idValue(id) });

const parameter = (key: string, value: string): string => `${key}=${encodeURIComponent(value)}`;

/** `_cnd[limit]` with each step encoded but the brackets raw, as most clients send it. */
const cnd = (...steps: readonly string[]): string =>
  `_cnd${steps.map((step) => `[${encodeURIComponent(step)}]`).join('')}`;

const search = (query: Query): string => (query.length === 0 ? '' : `?${query.join('&')}`);

const collectionPath = (type: RecordType, query: Query = []): string =>
  `/api/${encodeURIComponent(type.path)}${search(query)}`;

export const itemPath = (type: RecordType, id: Id, query: Query = []): string =>
  `${collectionPath(type)}/${idText(id)}${search(query)}`;

const viewQuery = ({ include, fields, variant }: ViewRequest): Query => [
  ...(include === undefined ? [] : [parameter('include', include.join(','))]),
  ...(fields === undefined ? [] : [parameter('fields', fields.join(','))]),
  ...(variant === undefined ? [] : [parameter('variant', variant)]),
];

/** `steps`: those of the key so far, without `_cnd`. */
function conditionQuery(condition: ConditionRequest, steps: readonly string[] = []): Query {
  const inside = (items: readonly (readonly ConditionRequest[])[], ...before: readonly string[]): Query =>
    items.flatMap((item, index) => item.flatMap((one) => conditionQuery(one, [...steps, ...before, String(index)])));
  if ('group' in condition) return inside(condition.items, condition.group);
  const { path } = condition;
  if ('quantifier' in condition) return inside([condition.conditions], path, condition.quantifier);
  const [operator, before] =
    'counted' in condition ? [condition.counted, [...steps, path, '$count']] : [condition.operator, [...steps, path]];
  const key = operator === 'eq' ? cnd(...before) : cnd(...before, operator);
  const ids = 'ids' in condition ? condition.ids : undefined;
  if (ids) return ids.map((id) => `${key}=${idText(id)}`);
  return [condition.value].flat().map((one) => parameter(key, String(one)));
}

const orderQuery = (order: readonly OrderRequest[]): Query =>
  order.flatMap(({ path, descending }) => [
    parameter(cnd('orderBy'), path),
    ...(descending ? [parameter(cnd('orderBy'), 'desc')] : []),
  ]);

const pageQuery = ({ offset, limit }: ListRequest): Query => [
  ...(offset === undefined ? [] : [parameter(cnd('limit', '0'), String(offset))]),
  ...(limit === undefined ? [] : [parameter(cnd('limit', '1'), String(limit))]),
];

const listQuery = (list: ListRequest): Query => [
  ...(list.filters ?? []).flatMap((filter) => conditionQuery(filter)),
  ...orderQuery(list.order ?? []),
  ...pageQuery(list),
];

function pathOf({ type, id, view = {}, list = {}, dryRun, on }: Call): string {
  const query = [
    ...listQuery(list),
    ...viewQuery(view),
    ...(dryRun ? ['dryRun=true'] : []),
    ...(on ? [parameter('on', on.join(','))] : []),
  ];
  return id === undefined ? collectionPath(type, query) : itemPath(type, id, query);
}

export const requestOf = (call: Call): Request => ({
  method: call.method,
  path: pathOf(call),
  ...(call.headers ? { headers: call.headers } : {}),
  ...(call.body === undefined ? {} : { body: call.body }),
});

type UniqueValues = RecordType['indexes'][number]['members'];

/** By what a PUT of the collection can find records. */
export function uniquesOf({ operations, indexes, references }: RecordType): readonly UniqueValues[] {
  if (!operations.has('create') || !operations.has('update')) return [];
  const owners = references.flatMap(({ unique, relation }) => (unique && relation ? [[relation]] : []));
  return [...indexes.flatMap(({ unique, members }) => (unique ? [members] : [])), ...owners];
}

/** Whether the type lets clients delete what filters find. */
export const deletesFound = ({ operations, preconditions }: RecordType): boolean =>
  operations.has('delete') && preconditions !== 'required';

export const foundDeletion = (filters: readonly ConditionRequest[], most: number): Omit<Call, 'type'> => ({
  method: 'DELETE',
  list: { filters },
  headers: { prefer: `max-affected=${most}` },
});
