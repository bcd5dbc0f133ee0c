/** `records suite` against a service that is right and one that is not; compiled, as users run it, once in each form. */
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { isObject, type JsonValue } from '../../engine/json/json.ts';
import { useCompiled } from '../support/compiled.ts';
import { loadModel } from '../support/model.ts';
import { createObserver, type Observer } from '../support/observer.ts';
import { runCommand } from '../support/project.ts';
import { startTestServer, useServer } from '../support/server.ts';
import { some } from '../support/whole.ts';

const SCHEMA = 'tests/fixtures/schemas/open-types';
const model = loadModel(SCHEMA);

const compiled = useCompiled();
let observer: Observer;
afterAll(() => observer?.close());
const server = useServer({ kind: 'sqlite', schemaDirectory: SCHEMA });
beforeAll(async () => void (observer = await createObserver(server.database, model)));

async function compiledSuite(...options: readonly string[]) {
  const running = compiled.run('engine/cli.js', ['suite', ...options], { SCHEMA_DIR: SCHEMA });
  const code = await running.ended;
  return { code, out: running.out(), err: running.err() };
}

const suite = (...options: readonly string[]) => runCommand('suite', options, { SCHEMA_DIR: SCHEMA });

async function lists(): Promise<ReadonlyMap<string, string>> {
  const paths = [...model.types.values()].filter(({ operations }) => operations.has('list')).map(({ path }) => path);
  const texts = await Promise.all(paths.map(async (path) => (await fetch(`${server.url}/api/${path}`)).text()));
  return new Map(paths.map((path, index) => [path, texts[index] ?? '']));
}

type Answered = Pick<http.IncomingMessage, 'statusCode' | 'headers'> & { readonly text: string };

/** A service in front of the service that changes its answers. */
async function lyingServer(lie: (answer: Answered, url: string) => Partial<Answered>): Promise<http.Server> {
  const lying = http.createServer((request, response) => {
    const { method = 'GET', url = '/', headers: sent } = request;
    const forward = http.request(`${server.url}${url}`, { method, headers: sent }, async (answer) => {
      const { statusCode, headers } = answer;
      const honest = { statusCode, headers, text: await text(answer) };
      const told = { ...honest, ...lie(honest, url) };
      if (told.text !== honest.text) delete told.headers['content-length'];
      response.writeHead(told.statusCode ?? 500, told.headers).end(told.text);
    });
    request.pipe(forward);
  });
  await new Promise<void>((done) => void lying.listen(0, '127.0.0.1', done));
  return lying;
}

