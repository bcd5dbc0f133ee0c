/**
 * All cases of a model: the cases of each record type (cases.ts), and here a table of requests to one type. Expectations
 * follow from simple rules, such as "a POST shows the values of its body"; nothing simulates the database.
 */
import type { Operation } from '../descriptor/descriptor.ts';
import { type JsonObject, pointer } from '../json/json.ts';
import { sampleOf } from '../model/identifier.ts';
import { identifierIn, type Model, type RecordType } from '../model/model.ts';
import type { ProblemCode } from '../problem.ts';
import { isIndependent, recordCases } from './cases.ts';
import requests from './requests.json';
import {
  among,
  ANY,
  type Case,
  collection,
  condition,
  type Expected,
  guard,
  item,
  missing,
  NEW_ID,
  problem,
  type Request,
  shows,
} from './run.ts';
import { type AddCase, Context, differing, isScarce, writable } from './samples.ts';

interface Options {
  readonly seed?: number;
  readonly guarded?: boolean;
  readonly hasReader?: boolean;
}

export function suiteOf(model: Model, options: Options = {}): readonly Case[] {
  const cases: Case[] = [];
  const samples = { seed: options.seed ?? 0 };
  const adder =
    (type: string): AddCase =>
    (title, isPossible, work) => {
      const run: Case['run'] = (expect) => work(new Context(expect, samples));
      if (isPossible) cases.push({ type, title, run });
    };
  const types = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  const [shown] = types.toSorted((a, b) => worth(b) - worth(a));
  if (shown) {
    rowCases(adder(''), shown, options);
    scenes(adder(''), shown);
  }
  for (const type of types) recordCases(adder(type.name), type);
  return cases;
}

/** Estimates how many requests and scenes apply to a type. */
const worth = (type: RecordType): number =>
  20 * type.operations.size +
  (type.identifier.inRecord ? 10 : 0) +
  (type.operations.has('create') ? 50 : 0) +
  (type.preconditions === 'optional' ? 8 : 0) -
  (isScarce(type) ? 40 : 0) -
  (type.identifier.by === 'client' ? 40 : 0) -
  [...type.relations.values()].filter(({ required }) => required).length;

const TOKENS: Readonly<Record<string, readonly [NonNullable<Request['token']>, string]>> = {
  nobody: ['none', 'with no token'],
  unknown: ['unknown', 'with an unknown token'],
  reader: ['reader', 'with a token that may only read'],
};

const headersIn = (parts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parts.map((part) => [part.slice(0, part.indexOf(':')).trim(), part.slice(part.indexOf(':') + 1).trim()]),
  );

const filled = (text: string, names: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\b[A-Z]+\b/g, (name) => names[name] ?? name);

function expectedIn(text: string, method: string): Expected {
  const [outcome = '', ...headers] = text.split(' ; ');
  const [status, code, ...locations] = outcome.split(' ');
  const isEmpty = method === 'HEAD' || status === '204' || status === '304';
  return {
    status: Number(status),
    ...(isEmpty ? { body: '' } : code === '[]' ? { body: [] } : {}),
    ...(code === undefined || code === '[]' ? {} : { code: code as ProblemCode }),
    ...(locations.length === 0 ? {} : code === 'invalid-body' ? { pointers: locations } : { parameters: locations }),
    headers: headersIn(headers),
  };
}

function isOffered(who: string, method: string, { operations, preconditions }: RecordType, options: Options): boolean {
  if (who === 'any') return true;
  if (who === 'bare') return operations.has('update') && preconditions === 'required';
  if (who === 'reader') return options.hasReader === true && operations.has(method === 'GET' ? 'get' : 'create');
  return who in TOKENS ? options.guarded === true : operations.has(who as Operation);
}

