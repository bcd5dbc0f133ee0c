/** sqlmap finds nothing to inject into: not in the parameters of lists, not in identifiers, not in bodies. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { RecordType } from '../../engine/model/model.ts';
import { creationExample } from '../../engine/openapi/examples.ts';
import { exchange } from '../support/exchange.ts';
import { expectUnhurt, model, openTarget, type Target } from './target.ts';
import { describeWith, isLong, run } from './tools.ts';

const [LEVEL, RISK] = isLong ? ['3', '2'] : ['1', '1'];
/** T sleeps for seconds at each place. */
const TECHNIQUES = isLong ? 'BEUSTQ' : 'BEUSQ';

const listed = [...model.types.values()].filter(({ operations }) => operations.has('list'));
/** `TYPES=1` for the first one only. */
const types = listed.slice(0, Number(process.env['TYPES'] ?? (isLong ? listed.length : 1)));

let directory: string;
beforeAll(() => void (directory = mkdtempSync(join(tmpdir(), 'sqlmap-'))));
afterAll(() => rmSync(directory, { recursive: true }));

/** What it says; `*` marks the places where it tries to inject. */
async function sqlmap(url: string, more: readonly string[] = []): Promise<string> {
  const bounds = ['--level', LEVEL, '--risk', RISK, '--technique', TECHNIQUES, '--threads', '4'];
  const manners = ['--batch', '--disable-coloring', '--flush-session', '--ignore-code', '400,404,409,412,415,422'];
  return String(await run('sqlmap', ['-u', url, ...bounds, ...manners, '--output-dir', directory, ...more]));
}

const NOTHING = 'all tested parameters do not appear to be injectable';

/** Every kind of parameter of lists. */
function listUrls({ path, fields, relations, variants, identifier }: RecordType): readonly string[] {
  const comparable = [...fields.values()].filter(({ type }) => type.operators.length > 0);
  const [first = identifier.name] = comparable.map(({ name }) => name);
  const values = comparable.map(({ name, examples, type: { good }, ...field }) => {
    const value = examples[0] ?? good({ ...field, examples }, 1);
    return `_cnd[${name}]=${encodeURIComponent(String(value))}*`;
  });
  const view = [
    `fields=${first}*`,
    ...(relations.size > 0 ? [`include=${[...relations.keys()][0]}*`] : []),
    ...(variants.size > 1 ? ['variant=A*'] : []),
  ];
  const page = [`_cnd[orderBy][0]=${first}*`, '_cnd[orderBy][1]=asc*', '_cnd[limit][0]=0*', '_cnd[limit][1]=10*'];
  return [
    `/api/${path}?${[...values.slice(0, isLong ? undefined : 2), ...page, ...view].join('&')}`,
    `/api/${path}?_cnd[${first}][in]=1*&_cnd[${first}][null]=false*`,
    `/api/${path}?_cnd[${first}*][eq*]=1`,
  ];
}

describeWith('sqlmap', () => {
  let target: Target;
  beforeAll(async () => void (target = await openTarget()));
  afterAll(() => target.close());

  test('finds what is to be found', async () => {
    const database = new Database(':memory:');
    database.exec("create table t (name text); insert into t values ('a'), ('b')");
    const careless = createServer((request, response) => {
      const name = new URL(request.url ?? '', 'http://x').searchParams.get('name');
      try {
        response.end(JSON.stringify(database.prepare(`select * from t where name = '${name}'`).all()));
      } catch {
        response.writeHead(400).end();
      }
    }).listen(0, '127.0.0.1');
    await new Promise((listening) => careless.once('listening', listening));
    const { port } = careless.address() as AddressInfo;
    const found = await sqlmap(`http://127.0.0.1:${port}/?name=a*`, ['--dbms', 'SQLite']);
    careless.close();
    expect(found).toContain('identified the following injection point');
  });

  test.each(types.flatMap((type) => listUrls(type).map((url) => [url] as const)))('nothing in %s', async (url) => {
    expect(await sqlmap(target.url + url)).toContain(NOTHING);
  });

  test.each(types.map(({ path }) => [`/api/${path}/1*`] as const))('nothing in %s', async (url) => {
    expect(await sqlmap(target.url + url)).toContain(NOTHING);
  });

  test('nothing in a cursor', async () => {
    const [type] = types;
    for (const body of ['{"enabled":true}', '{}'])
      await exchange(target.url, `POST /api/${type?.path}`, { headers: { 'content-type': 'application/json' }, body });
    const { headers } = await exchange(target.url, `GET /api/${type?.path}?_cnd[limit]=0&_cnd[limit]=1`);
    const next = /<([^>]*after=[^>]*)>; rel="next"/.exec(String(headers['link']))?.[1];
    expect(next).toBeDefined();
    expect(await sqlmap(`${target.url}${next}*`)).toContain(NOTHING);
  });

  test.each(types.filter(({ operations }) => operations.has('create')).map((type) => [type.path, type] as const))(
    'nothing in bodies of %s',
    async (path, type) => {
      const body = JSON.stringify(creationExample(type)).replaceAll(/(?<=[^\\\]}])"(?=[,}])/g, '*"');
      const said = await sqlmap(`${target.url}/api/${path}`, ['--data', body, '-H', 'Content-Type: application/json']);
      expect(said).toContain(NOTHING);
    },
  );

  test('and the service is as it was', () => expectUnhurt(target));
});
