/** How many files of the engine a request runs through. */
import { Session } from 'node:inspector/promises';
import { exchange } from './support/exchange.ts';
import { useServer } from './support/server.ts';

/** Which functions of which file a request calls. */
type Calls = ReadonlyMap<string, ReadonlySet<string>>;

const JSON_TYPE = { 'Content-Type': 'application/json' };
const body = (number: number): string =>
  JSON.stringify({
    name: `owner ${number}`,
    things: [{ id: 1, name: `thing ${number}` }, { name: `new ${number}` }],
    tags: [{ word: `tag ${number}` }],
    lid: { color: `color ${number}` },
  });

const server = useServer({ schemaDirectory: 'tests/fixtures/nested', kind: 'sqlite' });
const session = new Session();
let number = 0;

beforeAll(async () => {
  const made = { rank: 1, things: [{ name: 'first' }], lid: { color: 'red' } };
  await exchange(server.url, 'POST /api/owners', { headers: JSON_TYPE, body: JSON.stringify(made) });
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
});

afterAll(() => session.disconnect());

const get = (): Promise<unknown> => exchange(server.url, 'GET /api/owners/1?include=things,lid');
const put = (): Promise<unknown> =>
  exchange(server.url, 'PUT /api/owners/1', { headers: JSON_TYPE, body: body((number += 1)) });

async function callsOf(request: () => Promise<unknown>): Promise<Calls> {
  // What is made at the first request of a kind, such as statements, is not part of its way.
  await request();
  await session.post('Profiler.takePreciseCoverage');
  await request();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const calls = result
    .filter(({ url }) => url.includes('/engine/'))
    .map(({ url, functions }) => {
      const called = functions.filter(
        ({ ranges, functionName }) => (ranges[0]?.count ?? 0) > 0 && isNamed(functionName),
      );
      return [sourceOf(url), new Set(called.map(({ functionName }) => functionName))] as const;
    });
  return new Map(calls.filter(([, called]) => called.size > 0));
}

/** Of a compiled file. */
const sourceOf = (url: string): string => url.slice(url.indexOf('/engine/') + 1).replace(/\.js$/, '.ts');

/** Imports are compiled to getters. */
const isNamed = (name: string): boolean => name !== '' && !name.startsWith('get ') && !name.startsWith('<');

const post = (): Promise<unknown> =>
  exchange(server.url, 'POST /api/things', {
    headers: JSON_TYPE,
    body: JSON.stringify({ name: `flat ${(number += 1)}` }),
  });
const list = (): Promise<unknown> => exchange(server.url, 'GET /api/owners?_cnd[rank][gte]=1&_cnd[limit]=0,5');

test.each([
  ['GET /api/owners/1?include=things,lid', get, 15],
  ['PUT /api/owners/1 with things, tags and a lid', put, 36],
  ['POST /api/things', post, 34],
  ['GET /api/owners?_cnd[rank][gte]=1&_cnd[limit]=0,5', list, 21],
] as const)('%s', async (_, request, mostFiles) => {
  const files = [...(await callsOf(request)).keys()];
  expect(files.length).toBeGreaterThan(5);
  expect({ count: files.length, files: files.length <= mostFiles ? [] : files }).toEqual({
    count: files.length,
    files: [],
  });
});
