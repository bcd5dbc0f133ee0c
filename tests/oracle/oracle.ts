/** The oracle: a service in memory that says what the real one must answer to a request, whatever it is. */
import { COUNT_MODES } from '../../engine/descriptor/descriptor.ts';
import { isObject, type JsonObject, type JsonValue, pointer } from '../../engine/json.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import {
  admit,
  admitQuery,
  failWhere,
  header,
  idempotencyKey,
  isPreflight,
  itemFaults,
  JSON_TYPE,
  mediaType,
  readBody,
  refuseConditions,
  type CallSetting,
} from './admission.ts';
import { writeJson } from './template.ts';
import { type Call, CSV, itemPath, NDJSON, pathOf, takesBody, uniquesOf } from './call.ts';
import type { Condition, Deployment, Expectation } from './case.ts';
import { reported } from './effects.ts';
import { listed, type ListRequest, representAll, type SummaryRequest, type ViewRequest } from './reads.ts';
import { summarize } from './summaries.ts';
import {
  checkPreconditions,
  checkTags,
  completed,
  compressed,
  type Headers,
  names,
  options,
  preflight,
  representation,
  tagged,
} from './envelope.ts';
import { newTime, stampChanged } from './values.ts';
import { Refusal, refuse, refuseAt } from './refusal.ts';
import {
  changedTables,
  copyWorld,
  holderOf,
  type Id,
  idIn,
  isField,
  removeRows,
  replaceWorld,
  rowsTouched,
  type World,
  type WriteOutcome,
} from './world.ts';
import { type BodyWrite, faultsBeside } from './body-faults.ts';
import { write } from './writes.ts';

export interface OracleAnswer {
  readonly expect: Expectation;
  /** The tables that it changes; undefined where that depends on what an adopted record holds. */
  readonly changes: readonly string[] | undefined;
  /** The records that it made or changed. */
  readonly ids?: readonly Id[];
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

/** A list, or a summary of it. */
function getList(setting: CallSetting): Expectation {
  const { world, call } = setting;
  const { type, list = {}, view = {}, summary, links } = call;
  const preferredCount = COUNT_MODES.find((mode) => header(call, 'prefer') === `count=${mode}`);
  const asked = preferredCount ?? type.count;
  // Groups are counted or not. An estimate is told, whoever asked for it.
  const count = summary && asked === 'estimated' ? 'exact' : asked;
  const isTold = summary ? preferredCount === count : preferredCount !== undefined || count === 'estimated';
  const media = mediaType(call);
  const { total, body, text } = summary ? summarized(setting, summary, media) : shownList(setting, view, media);
  const known = isKnown(world, list);
  const totals = { exact: known ? String(total) : '{total}', estimated: '{*}', none: null };
  const headers = {
    'content-type': media === CSV ? `${CSV}; charset=utf-8; header=present` : media,
    ...(isTold ? { 'preference-applied': `count=${count}` } : {}),
    'x-total-count': totals[count],
  };
  const shown = known || list.limit === 0 ? { body: text } : {};
  const isPage = list.limit !== undefined;
  const page = isPage ? { links: links ?? { first: '*' } } : links ? { links } : {};
  if (!isPage && !summary) return { status: 200, headers, ...shown, ...page };
  const content = tagged(call, summary, body, count === 'exact' ? total : undefined);
  return withTag(setting, content, headers, { ...page, ...shown });
}

/** What a list holds, and how it is written. */
interface AnsweredList {
  readonly total: number;
  readonly body: readonly JsonObject[];
  readonly text: JsonValue;
}

function shownList({ world, call: { type, list = {} } }: CallSetting, view: ViewRequest, media: string): AnsweredList {
  const { rows, total } = listed(world, type, list);
  const body = representAll(world, type, rows, view);
  return { total, body, text: bodyAs(media, type, body) };
}

function summarized({ world, call }: CallSetting, summary: SummaryRequest, media: string): AnsweredList {
  const { groups, total } = summarize(world, call.type, summary, call.list ?? {});
  return { total, body: groups, text: groupsAs(media, summary, groups) };
}

/** What else is in the database is not known: only a list of named records has a known total. */
const isKnown = ({ alone }: World, { filters = [] }: ListRequest): boolean =>
  alone || filters.some((filter) => 'operator' in filter && filter.operator === 'in' && filter.ids !== undefined);

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
  const { identifier, defaultVariant, relations } = type;
  const links = [...relations.values()].filter(
    ({ shown, link, target }) => shown && link.at === 'source' && target.identifier.inRecord,
  );
  const shown = [...defaultVariant.fields, ...links].map(({ name }) => name);
  return `${[...(identifier.inRecord ? [identifier.name] : []), ...shown].join(',')}\r\n`;
}