/**
 * Columns of requests.json: the operation that the type needs, or the token to send; the request; after `=>`, the response.
 * Headers follow `;`, the body `|`. LIST: URL of the records; ITEM: of a missing record; NEW: of a new one; TAG: its ETag;
 * ID: name of the identifier; OTHER: an identifier not in use.
 */
function rowCases(add: AddCase, type: RecordType, options: Options): void {
  const { name: key, inRecord } = type.identifier;
  const names = {
    LIST: collection(type),
    ITEM: item(type, missing(type)),
    NEW: item(type, NEW_ID),
    TOOMANY: String(type.maxLimit + 1),
    ID: encodeURIComponent(key),
  };
  for (const row of requests) {
    const [asked = '', answered = ''] = row.split(/ +=> /);
    const [, who = '', method = '', rest = ''] = /^(\w+) +(\w+) +(.*)$/.exec(asked) ?? [];
    const [request = '', text] = rest.split(/ \| ?/);
    const [address = '', ...headers] = request.split(' ; ');
    const [token, tokenTitle] = TOKENS[who] ?? [];
    const isNew = address === 'NEW';
    const isCompared = headers.some((header) => header.startsWith('if-') && header !== 'if-match: *');
    const isPossible =
      isOffered(who, method, type, options) &&
      (!isNew || type.operations.has('create')) &&
      (!isCompared || type.preconditions !== 'off') &&
      (!text?.includes('ID') || inRecord) &&
      // Where identifiers are texts, numbers are valid ones too.
      !(type.identifier.type.isText && answered.includes('invalid-identifier'));
    const title = [`${method} ${filled(address, names)}`, ...headers];
    if (text !== undefined) title.push(text || 'no body');
    if (tokenTitle !== undefined) title.push(tokenTitle);
    add(title.join(' ; '), isPossible, async (context) => {
      const made = isNew ? await newRecord(context, type) : {};
      const isGuarded = isNew && method !== 'GET' && method !== 'HEAD' && who !== 'bare' && !isCompared;
      const other = /\b(ITEM|OTHER)\b/.test(row) ? await context.free(type) : '';
      const own = { ID: key, OTHER: JSON.stringify(other) };
      const sent = {
        method,
        path: filled(address, { ...names, ITEM: item(type, other), ...made }),
        headers: { ...(isGuarded ? guard(type).headers : {}), ...headersIn(headers.map((one) => filled(one, made))) },
        ...(text === undefined ? {} : { text: filled(text, own) }),
        ...(token ? { token } : {}),
      };
      await context.expect(sent, expectedIn(filled(answered, own), method));
    });
  }
}

async function newRecord(context: Context, type: RecordType): Promise<{ readonly NEW: string; readonly TAG: string }> {
  const { id } = await context.obtain(type, { full: true });
  const NEW = item(type, id);
  if (!type.operations.has('get')) return { NEW, TAG: '' };
  const { headers } = await context.expect({ method: 'GET', path: NEW }, { status: 200 });
  return { NEW, TAG: headers['etag'] ?? '' };
}

