/**
 * `records suite` as users run it: compiled, against a service that is right and one that is not. The schema is small:
 * tests/suite/suite replays the shipped one.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync, rmSync } from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { isObject, type JsonValue } from '../../engine/json.ts';
import { type Environment, useCompiled } from '../support/compiled.ts';
import { loadModel } from '../support/model.ts';
import { createObserver, type Observer } from '../support/observer.ts';
import { runCommand } from '../support/project.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const SCHEMA = 'tests/fixtures/schemas/open-types';
const model = loadModel(SCHEMA);
const JUNIT = join(tmpdir(), `suite-${process.pid}.xml`);

const compiled = useCompiled();
let server: TestServer;
let observer: Observer;

beforeAll(async () => {
  server = await startTestServer({ kind: 'sqlite', schemaDirectory: SCHEMA });
  observer = await createObserver(server.database, model);
});

afterAll(async () => {
  await observer?.close();
  await server?.close();
  rmSync(JUNIT, { force: true });
});

const suite = (...options: readonly string[]) => suiteIn({}, ...options);

async function suiteIn(environment: Environment, ...options: readonly string[]) {
  const running = compiled.run('engine/cli.js', ['suite', ...options], { SCHEMA_DIR: SCHEMA, ...environment });
  const code = await running.ended;
  return { code, out: running.out(), err: running.err() };
}

/** How many records each list has, and what is in it. */
async function lists(): Promise<ReadonlyMap<string, string>> {
  const paths = [...model.types.values()].filter(({ operations }) => operations.has('list')).map(({ path }) => path);
  const texts = await Promise.all(paths.map(async (path) => (await fetch(`${server.url}/api/${path}`)).text()));
  return new Map(paths.map((path, index) => [path, texts[index] ?? '']));
}

/** A service in front of the service that answers a record as null. */
async function lyingServer(): Promise<http.Server> {
  const lying = http.createServer((request, response) => {
    const { method = 'GET', url = '/' } = request;
    const forward = http.request(`${server.url}${url}`, { method, headers: request.headers }, (answer) => {
      const isRecord = /\/\d+(\?|$)/.test(url) && answer.statusCode === 404;
      response.writeHead(
        isRecord ? 200 : (answer.statusCode ?? 500),
        isRecord ? { 'content-type': 'application/json' } : answer.headers,
      );
      if (isRecord) response.end('null');
      else answer.pipe(response);
    });
    request.pipe(forward);
  });
  await new Promise<void>((done) => void lying.listen(0, '127.0.0.1', done));
  return lying;
}