/** A write is answered with the record, or without, as the client prefers it. */
function answerWrite(
  { call }: CallSetting,
  status: number,
  body: JsonValue | undefined,
  headers: Headers,
): Expectation {
  const prefer = header(call, 'prefer');
  const applied = { ...headers, ...(prefer === undefined ? {} : { 'preference-applied': prefer }) };
  if (prefer?.endsWith('return=minimal') && status === 201) return { status, headers: applied, empty: true };
  return prefer?.endsWith('return=minimal')
    ? { status: 204, headers: applied, empty: true }
    : body === undefined
      ? { status, headers: applied, empty: true }
      : { status, headers: { ...applied, 'content-type': JSON_TYPE }, body };
}

const etag = ({ type, tag = '*' }: Call): string | null => (type.preconditions === 'off' ? null : `"{${tag}}"`);

/** What a write asks for, but for its records. */
function bodyWrite({ call, deployment }: CallSetting, body: JsonValue): Omit<BodyWrite, 'update'> {
  const { type, method, view = {} } = call;
  const { fields } = type.variants.get(view.variant ?? '') ?? type.defaultVariant;
  const ways = { patch: method === 'PATCH', upsert: call.on !== undefined };
  return { type, body, fields, writeRows: deployment.writeRows ?? Infinity, ...ways };
}

/** Under an Idempotency-Key once, however often it is sent; a retry shows the records that are left, as they are now. */
function once({ world, call }: CallSetting, body: JsonValue, work: () => WriteOutcome): WriteOutcome {
  const key = call.dryRun ? undefined : idempotencyKey(call);
  if (key === undefined) return work();
  const request = `${call.method} ${pathOf(call)} ${writeJson(body)}`;
  const before = world.keys.get(key);
  if (before && before.request !== request) refuse('idempotency-conflict');
  if (before)
    return {
      ...before,
      shown: before.ids.map((id) => representation(world, call, id)).filter((one) => one !== undefined),
    };
  const outcome = work();
  world.keys.set(key, { ...outcome, request });
  return outcome;
}

/** Makes records, or changes them: one, or those of an array. */
function putRecords(setting: CallSetting, id: Id | undefined): readonly [Expectation, readonly Id[]] {
  const { world, call } = setting;
  const { type, method } = call;
  const read = readBody(setting);
  const { body, strange } = read;
  const known = itemFaults(setting, read);
  const isArray = Array.isArray(body);
  const update = id !== undefined || (method !== 'POST' && call.on === undefined);
  const items: readonly JsonObject[] = isArray ? body : [body as JsonObject];
  const records = items.map((item, index) => ({
    id: isArray && update ? idIn(item, type) : id,
    body: item,
    path: isArray ? [index] : [],
  }));
  const written = { ...bodyWrite(setting, body), update };
  const others = records.filter((_, index) => !strange.includes(index));
  if (known.length > 0) refuseAt('invalid-body', faultsBeside(known, world, others, written));
  const { ids, shown, isNew } = once(setting, body, () => {
    const there = records.map((one) => (one.id === undefined ? undefined : representation(world, call, one.id)));
    const ready = (): void => (isArray ? checkTags(setting, read.tags, there) : checkPreconditions(setting, there[0]));
    const made = write(world, records, written, ready);
    return { ids: made, shown: made.map((one) => representation(world, call, one) ?? {}), isNew: !update };
  });
  const [first = '', answered] = [ids[0], shown[0]];
  const status = isNew ? 201 : 200;
  const left = ids.length > 0 && shown.length === 0 ? undefined : shown;
  if (isArray) return [answerWrite(setting, status, left, { location: null, etag: null }), ids];
  if (answered && call.tag !== undefined) world.tags.set(call.tag, tagged(call, answered));
  const location = isNew ? { location: itemPath(type, first) } : {};
  return [answerWrite(setting, status, answered, { ...location, etag: answered ? etag(call) : null }), ids];
}