describe('records suite', () => {
  it('URL reads and changes nothing', async () => {
    const before = await observer.snapshot();
    const { code, out } = await compiledSuite(server.url);
    expect(out).toMatch(/^Type +passed +failed +skipped\n/);
    expect(code).toBe(0);
    expect(await observer.snapshot()).toBe(before);
  });

  it('URL --write --yes names the types whose records stay, and removes the others', async () => {
    const before = await lists();
    const { code, out, err } = await suite(server.url, '--write', '--yes');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Service +\d+ +0 +0$/m)]);
    expect(await lists()).toEqual(before);
    const kept = [...model.types.values()].filter(({ operations }) => !operations.has('delete'));
    expect(err).toContain(`without a delete operation: ${kept.map(({ name }) => name).join(', ')}`);
  });

  it('names what it leaves out where few keys are possible, and keeps the records that have them', async () => {
    const few = 'tests/fixtures/schemas/few-keys';
    await using full = await startTestServer({ kind: 'sqlite', schemaDirectory: few });
    const languages = async () => (await fetch(`${full.url}/api/languages`)).json();
    const before = await languages();
    const ran = await runCommand('suite', [full.url, '--write', '--yes', '--type', 'Language'], { SCHEMA_DIR: few });
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('Skipped: Language: GET /api/languages/{id}') });
    expect([before, await languages()]).toEqual([expect.arrayContaining([expect.anything()]), before]);
  });

  it('--write asks first, and does nothing without a terminal', async () => {
    const before = await observer.snapshot();
    const { code, err } = await compiledSuite(server.url, '--write');
    expect(err).toContain('confirm with --yes');
    expect(code).toBe(1);
    expect(await observer.snapshot()).toBe(before);
  });

  it('--token and --read-token add checks of access', async () => {
    const [token, readToken] = [createToken(), createToken()];
    const tokens = [
      tokenLine({ name: 'all', read: 'all', write: 'all' }, token),
      tokenLine({ name: 'reader', read: 'all', write: new Set() }, readToken),
    ].join(';');
    await using guarded = await startTestServer({ kind: 'sqlite', schemaDirectory: SCHEMA, settings: { tokens } });
    const { code, out } = await compiledSuite(
      guarded.url,
      '--write',
      '--yes',
      '--json',
      '--token',
      token,
      '--read-token',
      readToken,
    );
    const titles = (JSON.parse(out) as readonly { readonly title: string }[]).map(({ title }) => title);
    expect([code, titles.filter((title) => / token$|may only read$/.test(title)).length]).toEqual([0, 4]);
    expect((await suite(guarded.url, '--token', createToken())).code).toBe(1);
  });

  it('a wrong response: exit code 1, with the request in the report and in JSON', async () => {
    const json = { 'content-type': 'application/json' };
    const lying = await lyingServer(({ statusCode }, url) =>
      /\/\d+(\?|$)/.test(url) && statusCode === 404 ? { statusCode: 200, headers: json, text: 'null' } : {},
    );
    const url = `http://127.0.0.1:${(lying.address() as AddressInfo).port}`;
    try {
      const people = await compiledSuite(url, '--type', 'Good');
      expect(people.code).toBe(1);
      expect(people.out).toContain(
        'GET /api/goods/4503599627370497\n    status\n      expected 404\n      actual   200 null',
      );
      const machines = await suite(url, '--type', 'Good', '--json');
      const results = JSON.parse(machines.out) as readonly JsonValue[];
      const failed = results.find((result) => isObject(result) && result['outcome'] === 'failed');
      expect(failed).toMatchObject({
        type: 'Good',
        request: 'GET /api/goods/4503599627370497',
        differences: [{ place: 'status', expected: '404' }],
      });
    } finally {
      lying.closeAllConnections();
      lying.close();
    }
  });

  const lies: readonly [string, (answer: Answered) => Partial<Answered>, string][] = [
    ['a list without links', ({ headers }) => ({ headers: { ...headers, link: '' } }), 'header link'],
    [
      'a time with a fraction of zeros',
      ({ text: all }) => ({ text: all.replaceAll(/(:\d\d)Z"/g, '$1.000Z"') }),
      '.000Z',
    ],
    ['a date that is left out', ({ text: all }) => ({ text: all.replaceAll(/"since":"[^"]*",?/g, '') }), '/since'],
  ];
  it.each(some(lies))('%s is found', async (_, lie, expected) => {
    const lying = await lyingServer(lie);
    const { code, out } = await suite(`http://127.0.0.1:${(lying.address() as AddressInfo).port}`, '--write', '--yes');
    lying.closeAllConnections();
    lying.close();
    expect([code, out]).toEqual([1, expect.stringContaining(expected)]);
  });

  it.each([
    [['nonsense'], 'URL must be the address of a service'],
    [[], 'URL is missing'],
    [['http://127.0.0.1:1'], 'No response from http://127.0.0.1:1'],
    [['http://127.0.0.1:1', '--type', 'Godo'], 'did you mean "Good"?'],
    [['--ulr', 'http://127.0.0.1:1'], "Unknown option '--ulr'"],
  ])('%j: %s', async (options, message) => {
    const { code, err } = await suite(...options);
    expect(err).toContain(message);
    expect(code).toBe(1);
  });
});
