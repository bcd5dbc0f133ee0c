import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createEngine, type ListOptions, Problem, type RecordEngine } from '../../engine/index.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';

const SCHEMA = 'tests/fixtures/nested';

interface Owner {
  readonly id: number;
  readonly name: string | null;
  readonly rank: number;
  readonly things: readonly { readonly id: number; readonly name: string }[];
  readonly data: unknown;
}

let database: TestDatabase;
let engine: RecordEngine;
let server: Server;
let url: string;
beforeAll(async () => {
  database = await createDatabase();
  engine = await createEngine({ schemaDirectory: SCHEMA, databaseUrl: database.url, logLevel: 'silent' });
  server = createServer(engine.handler).listen(0);
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await engine.close();
  await database.remove();
});

const owners = () => engine.records<Owner>('Owner');

async function problemOf(call: Promise<unknown>): Promise<Problem> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Problem) return error;
  throw new Error('there was no problem', { cause: error });
}

async function overHttp(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const init = { method, headers: { 'content-type': 'application/json' } };
  const response = await fetch(url + path, body === undefined ? init : { ...init, body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

test('what is created is what HTTP shows, nested records included', async () => {
  const created = await owners().create({ rank: 1, name: 'one', things: [{ name: 'a' }, { name: 'b' }] });
  expect(created.things.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(await overHttp('GET', `/api/owners/${created.id}`)).toEqual(created);
  expect(await owners().get(created.id)).toEqual(created);
  expect(await owners().get(created.id, { fields: ['name', 'things.name'], include: 'things' })).toEqual(
    await overHttp('GET', `/api/owners/${created.id}?fields=name,things.name&include=things`),
  );
});

test('an update changes what it names, and a delete returns the record as it was', async () => {
  const { id } = await owners().create({ rank: 2, name: 'two', data: { a: 1, b: 2 } });
  const updated = await owners().update(id, { data: { b: 3 } });
  expect([updated.name, updated.data]).toEqual(['two', { b: 3 }]);
  expect(await owners().delete(id)).toEqual(updated);
  expect((await problemOf(owners().get(id))).code).toBe('record-not-found');
});

test('many are created or changed, all or none, and summarized', async () => {
  const made = await owners().createMany(
    [
      { rank: 901, name: 'm' },
      { rank: 902, name: 'm' },
    ],
    { fields: 'rank,name' },
  );
  expect(made.map(({ rank }) => rank)).toEqual([901, 902]);
  const changed = await owners().updateMany(
    made.map(({ id, rank }) => ({ id, rank: rank + 10 })),
    { fields: ['rank'] },
  );
  expect(changed.map(({ rank }) => rank)).toEqual([911, 912]);
  const where = { name: 'm' };
  const { groups, total } = await owners().summary({ by: 'name', measure: ['count', 'sum(rank)'], where });
  expect([groups, total]).toEqual([[{ by: { name: 'm' }, measures: { count: 2, 'sum(rank)': 1823 } }], 1]);
  expect((await owners().summary({ where, count: 'none' })).total).toBeUndefined();
  const [first] = made;
  const problem = await problemOf(owners().updateMany([{ id: first?.id, rank: 920 }, { id: 99_999 }]));
  expect([problem.code, problem.errors]).toMatchObject(['record-not-found', [{ pointer: '/1/id' }]]);
  expect((await problemOf(owners().createMany({ rank: 903 } as never))).code).toBe('invalid-body');
  expect((await problemOf(owners().createMany([{ rank: 0 }]))).errors).toMatchObject([{ pointer: '/0/rank' }]);
  expect((await problemOf(owners().summary({ measures: 'count' } as never))).message).toMatch(/did you mean "measure"/);
  for (const { id } of made) await owners().delete(id);
});

describe('lists', () => {
  beforeAll(async () => {
    for (let rank = 101; rank <= 105; rank += 1)
      await owners().create({ rank, name: rank % 2 === 0 ? 'even & fine' : 'odd + 1', things: [{ name: `t${rank}` }] });
  });
  const ranksOf = async (options: Parameters<ReturnType<typeof owners>['list']>[0]): Promise<readonly number[]> =>
    (await owners().list({ order: 'rank', ...options })).records.map(({ rank }) => rank);
  const some = { rank: { gte: 101, lte: 105 } };

  test.each([
    ['a value', { ...some, name: 'odd + 1' }, [101, 103, 105]],
    ['a value with characters that URLs escape', { ...some, name: 'even & fine' }, [102, 104]],
    ['operators', { rank: { gt: 102, lt: 105 } }, [103, 104]],
    ['a list of values', { rank: [101, 105, 999] }, [101, 105]],
    ['the operator in', { rank: { in: [102] } }, [102]],
    ['null', { ...some, name: null }, []],
    ['the text null', { $any: [{ name: 'null' }, { rank: 101 }] }, [101]],
    ['a pattern', { ...some, name: { like: 'EVEN*' } }, [102, 104]],
    ['a group', { $any: [{ rank: 101 }, { rank: 103, name: 'odd + 1' }] }, [101, 103]],
    ['related records', { things: { $some: [{ name: 't104' }] } }, [104]],
    ['a path', { 'things.name': 't102' }, [102]],
  ])('where: %s', async (_, where, ranks) => {
    expect(await ranksOf({ where })).toEqual(ranks);
  });

  test('pages by offset and by cursor, with their total', async () => {
    expect(await ranksOf({ where: some, limit: 2, offset: 1 })).toEqual([102, 103]);
    const first = await owners().list({ where: some, order: ['rank', 'desc'], limit: 2 });
    expect([first.records.map(({ rank }) => rank), first.total, first.previous]).toEqual([[105, 104], 5, undefined]);
    const second = await owners().list({ where: some, order: [['rank', 'desc']], limit: 2, after: first.next ?? '' });
    expect(second.records.map(({ rank }) => rank)).toEqual([103, 102]);
    const back = await owners().list({ where: some, order: 'rank desc', limit: 2, before: second.previous ?? '' });
    expect(back.records).toEqual(first.records);
    const uncounted = await owners().list({ where: some, limit: 2, count: 'none' });
    expect(uncounted.total).toBeUndefined();
  });

  test.each([
    ['an option that there is not', { were: {} }, 'Unknown option "were"; did you mean "where"?'],
    ['a filter that would filter nothing', { where: { rank: undefined } }, 'where.rank is undefined'],
    ['an empty list', { where: { rank: [] } }, 'where.rank is an empty list'],
    ['an empty group', { where: { $any: [{}] } }, 'where.$any[0] is empty'],
    ['paging among filters', { where: { limit: 1 } }, 'limit is an option of its own'],
    ['half a surrogate pair', { where: { name: '\ud800' } }, 'well-formed'],
    ['filters that are not an object', { where: null }, 'where is not an object of filters'],
    ['filters in a Map', { where: new Map([['rank', 1]]) }, 'where is not an object of filters'],
    ['a function', { where: { rank: () => 1 } }, 'where.rank is not a value to compare with'],
    ['an invalid date', { where: { name: new Date(Number.NaN) } }, 'where.name is not a value'],
    ['a list of objects', { where: { rank: { in: [{ a: 1 }] } } }, 'where.rank.in[0] is not a value to compare with'],
    ['a cursor without a limit', { after: 'x' }, 'after needs a limit: limit=20'],
    ['a set without a filter', { where: { things: 5 } }, 'such as where.things.$count.gte=1'],
    ['a list with null', { where: { rank: [1, null] } }, 'where.rank.in[1] is not a value'],
    ['a key with brackets', { where: { 'rank][gt': 0 } }, 'has no field "rank][gt"'],
    ['a key like that of a method', { where: { constructor: 0 } }, 'has no field "constructor"'],
    ['an order that is not a list', { order: { rank: 'desc' } }, 'order is neither a name nor a list of names'],
    ['a sign before a name', { order: '-rank' }, '"-rank" is not a field; for descending order write FIELD,desc'],
    ['options that are not an object', null, 'The options are not an object'],
    ['a limit below 0', { limit: -1 }, 'limit must be an integer from 0'],
    ['a limit in a list', { limit: [5] }, 'limit must be an integer from 0'],
    ['a cursor that is null', { after: null }, 'after must be a text'],
    ['a variant that is null', { variant: null }, 'variant must be a text'],
    ['fields in a list of lists', { fields: [['name']] }, 'fields must be a name or a list of names'],
    ['a signal that is null', { signal: null }, 'signal must be an AbortSignal'],
  ])('refuses %s', async (_, options, message) => {
    const problem = await problemOf(owners().list(options as ListOptions));
    expect([problem.code, problem.status]).toEqual(['invalid-query', 400]);
    expect(problem.message).toContain(message);
  });
});

test.each([
  ['GET', '/api/owners/999999', () => owners().get(999_999), undefined],
  ['GET', '/api/owners/0', () => owners().get(0), undefined],
  ['GET', '/api/owners/1.5', () => owners().get(1.5), undefined],
  ['GET', '/api/owners?_cnd[rnk]=1', () => owners().list({ where: { rnk: 1 } }), undefined],
  ['GET', '/api/owners?_cnd[orderBy]=rnk', () => owners().list({ order: 'rnk' }), undefined],
  ['GET', '/api/owners?fields=nme', () => owners().list({ fields: 'nme' }), undefined],
  ['POST', '/api/owners', () => owners().create({ nme: 1 }), { nme: 1 }],
  ['POST', '/api/owners', () => owners().create([1]), [1]],
  [
    'POST',
    '/api/owners',
    () => owners().create({ rank: 900, things: [{ id: 99_999 }] }),
    { rank: 900, things: [{ id: 99_999 }] },
  ],
  ['PUT', '/api/owners/999999', () => owners().update(999_999, { name: 'x' }), { name: 'x' }],
  ['DELETE', '/api/owners/999999', () => owners().delete(999_999), undefined],
])('%s %s has the same problem in process', async (method, path, call, body) => {
  const { code, status, message, errors } = await problemOf(call());
  const answer = await overHttp(method, path, body);
  expect({ type: `urn:problem:${code}`, status, message, errors }).toEqual({
    type: answer['type'],
    status: answer['status'],
    message: answer['message'],
    errors: answer['errors'] ?? [],
  });
});

test('ifMatch refuses a write to a changed record', async () => {
  const { id } = await owners().create({ rank: 710, name: 'first' });
  const read = await owners().get(id);
  const ifMatch = owners().tagOf(read) ?? '';
  expect(`${(await fetch(`${url}/api/owners/${id}`)).headers.get('etag')}`).toBe(ifMatch);
  const second = await owners().update(id, { name: 'second' }, { ifMatch });
  expect((await problemOf(owners().update(id, { name: 'third' }, { ifMatch }))).code).toBe('precondition-failed');
  expect((await problemOf(owners().delete(id, { ifMatch }))).message).toMatch(/^ifMatch does not name the current/);
  await owners().delete(id, { ifMatch: owners().tagOf(second) ?? '' });
});

test.each([undefined, null, ['"x"'], 5])('%p is neither a tag nor an idempotency key', async (given) => {
  const { id } = await owners().create({ rank: 715 });
  const options: object = { ifMatch: given };
  const changes = { id, name: 'lost', '@etag': given };
  for (const call of [owners().update(id, changes, options), owners().delete(id, options)])
    expect((await problemOf(call)).message).toMatch(/^ifMatch must be a tag; tagOf has those of/);
  expect((await problemOf(owners().updateMany([changes]))).errors).toMatchObject([{ pointer: '/0/@etag' }]);
  const twice = { idempotencyKey: given as never };
  if (given !== undefined)
    expect((await problemOf(owners().create({}, twice))).message).toMatch(/^idempotencyKey must/);
  expect(await owners().delete(id)).toMatchObject({ name: null });
});

test('a record whose type has preconditions: off has no tag', async () => {
  const own = await createDatabase();
  const schemaDirectory = 'tests/fixtures/schemas/preconditions-off';
  const off = await createEngine({ schemaDirectory, databaseUrl: own.url, logLevel: 'silent' });
  const notes = off.records('Note');
  expect(notes.tagOf(await notes.create({}))).toBeUndefined();
  await off.close();
  await own.remove();
});

test.each([undefined, null, [2], { id: 2 }, true, '', Number.NaN, () => 2])('%p is no identifier', async (id) => {
  const given = id as unknown as number;
  for (const call of [owners().get(given), owners().update(given, { name: 'x' }), owners().delete(given)])
    expect((await problemOf(call)).code).toBe('invalid-identifier');
});

const looped: { self?: object } = {};
looped.self = looped;
const shared = [Number.NaN];
test.each<[string, unknown, string, string, string?]>([
  ['NaN', { rank: Number.NaN }, '/rank', '"rank" must be a value that JSON has, not NaN'],
  ['NaN in a nested record', { rank: 1, things: [{ 'a/b': Number.NaN }] }, '/things/0/a~1b', '"a/b" must be a value'],
  [
    'NaN at two places',
    { data: [shared, shared] },
    '/data/0/0',
    'Item 0 must be a value that JSON has, not NaN (and 1',
  ],
  ['Infinity', { data: { a: Infinity } }, '/data/a', 'The number is too large'],
  ['-Infinity', { data: [1, -Infinity] }, '/data/1', 'The number is too large'],
  ['undefined in an array', { data: [undefined] }, '/data/0', 'not undefined'],
  ['a function', { name: () => 'x' }, '/name', 'not a function'],
  ['a symbol', { name: Symbol('x') }, '/name', 'not a symbol'],
  ['a bigint', { rank: 5n }, '/rank', 'not a bigint'],
  ['an invalid date', { name: new Date(Number.NaN) }, '/name', 'not an invalid date'],
  ['a Map', { data: new Map([['a', 1]]) }, '/data', 'not an instance of Map'],
  ['a Set', { rank: 1, things: new Set([{}]) }, '/things', 'not an instance of Set'],
  ['a regular expression', { data: [/x/] }, '/data/0', 'not an instance of RegExp'],
  ['bytes', { data: new Uint8Array(2) }, '/data', 'not an instance of Uint8Array'],
  ['a Map as the record', new Map([['rank', 1]]), '', 'The body must be a value that JSON has, not an instance of Map'],
  ['a circle', looped, '', 'The body cannot be written as JSON: Converting circular', 'invalid-json'],
])('%s is refused where it is', async (_, record, pointer, message, code = 'invalid-body') => {
  const problem = await problemOf(owners().create(record as object));
  expect([problem.code, problem.errors[0]]).toMatchObject([code, { pointer }]);
  expect(problem.message).toContain(message);
});

test('a date is written as text, and keys that are undefined are left out', async () => {
  const made = await owners().create({ rank: 720, name: undefined, data: { at: new Date(0), none: undefined } });
  expect(made).toMatchObject({ name: null, data: { at: '1970-01-01T00:00:00.000Z' } });
});

test('close(), even twice, waits for running calls and refuses new ones', async () => {
  const own = await createDatabase();
  const closing = await createEngine({ schemaDirectory: SCHEMA, databaseUrl: own.url, logLevel: 'silent' });
  const records = closing.records('Owner');
  const begun = records.create({ rank: 1 });
  const closed = closing.close();
  expect((await begun)['rank']).toBe(1);
  await expect(records.create({ rank: 2 })).rejects.toThrow('The engine is closed');
  await Promise.all([closed, closing.close()]);
  await closing.close();
  await own.remove();
});

test('a signal stops a call', async () => {
  const reason = new Error('enough');
  await expect(owners().list({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test('an unknown type is refused with the nearest one', async () => {
  const problem = await problemOf(engine.records('Onwer').list());
  expect(problem.message).toBe('There is no type "Onwer"; did you mean "Owner"?');
});

test('a dry run keeps nothing, and tells what the write would do', async () => {
  const { id } = await owners().create({ rank: 7 });
  const { dryRun } = owners();
  const tried = [
    await dryRun.create({ rank: 8 }),
    await dryRun.createMany([{ rank: 8 }, { rank: 9 }]),
    await dryRun.update(id, { rank: 8 }),
    await dryRun.updateMany([{ id, rank: 8 }]),
    await dryRun.delete(id),
  ];
  expect(
    tried.map(({ answer, effects }) => [answer.status, effects.map(({ effect, count }) => [effect, count])]),
  ).toEqual([
    [201, [['created', 1]]],
    [201, [['created', 2]]],
    [200, [['changed', 1]]],
    [200, [['changed', 1]]],
    [200, [['deleted', 1]]],
  ]);
  expect(tried[2]?.answer.body).toMatchObject({ id, rank: 8 });
  expect(await owners().get(id)).toMatchObject({ rank: 7 });
  expect((await problemOf(dryRun.create({ rank: 0 }))).code).toBe('invalid-body');
});
