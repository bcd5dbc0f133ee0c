/** The oracle: a service in memory that says what the real one must answer to a request, whatever it is. */
import { COUNT_MODES } from '../descriptor/descriptor.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import {
  admit,
  admitQuery,
  CSV,
  failWhere,
  header,
  isPreflight,
  JSON_TYPE,
  mediaType,
  NDJSON,
  readBody,
  type CallSetting,
} from './admission.ts';
import { writeJson } from './template.ts';
import { type Call, itemPath, takesBody } from './call.ts';
import type { Condition, Expectation } from './case.ts';
import type { Deployment } from './deployment.ts';
import { reported } from './effects.ts';
import { listed, type ListRequest, representAll, type SummaryRequest } from './reads.ts';
import { summarize } from './summaries.ts';
import { newTime, stampChanged } from './stamps.ts';
import { completed, compressed, type Headers, options, preflight } from './envelope.ts';
import { Refusal, refuse } from './refusal.ts';
import {
  changedTables,
  copyWorld,
  type Id,
  removeRows,
  replaceWorld,
  rowOf,
  rowsTouched,
  type World,
} from './world.ts';
import { write } from './writes.ts';

export interface OracleAnswer {
  readonly expect: Expectation;
  /** The tables that it changes; undefined where that depends on what an adopted record holds. */
  readonly changes: readonly string[] | undefined;
  /** The record that it made. */
  readonly id?: Id;
}

/** A record as the view of a request shows it; undefined where there is none. */
export const representation = (
  world: World,
  { type, view = {} }: Pick<Call, 'type' | 'view'>,
  id: Id,
): JsonObject | undefined => {
  const row = rowOf(world, type, id);
  return row && representAll(world, type, [row], view)[0];
};

/** What an entity tag stands for: the same text, the same tag. */
const tagged = ({ type, list, view }: Call, ...content: readonly unknown[]): string =>
  JSON.stringify([type.name, list ?? {}, view ?? {}, content]);

/** Whether If-Match or If-None-Match names the tag. Weak ones and those of a coding only do where nothing is written. */
function names(world: World, value: string, content: string, weakly: boolean): boolean {
  const listedTags = value.split(',').map((one) => one.trim());
  return listedTags.some((one) => {
    const [, weak, name = ''] = /^(W\/)?"\{(.*?)\}(-\w+)?"$/.exec(one) ?? [];
    return one === '*' || (world.tags.get(name) === content && (weakly || weak === undefined));
  });
}

/** `there`: what GET of the same address would answer; undefined where nothing is there. */
function checkPreconditions({ world, call }: CallSetting, there: JsonObject | undefined): void {
  const [match, noneMatch] = [header(call, 'if-match'), header(call, 'if-none-match')];
  const fail = (name: string): never => refuse('precondition-failed', { headers: [name] });
  if (match === undefined && call.unguarded && call.type.preconditions === 'required')
    refuse('precondition-required', { headers: ['If-Match'] });
  if (match !== undefined && (there === undefined || !names(world, match, tagged(call, there), false)))
    fail('If-Match');
  if (noneMatch !== undefined && there !== undefined && names(world, noneMatch, tagged(call, there), true))
    fail('If-None-Match');
}

/** An answer with a tag: the whole, or 304 where the client knows it. The same content has the same tag again. */
function withTag(
  { world, call }: CallSetting,
  content: string,
  headers: Headers,
  rest: Omit<Expectation, 'headers' | 'status'>,
): Expectation {
  const isTagged = call.type.preconditions !== 'off';
  if (isTagged && call.tag !== undefined) world.tags.set(call.tag, content);
  const name = call.tag ?? [...world.tags].find((entry) => entry[1] === content)?.[0] ?? '*';
  const etag = isTagged ? `"{${name}}${codingOf(call, rest)}"` : null;
  const noneMatch = header(call, 'if-none-match');
  if (isTagged && noneMatch !== undefined && names(world, noneMatch, content, true))
    return { status: 304, headers: { etag }, empty: true };
  return { status: 200, headers: { ...headers, etag }, ...rest };
}

/** What the tag of a compressed answer ends in. */
function codingOf(call: Call, expect: Pick<Expectation, 'body'>): string {
  const coding = compressed(call, JSON.stringify(expect.body ?? '').length);
  return coding === null || coding === undefined ? '' : `-${coding}`;
}

function getRecord(setting: CallSetting, id: Id): Expectation {
  const { world, call } = setting;
  const body = representation(world, call, id);
  if (body === undefined) return refuse('record-not-found');
  return withTag(setting, tagged(call, body), { 'content-type': JSON_TYPE }, { body });
}

