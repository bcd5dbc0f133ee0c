/** The studio as it is served: its page, its scripts, and what a browser may do with them. */
import request from 'supertest';
import { buildStudio } from '../../deploy/studio.ts';
import { startTestServer, useServer } from '../support/server.ts';

let page: request.Response;
let script: string;
beforeAll(async () => void (await buildStudio()));
const server = useServer({ settings: { title: 'Records of <the> shop' } });
beforeAll(async () => {
  page = await request(server.url).get('/studio');
  [, script = ''] = /<script type="module" src="\.\/([^"]+)">/.exec(page.text) ?? [];
});

const nonceOf = ({ headers }: request.Response): string =>
  /'nonce-([^']+)'/.exec(String(headers['content-security-policy']))?.[1] ?? '';

it('the page has a nonce of its own for styles, and no script inside', async () => {
  expect([page.status, page.headers['cache-control']]).toEqual([200, 'no-store']);
  expect(page.headers['content-security-policy']).toMatch(/script-src 'self'; style-src 'nonce-[^']{22,}'; /);
  expect(page.headers['content-security-policy']).not.toContain('unsafe');
  expect(page.text).toContain(`<style nonce="${nonceOf(page)}">`);
  expect(page.text).toContain('data-title="Records of &lt;the&gt; shop"');
  expect(page.text.match(/<script[^>]*>(?!<\/script>)/)).toBe(null);
  expect(nonceOf(await request(server.url).get('/studio'))).not.toBe(nonceOf(page));
});

it('pictures are shown from the origins that are named, and no others', async () => {
  expect(page.headers['content-security-policy']).toContain("; img-src 'self' data:; ");
  await using other = await startTestServer({ settings: { imageOrigins: ['https://a.example', 'https://b.example'] } });
  const { headers } = await request(other.url).get('/studio/orders');
  expect(headers['content-security-policy']).toContain("; img-src 'self' data: https://a.example https://b.example; ");
});

describe('scripts', () => {
  it.each(['br', 'gzip', 'identity'])('are compressed at build, and never change: %s', async (coding) => {
    const answer = await fetch(`${server.url}/${script}`, { headers: { 'Accept-Encoding': coding } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'Accept-Encoding',
    });
    expect(answer.headers.get('content-encoding') ?? 'identity').toBe(coding);
    expect(await answer.text()).toMatch(/^import/);
  });

  it('the first page loads at most 330 KB, compressed', async () => {
    const names = [...page.text.matchAll(/(?:href|src)="\.\/(studio\/[^"]+\.js)"/g)].map(([, name = '']) => name);
    const sizes = await Promise.all(
      names.map(async (name) => {
        const { headers } = await fetch(`${server.url}/${name}`, { headers: { 'Accept-Encoding': 'gzip' } });
        return Number(headers.get('content-length'));
      }),
    );
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(330 * 1024);
  });
});

it.each([
  ['POST', '/studio', 405],
  ['GET', '/studio/', 308],
  ['GET', '/studio/studio.json', 404],
  ['GET', '/studio/of-a-former-build.js', 404],
  ['GET', '/studio/orders/5/edit', 200],
  ['POST', '/studio/orders', 405],
  ['GET', '/studio/..%2Fstudio.json', 404],
])('%s %s answers %d', async (method, path, status) => {
  expect((await fetch(server.url + path, { method, redirect: 'manual' })).status).toBe(status);
});

it.each([
  ['/studio', './'],
  ['/studio/orders?state=open', '../'],
  ['/studio/orders/5/edit', '../../../'],
  ['/studio/no.such/thing%2Fhere', '../../'],
])('the page at %s finds the service and its scripts at %s', async (path, root) => {
  const { text } = await request(server.url).get(path);
  expect(text).toContain(`data-root="${root}"`);
  expect(new URL(/ src="([^"]+)"/.exec(text)?.[1] ?? '', server.url + path).pathname).toBe(
    new URL(script, server.url).pathname.replace('/./', '/'),
  );
});

it('the start page links to it, unless STUDIO=off', async () => {
  expect((await request(server.url).get('/')).text).toContain('href="studio"');
  await using without = await startTestServer({ settings: { studio: false } });
  expect((await request(without.url).get('/')).text).not.toContain('href="studio"');
  expect((await request(without.url).get('/studio')).status).toBe(404);
});
