/** The oracle: a model of the service in memory, which predicts responses and changed tables. */
import { isObject, type JsonObject, type JsonValue } from '../../engine/json/json.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import type { BodyWrite } from './body-faults.ts';
import { type Call, itemPath, uniquesOf } from './call.ts';
import type { Expectation } from './case.ts';
import { listed, representAll } from './reads.ts';
import { Refusal, refuse } from './refusal.ts';
import { reference } from './template.ts';
import { newTime, stampChanged } from './values.ts';
import {
  changedTables,
  copyWorld,
  holderOf,
  type Id,
  idIn,
  isField,
  removeRows,
  replaceWorld,
  rowOf,
  rowsTouched,
  type World,
} from './world.ts';
import { write } from './writes.ts';

export interface OracleAnswer {
  readonly expect: Expectation;
  readonly changes: readonly string[];
}

interface Setting {
  readonly world: World;
  readonly call: Call;
}

const TYPE = { 'content-type': 'application/json' };
const tagOf = ({ preconditions }: RecordType): string | null => (preconditions === 'off' ? null : '"{*}"');

/** A record as the view of the request shows it; undefined where there is none. */
function representation({ world, call: { type, view = {} } }: Setting, id: Id): JsonObject | undefined {
  const row = rowOf(world, type, id);
  return row && representAll(world, type, [row], view)[0];
}

function getRecord(setting: Setting, id: Id): Expectation {
  const body = representation(setting, id) ?? refuse('record-not-found');
  return { status: 200, headers: { ...TYPE, etag: tagOf(setting.call.type) }, body };
}

function getList({ world, call: { type, list = {}, view = {} } }: Setting): Expectation {
  if ((list.limit ?? 0) > type.maxLimit) refuse('invalid-query');
  const { rows, total } = listed(world, type, list);
  const body = representAll(world, type, rows, view);
  return { status: 200, headers: { ...TYPE, 'x-total-count': String(total) }, body };
}

/** Options of a write without its records. */
function bodyWrite({ type, method, on }: Call, body: JsonValue): Omit<BodyWrite, 'update'> {
  return { type, body, fields: type.defaultVariant.fields, patch: method === 'PATCH', upsert: on !== undefined };
}

function putRecords(setting: Setting, id: Id | undefined): Expectation {
  const { world, call } = setting;
  const { type, method, body = {} } = call;
  const update = id !== undefined || (method !== 'POST' && call.on === undefined);
  const items = (Array.isArray(body) ? body : [body]) as readonly JsonObject[];
  const records = items.map((item, index) => ({
    id: Array.isArray(body) && update ? idIn(item, type) : id,
    body: item,
    path: Array.isArray(body) ? [index] : [],
  }));
  const ids = write(world, records, { ...bodyWrite(call, body), update });
  const shown = ids.map((one) => representation(setting, one) ?? {});
  const status = update ? 200 : 201;
  if (Array.isArray(body)) return { status, headers: { ...TYPE, location: null, etag: null }, body: shown };
  const location = update ? {} : { location: itemPath(type, ids[0] ?? '') };
  return { status, headers: { ...TYPE, ...location, etag: tagOf(type) }, body: shown[0] ?? {} };
}

/** The record with the unique values is updated, or made. */
function putUnique(setting: Setting, on: readonly string[]): Expectation {
  const { world, call } = setting;
  const { type } = call;
  const body = isObject(call.body) ? call.body : {};
  const members = uniquesOf(type).find((all) => all.length === on.length && all.every(({ name }) => on.includes(name)));
  if (!members) return refuse('invalid-query', { parameters: ['on'] });
  const isNamed = (member: Field | Relation): boolean => {
    const value = body[member.name] ?? null;
    if (isField(member) || !isObject(value)) return value !== null;
    return (value[member.target.identifier.name] ?? null) !== null;
  };
  if (!members.every(isNamed)) refuse('invalid-body');
  return putRecords(setting, holderOf(copyWorld(world), type, members, body));
}

function deleteRecord(setting: Setting, id: Id): Expectation {
  const body = representation(setting, id) ?? refuse('record-not-found');
  remove(setting, [id]);
  return { status: 200, headers: { ...TYPE, etag: null }, body };
}

function deleteFound(setting: Setting): Expectation {
  const { world, call } = setting;
  const { filters = [] } = call.list ?? {};
  const ids = listed(world, call.type, { filters }).rows.map(({ id }) => id);
  const affected = rowsTouched(world, call.type, ids);
  const prefer = call.headers?.['prefer'] ?? '';
  if (affected > Number(prefer.replace('max-affected=', ''))) refuse('too-many-affected');
  remove(setting, ids);
  const headers = { ...TYPE, 'preference-applied': prefer, etag: null };
  return { status: 200, headers, body: { deleted: ids.length, affected } };
}

function remove({ world, call: { type } }: Setting, ids: readonly Id[]): void {
  const before = copyWorld(world);
  removeRows(world, type, ids);
  stampChanged(world, before, newTime(world));
}

function carryOut(setting: Setting): Expectation {
  const { call } = setting;
  const { method, id, on } = call;
  if (on) return putUnique(setting, on);
  if (call.body !== undefined) return putRecords(setting, id);
  if (id === undefined) return method === 'DELETE' ? deleteFound(setting) : getList(setting);
  return method === 'DELETE' ? deleteRecord(setting, id) : getRecord(setting, id);
}

/** A dry run answers with a report, whose response is compared with that of the write which follows. */
function reported({ status }: Expectation, { given }: World): Expectation {
  const anything = (): JsonObject => reference(`dry run ${(given.count += 1)}`);
  return {
    status,
    headers: { 'content-type': DRY_RUN_TYPE, location: null, etag: null, 'preference-applied': null },
    body: { dryRun: true, answer: anything(), effects: anything() },
  };
}

const DRY_RUN_TYPE = 'application/vnd.dry-run+json';

export function answer(world: World, call: Call): OracleAnswer {
  const copy = copyWorld(world);
  try {
    const expect = carryOut({ world: copy, call });
    if (call.dryRun) return { expect: reported(expect, world), changes: [] };
    const changes = changedTables(world, copy);
    replaceWorld(world, copy);
    return { expect, changes };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, problem } = error;
    return { expect: { status, problem }, changes: [] };
  }
}