function getList(setting: CallSetting): Expectation {
  const { world, call } = setting;
  const { type, list = {}, view = {}, summary, links } = call;
  if (summary) return getSummary(setting, summary);
  const { rows, total } = listed(world, type, list);
  const body = representAll(world, type, rows, view);
  const preferredCount = COUNT_MODES.find((mode) => header(call, 'prefer') === `count=${mode}`);
  const count = preferredCount ?? type.count;
  // An estimate is told, whoever asked for it.
  const isTold = preferredCount !== undefined || count === 'estimated';
  const media = mediaType(call);
  const known = isKnown(world, list);
  const totals = { exact: known ? String(total) : '{total}', estimated: '{*}', none: null };
  const headers = {
    'content-type': media === CSV ? `${CSV}; charset=utf-8; header=present` : media,
    ...(isTold ? { 'preference-applied': `count=${count}` } : {}),
    'x-total-count': totals[count],
  };
  const shown = known || list.limit === 0 ? { body: bodyAs(media, type, body) } : {};
  const page = list.limit === undefined ? {} : { links: links ?? { first: '*' } };
  if (list.limit === undefined) return { status: 200, headers, ...shown, ...(links ? { links } : {}) };
  return withTag(setting, tagged(call, body, count === 'exact' ? total : undefined), headers, { ...page, ...shown });
}

/** What else is in the database is not known: only a list of named records has a known total. */
const isKnown = ({ alone }: World, { filters = [] }: ListRequest): boolean =>
  alone || filters.some((filter) => 'operator' in filter && filter.operator === 'in' && filter.ids !== undefined);

function getSummary(setting: CallSetting, summary: SummaryRequest): Expectation {
  const { world, call } = setting;
  const { type, list = {}, links } = call;
  const { groups, total } = summarize(world, type, summary, list);
  const media = mediaType(call);
  const preferredCount = COUNT_MODES.find((mode) => header(call, 'prefer') === `count=${mode}`);
  const isTold = preferredCount !== undefined && preferredCount !== 'estimated';
  const known = isKnown(world, list);
  const isCounted = (preferredCount ?? type.count) !== 'none';
  const headers = {
    'content-type': media === CSV ? `${CSV}; charset=utf-8; header=present` : media,
    ...(isTold ? { 'preference-applied': `count=${preferredCount}` } : {}),
    'x-total-count': isCounted ? (known ? String(total) : '{total}') : null,
  };
  const shown = known || list.limit === 0 ? { body: groupsAs(media, summary, groups) } : {};
  const page = list.limit === undefined ? (links ? { links } : {}) : { links: links ?? { first: '*' } };
  return withTag(setting, tagged(call, summary, groups, isCounted && total), headers, { ...page, ...shown });
}

function groupsAs(media: string, { by, measure }: SummaryRequest, groups: readonly JsonObject[]): JsonValue {
  if (media === JSON_TYPE) return groups;
  if (media === NDJSON) return groups[0] ?? '';
  const cells = (group: JsonObject): readonly string[] =>
    [group['by'], group['measures']].flatMap((part) => Object.values(part ?? {}).map(String));
  return [[...by, ...measure], ...groups.map(cells)].map((line) => `${line.join(',')}\r\n`).join('');
}

function bodyAs(media: string, type: RecordType, records: readonly JsonObject[]): JsonValue {
  if (media === JSON_TYPE) return records;
  // One line is JSON by itself.
  if (media === NDJSON) return records[0] ?? '';
  const { identifier, defaultVariant } = type;
  return `${[...(identifier.inRecord ? [identifier.name] : []), ...defaultVariant.fields.map(({ name }) => name)].join(',')}\r\n`;
}

/** A write is answered with the record, or without, as the client prefers it. */
function answerWrite({ call }: CallSetting, status: number, body: JsonObject, headers: Headers): Expectation {
  const prefer = header(call, 'prefer');
  const applied = { ...headers, ...(prefer === undefined ? {} : { 'preference-applied': prefer }) };
  return prefer?.endsWith('return=minimal')
    ? { status: 204, headers: applied, empty: true }
    : { status, headers: { ...applied, 'content-type': JSON_TYPE }, body };
}

const etag = ({ type, tag = '*' }: Call): string | null => (type.preconditions === 'off' ? null : `"{${tag}}"`);

