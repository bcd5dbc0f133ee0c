/**
 * sqlmap finds nothing to inject into. It tries one place for each way in which a text of a request can reach a statement:
 * values of every type of field and every operator, names, groups, sets, orders, pages, views, summaries, identifiers,
 * headers and bodies. It is told which database it is.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { databaseKind } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { expectUnhurt, JSON_BODY, openTarget, type Target } from './target.ts';
import { describeWith, isLong, run } from './tools.ts';

const [LEVEL, RISK] = isLong ? ['3', '2'] : ['1', '1'];
/** T sleeps for seconds at each place. */
const TECHNIQUES = isLong ? 'BEUSTQ' : 'BEUSQ';
const DBMS = { sqlite: 'SQLite', postgres: 'PostgreSQL' }[databaseKind];
const REFUSALS = '400,404,409,412,415,422';

let directory: string;
beforeAll(() => void (directory = mkdtempSync(join(tmpdir(), 'sqlmap-'))));
afterAll(() => rmSync(directory, { recursive: true }));

/** What it says; `*` marks the places where it tries to inject. */
async function sqlmap(url: string, more: readonly string[] = []): Promise<string> {
  const bounds = ['--level', LEVEL, '--risk', RISK, '--technique', TECHNIQUES, '--threads', '4'];
  const manners = ['--batch', '--disable-coloring', '--flush-session', '--ignore-code', REFUSALS];
  return String(await run('sqlmap', ['-u', url, ...bounds, ...manners, '--output-dir', directory, ...more]));
}

const NOTHING = 'all tested parameters do not appear to be injectable';

const DEAL = {
  title: 'a',
  code: 'c1',
  units: 1,
  rate: 1.5,
  price: '1.50',
  won: true,
  sold_on: '2030-01-01',
  sold_at: '2030-01-01T00:00:00Z',
  extra: { a: 'b' },
  tags: ['t'],
  open_key: 'o',
  shop: { id: 1 },
  labels: [{ id: 1 }],
};

/** Marks every text in JSON. */
const marked = (body: unknown): string => JSON.stringify(body).replaceAll(/(?<=[^\\{,[:])"(?=[,}\]])/g, '*"');

/** A request, in whose URL, headers and body places are marked. */
interface Place {
  readonly request: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** What the gate tries. */
const SHORT: readonly Place[] = [
  { request: 'GET /api/deals?_cnd[title]=a*&_cnd[code]=c1*' },
  { request: 'GET /api/deals?_cnd[title*][eq*]=a' },
  { request: 'GET /api/deals?_cnd[$any][0*][labels][$some][0][name]=l*' },
  { request: 'GET /api/deals/$summary?by=title*&measure=sum(units*)&_cnd[orderBy]=title*' },
  { request: 'PUT /api/deals?on=code*', body: JSON.stringify(DEAL).replace('"c1"', '"c1*"') },
  { request: 'GET /api/deals/1*' },
];

const LONG: readonly Place[] = [
  {
    request:
      'GET /api/deals?_cnd[units]=1*&_cnd[rate]=1.5*&_cnd[price]=1.50*&_cnd[won]=true*&_cnd[sold_on]=2030-01-01*&_cnd[sold_at]=2030-01-01T00:00:00Z*&_cnd[shop]=1*&_cnd[shop.name]=s*',
  },
  {
    request:
      'GET /api/deals?_cnd[title][ne]=b*&_cnd[title][lt]=b*&_cnd[title][lte]=a*&_cnd[title][gt]=A*&_cnd[title][gte]=a*&_cnd[title][like]=a*&_cnd[title][in]=a*&_cnd[title][null]=false*',
  },
  {
    request:
      'GET /api/deals?_cnd[code][ne]=b*&_cnd[code][lt]=d*&_cnd[code][like]=c1*&_cnd[code][in]=c1*&_cnd[price][gt]=1*&_cnd[sold_at][lt]=2040-01-01T00:00:00Z*&_cnd[shop.name][like]=s*',
  },
  { request: 'GET /api/deals?_cnd[$any*][0][title]=a*&_cnd[$none][0][$all][0][units]=2*' },
  {
    request:
      'GET /api/deals?_cnd[labels*][$some*][0][name]=l*&_cnd[labels][$count][gte]=1*&_cnd[labels][$every][0][name]=l*&_cnd[labels][$none][0][name]=x*&_cnd[labels.name]=l*',
  },
  {
    request:
      'GET /api/deals?_cnd[orderBy][0]=title*&_cnd[orderBy][1]=asc*&_cnd[limit][0]=0*&_cnd[limit][1]=10*&fields=title*&include=shop*&variant=whole*',
  },
  { request: 'GET /api/deals?_cnd[limit][1]=1&after=CURSOR*' },
  {
    request:
      'GET /api/deals/$summary?by=day(sold_at*),shop*&measure=max(code*),min(price)&_cnd[limit][1]=5*&_cnd[title]=a*',
  },
  { request: 'PUT /api/deals?on=code', body: marked(DEAL) },
  { request: 'POST /api/deals?dryRun=true*', body: `[${marked(DEAL)}]` },
  {
    request: 'PATCH /api/deals',
    body: '[{"id":1,"title":"a*","@etag":"x*"},{"id":2,"open_key":"o*","extra":{"a":"b*"}}]',
  },
  { request: 'PATCH /api/deals/1', headers: ['If-Match: "x*"', 'If-None-Match: "x*"'], body: '{"title":"a"}' },
  { request: 'POST /api/deals', headers: ['Idempotency-Key: key*', 'Prefer: return=minimal*'], body: '{"title":"a"}' },
  { request: 'GET /api/deals/1', headers: ['X-Position: 0/1*', 'X-Request-Id: a*'] },
  {
    request: 'DELETE /api/deals?_cnd[title]=nothing*&dryRun=false*',
    headers: ['Prefer: max-affected=10'],
  },
];

const places = [...SHORT, ...(isLong ? LONG : [])];

describeWith('sqlmap', () => {
  let target: Target;
  beforeAll(async () => {
    target = await openTarget({}, 'tests/fixtures/injection');
    const made = [
      ['shops', { id: 1, name: 's' }],
      ['labels', { id: 1, name: 'l' }],
      ['deals', DEAL],
      ['deals', { ...DEAL, code: 'c2' }],
    ] as const;
    for (const [path, body] of made)
      await exchange(target.url, `POST /api/${path}`, { headers: JSON_BODY, body: JSON.stringify(body) });
  });
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

  async function cursor(): Promise<string> {
    const { headers } = await exchange(target.url, 'GET /api/deals?_cnd[limit]=0&_cnd[limit]=1');
    return /after=([^&>]*)/.exec(String(headers['link']))?.[1] ?? '';
  }

  test.each(places.map((place) => [place.request, place] as const))('nothing in %s', async (_, place) => {
    const [method = '', path = ''] = place.request.split(' ');
    const url = target.url + path.replace('CURSOR', await cursor());
    const said = await sqlmap(url, [
      '--dbms',
      DBMS,
      '--method',
      method,
      ...(place.headers ?? []).flatMap((header) => ['-H', header]),
      ...(place.body === undefined ? [] : ['--data', place.body, '-H', 'Content-Type: application/json']),
    ]);
    expect(said).toContain(NOTHING);
  });

  test('and the service is as it was', () => expectUnhurt(target));
});
