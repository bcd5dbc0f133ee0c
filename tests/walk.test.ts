/** The two ways of engine/README.md, compared with what two requests really call. */
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { section } from './support/markdown.ts';
import { exchange } from './support/exchange.ts';
import { startTestServer, type TestServer } from './support/server.ts';

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

let server: TestServer;
const session = new Session();
let number = 0;

beforeAll(async () => {
  server = await startTestServer({ schemaDirectory: 'tests/fixtures/nested', kind: 'sqlite' });
  const made = { rank: 1, things: [{ name: 'first' }], lid: { color: 'red' } };
  await exchange(server.url, 'POST /api/owners', { headers: JSON_TYPE, body: JSON.stringify(made) });
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
});

afterAll(async () => {
  session.disconnect();
  await server.close();
});

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

/** `[handler.ts](http/handler.ts) respond`: the functions that the section names, by file. */
function toldIn(heading: string): Calls {
  const text = section(readFileSync('engine/README.md', 'utf8'), heading);
  const told = [...text.matchAll(/`([\w, ]+)` in \[[^\]]+\]\(([^)]+)\)/g)];
  return new Map(told.map(([, names = '', file = '']) => [`engine/${file}`, new Set(names.split(', '))]));
}

describe.each([
  ['### A GET', get, 24],
  ['### A nested PUT', put, 56],
] as const)('%s', (heading, request, mostFiles) => {
  it('calls what the map says', async () => {
    const calls = await callsOf(request);
    const told = toldIn(heading);
    expect(told.size).toBeGreaterThan(5);
    const missing = [...told].flatMap(([file, names]) =>
      [...names].filter((name) => !calls.get(file)?.has(name)).map((name) => `${file}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it(`passes at most ${mostFiles} files`, async () => {
    const files = [...(await callsOf(request)).keys()];
    expect(files.length <= mostFiles ? [] : files).toEqual([]);
  });
});

test('what a body mentions is collected once, also if it is faulty', async () => {
  const faulty = JSON.stringify({ name: 1, things: [{ id: 1, name: 2 }, { name: 3 }], tags: [{ word: 4 }] });
  const { status } = await exchange(server.url, 'PUT /api/owners/1', { headers: JSON_TYPE, body: faulty });
  await session.post('Profiler.takePreciseCoverage');
  await exchange(server.url, 'PUT /api/owners/1', { headers: JSON_TYPE, body: faulty });
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const { functions = [] } = result.find(({ url }) => sourceOf(url) === 'engine/validation/mentions.ts') ?? {};
  const times = functions.find(({ functionName }) => functionName === 'rootsOf')?.ranges[0]?.count;
  expect([status, times]).toEqual([422, 1]);
});