function putRecord(setting: CallSetting, id: Id | undefined): readonly [Expectation, Id] {
  const { world, call } = setting;
  const { type, method, view = {} } = call;
  const body = readBody(setting);
  const { fields } = type.variants.get(view.variant ?? '') ?? type.defaultVariant;
  const { writeRows = Infinity } = setting.deployment;
  const written = { type, body, fields, writeRows, update: id !== undefined, patch: method === 'PATCH' };
  const key = call.dryRun ? undefined : header(call, 'idempotency-key');
  const before = key === undefined ? undefined : world.keys.get(key);
  if (before && before.body !== writeJson(body)) refuse('idempotency-conflict');
  const there = id === undefined ? undefined : representation(world, call, id);
  const made = before?.id ?? write(world, id, written, () => checkPreconditions(setting, there));
  const shown = before?.shown ?? representation(world, call, made) ?? {};
  if (key !== undefined) world.keys.set(key, { body: writeJson(body), id: made, shown });
  if (call.tag !== undefined) world.tags.set(call.tag, tagged(call, shown));
  const location = id === undefined ? { location: itemPath(type, made) } : {};
  return [answerWrite(setting, id === undefined ? 201 : 200, shown, { ...location, etag: etag(call) }), made];
}

function deleteRecord(setting: CallSetting, id: Id): Expectation {
  const { world, call, deployment } = setting;
  const there = representation(world, call, id);
  if (there === undefined) return refuse('record-not-found');
  checkPreconditions(setting, there);
  if (rowsTouched(world, call.type, [id]) > (deployment.writeRows ?? Infinity)) refuse('too-many-rows');
  const before = copyWorld(world);
  removeRows(world, call.type, [id]);
  stampChanged(world, before, newTime(world));
  return answerWrite(setting, 200, there, { etag: null });
}

/** All that the filters find, or nothing. */
function deleteFound(setting: CallSetting): Expectation {
  const { world, call, deployment } = setting;
  const { type, list = {} } = call;
  const conditions = ['If-Match', 'If-None-Match'].filter((name) => header(call, name.toLowerCase()) !== undefined);
  if (conditions.length > 0) refuse('invalid-header', { headers: conditions });
  const [, most] = /^max-affected=(\d+)(, return=minimal)?$/.exec(header(call, 'prefer') ?? '') ?? [];
  if (most === undefined) refuse('invalid-header', { headers: ['Prefer'] });
  const ids = listed(world, type, { filters: list.filters ?? [] }).rows.map(({ id }) => id);
  const { writeRows = Infinity } = deployment;
  const affected = rowsTouched(world, type, ids);
  if (affected > Math.min(Number(most), writeRows))
    refuse(Number(most) > writeRows ? 'too-many-rows' : 'too-many-affected');
  const before = copyWorld(world);
  removeRows(world, type, ids);
  stampChanged(world, before, newTime(world));
  return answerWrite(setting, 200, { deleted: ids.length, affected }, { etag: null });
}

function carryOut(setting: CallSetting): readonly [Expectation, Id?] {
  const { call } = setting;
  if (isPreflight(call)) return [preflight(setting)];
  admit(setting);
  if (call.method === 'OPTIONS') return [options(setting)];
  admitQuery(setting);
  failWhere(setting);
  const { method, id } = call;
  if (takesBody(call)) return putRecord(setting, id);
  if (id === undefined) return [method === 'DELETE' ? deleteFound(setting) : getList(setting)];
  return [method === 'DELETE' ? deleteRecord(setting, id) : getRecord(setting, id)];
}

/** What an answer to HEAD has is what GET's has, without what follows the headers. */
function withoutBody(expect: Expectation): Expectation {
  const { body: _, problem: __, ...rest } = expect;
  return { ...rest, empty: true };
}

/** What the service must answer; the world is then what it is after the request. */
export function answer(world: World, call: Call, deployment: Deployment = {}, given?: Condition): OracleAnswer {
  const copy = copyWorld(world);
  const setting = { world: copy, call, deployment, given };
  const finish = (expect: Expectation): Expectation =>
    completed(setting, call.method === 'HEAD' ? withoutBody(expect) : expect);
  try {
    const [expect, id] = carryOut(setting);
    if (call.dryRun) return { expect: finish(reported(call, expect, { before: world, after: copy })), changes: [] };
    const changes = changedTables(world, copy);
    replaceWorld(world, copy);
    return { expect: finish(expect), changes, ...(id === undefined ? {} : { id }) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, problem, headers } = error;
    return { expect: finish({ status, headers, problem }), changes: [] };
  }
}