/** Cases with several requests. */
function scenes(add: AddCase, type: RecordType): void {
  const { name: key, inRecord } = type.identifier;
  const [list, one] = [collection(type), item(type, NEW_ID)];
  const has = (...operations: readonly Operation[]): boolean => operations.every((some) => type.operations.has(some));
  const field = writable(type).find((some) => isIndependent(type, some));
  const canLock = has('create', 'get', 'update') && type.preconditions !== 'off';
  add(`PATCH ${one} twice with one If-Match`, canLock && field !== undefined, async (context) => {
    const { NEW: path, TAG: tag } = await newRecord(context, type);
    const { body: before } = await context.expect({ method: 'GET', path }, { status: 200 });
    const body = field ? { [field.name]: differing(field, (before as JsonObject)[field.name] ?? null) ?? null } : {};
    const request = { method: 'PATCH', body, headers: { 'if-match': tag } };
    const planned = { dryRun: true, answer: ANY, effects: ANY };
    await context.expect({ ...request, path: `${path}?dryRun=true` }, { status: 200, body: planned });
    await context.expect({ method: 'GET', path }, shows(type, 200, before));
    await context.expect({ ...request, path }, { status: 200 });
    await context.expect({ ...request, path }, problem(412, 'precondition-failed'));
    await context.expect({ method: 'GET', path, headers: { 'if-none-match': tag } }, { status: 200 });
  });
  const canShow = has('create', 'get') && inRecord;
  add(`GET ${one} with some of its fields, and without relations`, canShow, async (context) => {
    const { id, record } = await context.obtain(type, { full: true });
    const own = Object.entries(record).filter(([name]) => !type.relations.has(name));
    const some = own.slice(0, 2);
    const names = some.map(([name]) => encodeURIComponent(name)).join(',');
    for (const [query, entries] of Object.entries({ [`?fields=${names}`]: some, '?include=': own })) {
      const expected = { status: 200, body: Object.fromEntries(entries) };
      await context.expect({ method: 'GET', path: item(type, id, query) }, expected);
    }
  });
  add(`POST ${list} with the identifier of another record`, has('create') && inRecord, async (context) => {
    const { id } = await context.obtain(type);
    const body = await context.body(type, { values: { [key]: id } });
    const expected = problem(409, 'identifier-conflict', { pointers: [pointer([key])] });
    await context.expect({ method: 'POST', path: list, body }, expected);
  });
  const canRepeat = has('create') && inRecord && !isScarce(type);
  add(`POST ${list} twice with one Idempotency-Key, then with another body`, canRepeat, async (context) => {
    const body = await context.body(type, { full: true });
    const headers = { 'idempotency-key': `suite-${context.seed()}` };
    const request = { method: 'POST', path: list, body, headers };
    const first = await context.expect(request, { status: 201 });
    const { location = '' } = first.headers;
    await context.expect(request, shows(type, 201, first.body, { location }));
    await context.expect(
      { ...request, body: { ...body, [key]: sampleOf(type.identifier, context.seed()) } },
      problem(422, 'idempotency-conflict'),
    );
  });
  const canCount = inRecord && has('create', 'list', 'delete') && !isScarce(type);
  add(`POST ${list} with two records, then their pages, and DELETE of both`, canCount, async (context) => {
    const body = [await context.body(type), await context.body(type)];
    const made = await context.expect({ method: 'POST', path: list, body }, { status: 201 });
    const ids = (made.body as readonly JsonObject[]).map((record) => identifierIn(record, type) ?? '');
    const found = among(type, ids);
    const linked = async (path: string, at: number, relation: string): Promise<string> => {
      const expected = shows(type, 200, [{ [key]: ids[at] ?? 0 }], { link: `*rel="${relation}"*` });
      const { headers } = await context.expect({ method: 'GET', path }, expected);
      const links = [...(headers['link'] ?? '').matchAll(/<([^>]*)>; rel="([^"]*)"/g)];
      return links.find(([, , name]) => name === relation)?.[1] ?? '';
    };
    const query = [found, condition(['orderBy'], key), condition(['limit', '1'], 1)].join('&');
    const next = await linked(collection(type, query), 0, 'next');
    const previous = await linked(next, 1, 'prev');
    await linked(previous, 0, 'first');
    const summary = [{ by: {}, measures: { count: 2 } }];
    await context.expect({ method: 'GET', path: `${list}/$summary${found}` }, { status: 200, body: summary });
    if (type.preconditions === 'required') return;
    const request = { method: 'DELETE', path: collection(type, found) };
    const most = (count: number) => ({ ...request, headers: { prefer: `max-affected=${count}` } });
    await context.expect(request, problem(400, 'invalid-header'));
    await context.expect(most(0), problem(409, 'too-many-affected'));
    await context.expect(most(1000), { status: 200, body: { deleted: 2, affected: ANY } });
  });
}