describe('records suite', () => {
  it('--url reads and changes nothing', async () => {
    const before = await observer.snapshot();
    const { code, out } = await suite('--url', server.url);
    expect(out).toMatch(/^Type +passed +failed +skipped\n/);
    expect(code).toBe(0);
    expect(await observer.snapshot()).toBe(before);
  });

  it('--url --write --yes says what it leaves behind, leaves exactly that, and removes the rest', async () => {
    const before = await lists();
    const { code, err } = await suite('--url', server.url, '--write', '--yes');
    expect(code).toBe(0);
    expect(await lists()).toEqual(before);
    const announced = [...err.matchAll(/^ {2}(\w+): (\d+)$/gm)].map(([, type = '', count]) => [type, Number(count)]);
    const snapshot = await observer.snapshot();
    const there = [...model.types.values()]
      .filter(({ operations }) => operations.size === 0)
      .map(({ name, table }) => [name, (JSON.parse(snapshot.get(table) ?? '[]') as unknown[]).length] as const)
      .filter(([, count]) => count > 0);
    expect(Object.fromEntries(announced)).toEqual(Object.fromEntries(there));
  });

  it('--write asks first, and does nothing where nobody can be asked', async () => {
    const before = await observer.snapshot();
    const { code, err } = await suite('--url', server.url, '--write');
    expect(err).toContain('confirm with --yes');
    expect(code).toBe(1);
    expect(await observer.snapshot()).toBe(before);
  });

  it('says what it leaves out', async () => {
    const { err } = await suite('--url', server.url, '--write', '--yes', '--type', 'Good');
    expect(err).toMatch(/^Left out: \d+ cases that depend on settings of the service; --settings uses/m);
    const all = await suite('--url', server.url, '--write', '--yes', '--settings', '--type', 'Shop');
    expect(all.err).toMatch(/^Left out: \d+ cases that requests cannot set up \(.*database held, database full.*\)/m);
    expect(all.code).toBe(0);
  });

  it('--settings, --token and --read-token: what follows from settings, and who gets in', async () => {
    const [token, readToken] = [createToken(), createToken()];
    const tokens = [
      tokenLine({ name: 'all', read: 'all', write: 'all' }, token),
      tokenLine({ name: 'reader', read: 'all', write: new Set() }, readToken),
    ].join(';');
    const guarded = await startTestServer({
      kind: 'sqlite',
      schemaDirectory: SCHEMA,
      settings: { tokens, corsOrigins: ['https://a.example'], urlLimit: 1500 },
    });
    const known = { CORS_ORIGINS: 'https://a.example', URL_LIMIT: '1500' };
    const options = ['--url', guarded.url, '--write', '--yes', '--type', 'Good', '--json', '--settings'];
    const rights = ['--token', token, '--read-token', readToken];
    try {
      const { code, out } = await suiteIn(known, ...options, ...rights);
      const groups = new Set((JSON.parse(out) as readonly { readonly group: string }[]).map(({ group }) => group));
      expect([code, ...['access', 'cors', 'limits'].map((group) => groups.has(group))]).toEqual([0, true, true, true]);
      const other = await suiteIn({ ...known, CORS_ORIGINS: 'https://b.example' }, ...options, ...rights);
      expect([other.code, other.out]).toEqual([1, expect.stringContaining('header access-control-allow-origin')]);
      const shut = await suiteIn(known, ...options, '--token', createToken());
      expect(shut.code).toBe(1);
    } finally {
      await guarded.close();
    }
  });

  it('a service that lies: exit code 1, the request in the report, JSON and JUnit XML', async () => {
    const lying = await lyingServer();
    const url = `http://127.0.0.1:${(lying.address() as AddressInfo).port}`;
    try {
      const people = await suite('--url', url, '--type', 'Good', '--junit', JUNIT);
      expect(people.code).toBe(1);
      expect(people.out).toContain(
        'GET /api/goods/4503599627370497\n    status\n      expected 404\n      got      200 null',
      );
      expect(readFileSync(JUNIT, 'utf8')).toContain('<failure message="GET /api/goods/4503599627370497">');
      const machines = await suite('--url', url, '--type', 'Good', '--json');
      const results = JSON.parse(machines.out) as readonly JsonValue[];
      const failed = results.find((result) => isObject(result) && result['outcome'] === 'failed');
      expect(failed).toMatchObject({
        type: 'Good',
        failures: [{ differences: [{ place: 'status', expected: '404' }] }],
      });
    } finally {
      lying.closeAllConnections();
      lying.close();
    }
  });

  it.each([
    [['--url', 'nonsense'], '--url must be the address of a service'],
    [[], '--url must be the address of a service'],
    [['--url', 'http://127.0.0.1:1'], 'No response from http://127.0.0.1:1'],
    [['--url', 'http://127.0.0.1:1', '--type', 'Godo'], 'did you mean "Good"?'],
    [['--ulr', 'http://127.0.0.1:1'], "Unknown option '--ulr'"],
  ])('%j: %s', async (options, message) => {
    const { code, err } = await runCommand('suite', options, { SCHEMA_DIR: SCHEMA });
    expect(err).toContain(message);
    expect(code).toBe(1);
  });
});