/** The records with the unique values are updated, or made: one, or those of an array, one after the other. */
function putUnique(setting: CallSetting, on: readonly string[]): readonly [Expectation, readonly Id[]] {
  const { world, call } = setting;
  const { type } = call;
  const read = readBody(setting);
  const members = uniquesOf(type).find((all) => all.length === on.length && all.every(({ name }) => on.includes(name)));
  if (!members) return refuse('invalid-query', { parameters: ['on'] });
  const known = itemFaults(setting, read);
  if (read.strange.length > 0) refuse('invalid-body');
  refuseAt('invalid-body', known);
  const items: readonly JsonObject[] = [read.body].flat();
  const isNamed = (member: Field | Relation, item: JsonObject): boolean => {
    const value = item[member.name] ?? null;
    if (isField(member) || !isObject(value)) return value !== null;
    return (value[member.target.identifier.name] ?? null) !== null;
  };
  if (!members.every((member) => items.every((item) => isNamed(member, item)))) refuse('invalid-body');
  const before = copyWorld(world);
  const found = items.map((item) => holderOf(before, type, members, item));
  if (!Array.isArray(read.body)) return putRecords(setting, found[0]);
  const { ids, shown } = once(setting, read.body, () => {
    const isRepeated = (id: Id | undefined, index: number): boolean => id !== undefined && found.indexOf(id) < index;
    const repeated = found.flatMap((id, index) =>
      isRepeated(id, index) ? pointer([index, members[0]?.name ?? '']) : [],
    );
    refuseAt('invalid-body', repeated);
    const there = found.map((id) => (id === undefined ? undefined : representation(world, call, id)));
    checkTags(setting, read.tags, there);
    const made = items.flatMap((item, index) => {
      const written = { ...bodyWrite(setting, read.body), update: found[index] !== undefined };
      return write(world, [{ id: found[index], body: item, path: [index] }], written, () => undefined);
    });
    return { ids: made, shown: made.map((id) => representation(world, call, id) ?? {}), isNew: false };
  });
  const left = ids.length > 0 && shown.length === 0 ? undefined : shown;
  return [answerWrite(setting, 200, left, { location: null, etag: null }), ids];
}

function deleteRecord(setting: CallSetting, id: Id): Expectation {
  const { world, call, deployment } = setting;
  return answerDeletion(setting, () => {
    const there = representation(world, call, id);
    if (there === undefined) return refuse('record-not-found');
    checkPreconditions(setting, there);
    if (rowsTouched(world, call.type, [id]) > (deployment.writeRows ?? Infinity)) refuse('too-many-rows');
    return { ids: [id], body: there };
  });
}

/** All that the filters find, or nothing. */
function deleteFound(setting: CallSetting): Expectation {
  const { world, call, deployment } = setting;
  const { type, list = {} } = call;
  refuseConditions(call);
  const [, most] = /^max-affected=(\d+)(, return=minimal)?$/.exec(header(call, 'prefer') ?? '') ?? [];
  if (most === undefined) refuse('invalid-header', { headers: ['Prefer'] });
  return answerDeletion(setting, () => {
    const ids = listed(world, type, { filters: list.filters ?? [] }).rows.map(({ id }) => id);
    const { writeRows = Infinity } = deployment;
    const affected = rowsTouched(world, type, ids);
    if (affected > Math.min(Number(most), writeRows))
      refuse(Number(most) > writeRows ? 'too-many-rows' : 'too-many-affected');
    return { ids, body: { deleted: ids.length, affected } };
  });
}

/** `find` refuses the request, or says what goes, and what is answered. */
function answerDeletion(
  setting: CallSetting,
  find: () => { readonly ids: readonly Id[]; readonly body: JsonObject },
): Expectation {
  const { world, call } = setting;
  const { shown } = once(setting, null, () => {
    const { ids, body } = find();
    const before = copyWorld(world);
    removeRows(world, call.type, ids);
    stampChanged(world, before, newTime(world));
    return { ids: [], shown: [body], isNew: false };
  });
  return answerWrite(setting, 200, shown[0], { etag: null });
}

function carryOut(setting: CallSetting): readonly [Expectation, (readonly Id[])?] {
  const { call } = setting;
  if (isPreflight(call)) return [preflight(setting)];
  admit(setting);
  if (call.method === 'OPTIONS') return [options(setting)];
  admitQuery(setting);
  failWhere(setting);
  const { method, id } = call;
  if (call.on) return putUnique(setting, call.on);
  if (takesBody(call)) return putRecords(setting, id);
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
    const [expect, ids] = carryOut(setting);
    if (call.dryRun) return { expect: finish(reported(call, expect, { before: world, after: copy })), changes: [] };
    const changes = changedTables(world, copy);
    replaceWorld(world, copy);
    return { expect: finish(expect), changes, ...(ids === undefined ? {} : { ids }) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, problem, headers } = error;
    return { expect: finish({ status, headers, problem }), changes: [] };
  }
}
