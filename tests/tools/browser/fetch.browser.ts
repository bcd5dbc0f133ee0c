/** A page of another origin: what its scripts may send and see. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { startBrowser, visit } from './chromium.ts';

let origin: Server;
let originUrl: string;
let browser: Browser;
beforeAll(async () => {
  origin = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<title>elsewhere</title>'),
  );
  await new Promise<void>((done) => void origin.listen(0, '127.0.0.1', done));
  originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  origin.close();
});

/** What a script does: a bit of everything, in one go. */
const script = async (url: string): Promise<unknown> => {
  const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer none', Prefer: 'return=representation' };
  const send = (path: string, options: RequestInit = {}): Promise<Response> => fetch(url + path, options);
  const create = (position: number, key: string): Promise<Response> =>
    send('/api/tax-classes', {
      method: 'POST',
      headers: { ...headers, 'Idempotency-Key': key },
      body: JSON.stringify({ position }),
    });
  const created = await create(1, 'one');
  const again = await create(1, 'one');
  await create(2, 'two');
  const path = created.headers.get('Location') ?? '';
  const tag = created.headers.get('ETag') ?? '';
  const list = await send('/api/tax-classes?_cnd[limit]=0&_cnd[limit]=1&_cnd[orderBy]=position&_cnd[position][gte]=0');
  const queryOf = (more: Record<string, string>): string => {
    const query = new URLSearchParams({ fields: 'position', include: '', '_cnd[position][gte]': '0', ...more });
    for (const value of ['0', '1']) query.append('_cnd[limit]', value);
    for (const value of ['position', 'desc']) query.append('_cnd[orderBy]', value);
    return query.toString();
  };
  const first = await send(`/api/tax-classes?${queryOf({})}`);
  const after = /[?&]after=([^&>]+)[^>]*>; rel="next"/.exec(first.headers.get('Link') ?? '')?.[1] ?? '';
  const second = await send(`/api/tax-classes?${queryOf({ after })}`, { headers: { Prefer: 'count=none' } });
  const varied = await send('/api/notifications?variant=C&_cnd[limit][1]=1');
  const updated = await send(path, { method: 'PUT', headers: { ...headers, 'If-Match': tag }, body: '{"position":5}' });
  const late = await send(path, { method: 'PATCH', headers: { ...headers, 'If-Match': tag }, body: '{"position":6}' });
  const known = await send(path, {
    headers: { 'If-None-Match': updated.headers.get('ETag') ?? '' },
  });
  const refused = await send('/api/tax-classes', { method: 'POST', headers, body: '{"position":"x"}' });
  const removed = await send(path, { method: 'DELETE' });
  return {
    created: [created.status, path],
    again: [again.status, again.headers.get('Location')],
    list: [
      list.status,
      await list.json(),
      list.headers.get('X-Total-Count'),
      list.headers.get('Link')?.includes('next'),
    ],
    pages: [await first.json(), await second.json(), second.headers.get('Preference-Applied')],
    varied: JSON.stringify(await varied.json()).includes('position'),
    updated: [updated.status, JSON.parse(await updated.text()).position],
    late: late.status,
    known: known.status,
    refused: [refused.status, JSON.parse(await refused.text()).errors[0]],
    removed: removed.status,
  };
};

const fetched = (page: Page, server: TestServer): Promise<unknown> => page.evaluate(script, server.url);

test('with CORS_ORIGINS of its own origin a script does everything', async () => {
  const server = await startTestServer({ settings: { corsOrigins: [originUrl] } });
  const { page, close } = await visit(browser);
  await page.goto(originUrl);
  const position = { id: 1, position: 1, providerOneVATRate: null, providerTwoVATRate: null };
  expect(await fetched(page, server)).toEqual({
    created: [201, '/api/tax-classes/1'],
    again: [201, '/api/tax-classes/1'],
    list: [200, [position], '2', true],
    pages: [[{ id: 2, position: 2 }], [{ id: 1, position: 1 }], 'count=none'],
    varied: false,
    updated: [200, 5],
    late: 412,
    known: 304,
    refused: [
      422,
      expect.objectContaining({ pointer: '/position', message: expect.stringContaining('must be an integer') }),
    ],
    removed: 200,
  });
  await close();
  await server.close();
});

test.each([[[]], [['https://shop.example.com']]])('with CORS_ORIGINS of %j it does nothing', async (corsOrigins) => {
  const server = await startTestServer({ settings: { corsOrigins } });
  const { page, complaints, close } = await visit(browser);
  await page.goto(originUrl);
  await expect(fetched(page, server)).rejects.toThrow('Failed to fetch');
  expect(complaints.join()).toContain('CORS policy');
  expect(await (await fetch(`${server.url}/api/tax-classes`)).json()).toEqual([]);
  await close();
  await server.close();
});
