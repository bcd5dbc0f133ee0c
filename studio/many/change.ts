/** Gives one field of many records the same value, in parts that the service takes. */
import { isValueObject, type Value, type ValueObject } from '../data/json.ts';
import {
  can,
  identifierValue,
  inForm,
  isToMany,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
  withIdentifiers,
} from '../data/model.ts';
import { listQuery } from '../data/list-request.ts';
import { Problem } from '../data/problem.ts';
import { send } from '../data/request.ts';
import { isJson, isWritable } from '../presentations/field-draft.ts';
import type { Member } from '../fields/member-value.tsx';
import { inParts, isRefused, type LeftOut, patiently, readList } from './chosen.ts';
import type { WorkTools } from './use-work.ts';

/** Unique values cannot be the same; free JSON would be merged with what is there. */
export function targetsOf(type: TypeInfo): readonly Member[] {
  if (!can(type, 'update')) return [];
  const unique = new Set(type.unique.flat());
  const { fields: all, relations: links } = inForm(type, 'update');
  const fields = all.filter(
    (field) => isWritable(field) && field.unique !== true && (!isJson(field) || field.type === 'array'),
  );
  const relations = links.filter(
    (relation) => !isToMany(relation) && !relation.readOnly && relation.kind === 'belongsTo',
  );
  return [
    ...fields.map((field) => ({ name: field.name, title: field.title, field })),
    ...relations.map((relation) => ({ name: relation.name, title: relation.title, relation })),
  ].filter(({ name }) => !unique.has(name));
}

export interface Change {
  readonly type: TypeInfo;
  readonly target: Member;
  readonly value: Value;
}

export function linkTo(model: StudioModel, relation: RelationInfo, id: string): Value {
  const type = typeNamed(model, relation.type);
  return { [type.identifier.name]: identifierValue(type, id) };
}

/** A record, and the tag of what it had when the person agreed to the change. */
export interface Item {
  readonly id: string;
  readonly tag: string | undefined;
}

/** Tags are read record by record: beyond these, only where the service wants them. */
const MOST_TAGGED = 100;
const AT_ONCE = 4;
const MOST = 500;

export const isTagged = ({ preconditions }: TypeInfo, count: number): boolean =>
  preconditions === 'required' || (preconditions === 'optional' && count <= MOST_TAGGED);

/** Reads and writes of one record with one tag have the same query: it covers what is changed, and nothing else. */
export const queryOf = (model: StudioModel, { name, relation }: Member): string =>
  relation === undefined
    ? `fields=${name}&include=`
    : `fields=${name}.${typeNamed(model, relation.type).identifier.name}&include=${name}`;

interface Seen {
  readonly items: readonly Item[];
  readonly values: readonly (Value | undefined)[];
}

/** Undefined if it was stopped. Records that are gone are left out. */
export async function look(
  model: StudioModel,
  { type, target }: Pick<Change, 'type' | 'target'>,
  ids: readonly string[],
  { signal, report, isStopped }: WorkTools,
): Promise<Seen | undefined> {
  if (!isTagged(type, ids.length)) return { items: ids.map((id) => ({ id, tag: undefined })), values: [] };
  const [items, values]: [Item[], (Value | undefined)[]] = [[], []];
  for (const some of inParts(ids, AT_ONCE)) {
    if (isStopped()) return undefined;
    const read = some.map(async (id) => {
      const path = `${type.path}/${encodeURIComponent(id)}?${queryOf(model, target)}`;
      const { headers, body } = await patiently(() => send({ method: 'GET', target: path }, signal), signal);
      items.push({ id, tag: headers.get('ETag') ?? undefined });
      values.push(isValueObject(body) ? body[target.name] : undefined);
    });
    await Promise.all(read);
    report({ done: items.length, total: ids.length });
  }
  return { items, values };
}

/** The first of the records with their labels and what they have now. */
export async function sampleOf(
  { type, target }: Pick<Change, 'type' | 'target'>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly ValueObject[]> {
  const columns = [...(type.label === null ? [] : [type.label]), target.name];
  const query = listQuery(type, { columns, where: withIdentifiers(type, ids), sort: [], offset: 0, limit: ids.length });
  return readList(`${type.path}?${query}`, signal);
}

const bodyOf = ({ type, target, value }: Change, { id, tag }: Item): ValueObject => ({
  [type.identifier.name]: identifierValue(type, id),
  ...(tag === undefined ? {} : { '@etag': tag }),
  [target.name]: value,
});

function patch(
  model: StudioModel,
  change: Change,
  items: readonly Item[],
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<unknown> {
  const { type, target } = change;
  const path = `${type.path}?${queryOf(model, target)}${isDryRun ? '&dryRun=true' : ''}`;
  const body = items.map((item) => bodyOf(change, item));
  const headers = { Prefer: 'return=minimal' };
  return patiently(() => send({ method: 'PATCH', target: path, headers, body }, signal), signal);
}

/** Tries the value on one record as a dry run, to find its faults. */
export const attempt = (model: StudioModel, change: Change, item: Item, signal: AbortSignal): Promise<unknown> =>
  patch(model, change, [item], true, signal);

/** One part: records that the service refuses are left out, and the others of the part are changed. */
export async function writePart(
  model: StudioModel,
  change: Change,
  part: readonly Item[],
  signal: AbortSignal,
): Promise<readonly LeftOut[]> {
  const leftOut: LeftOut[] = [];
  let items = part;
  while (items.length > 0)
    try {
      await patch(model, change, items, false, signal);
      return leftOut;
    } catch (problem) {
      if (!isRefused(problem)) throw problem;
      const refused = refusedItems(problem, items);
      if (refused.size === 0) throw problem;
      leftOut.push(...refused.values());
      items = items.filter((item) => !refused.has(item));
    }
  return leftOut;
}

function refusedItems({ parts }: Problem, items: readonly Item[]): ReadonlyMap<Item, LeftOut> {
  const refused = new Map<Item, LeftOut>();
  for (const fault of parts.errors) {
    const [, index] = /^\/(\d+)(?:\/|$)/.exec(fault.pointer ?? '') ?? [];
    const item = index === undefined ? undefined : items[Number(index)];
    if (item !== undefined && !refused.has(item))
      refused.set(item, { id: item.id, problem: new Problem({ ...parts, errors: [fault] }) });
  }
  return refused;
}

export const partsOf = ({ limits }: StudioModel, items: readonly Item[]): readonly (readonly Item[])[] =>
  inParts(items, Math.min(limits.batchLimit, limits.bodyItems, limits.writeRows, MOST));
