import { readSettings } from '../../engine/settings/settings.ts';
import { exchange } from '../support/exchange.ts';
import { follow, HOST, PREFIX, usePublicServer } from '../support/public-url.ts';

const server = usePublicServer();

test.each([
  ['https://records.localhost/store/', 'https://records.localhost/store'],
  ['http://Records.localhost:8080', 'http://records.localhost:8080'],
  ['http://[::1]:80/', 'http://[::1]'],
  ['https://records.localhost./store', 'https://records.localhost/store'],
  ['https://records.localhost.:8443', 'https://records.localhost:8443'],
  ['https://[::1]:8443/a.', 'https://[::1]:8443/a.'],
  ['none', ''],
  ['https://a.localhost;b.localhost', undefined],
  ['https://a..localhost', undefined],
  ['/store', undefined],
  ['https://records.localhost?x', undefined],
  ['https://me@records.localhost', undefined],
  ['https://records.localhost/a//b', undefined],
  ['https://records.localhost/<a>', undefined],
])('%s: %s', (text, url) => {
  const read = (): string => readSettings({ PUBLIC_URL: text }).publicUrl;
  if (url === undefined) expect(read).toThrow(`PUBLIC_URL is "`);
  else expect(read()).toBe(url);
});

it('is what Location, Link, pages and the document follow', async () => {
  // As a proxy does that takes the prefix off.
  await follow((title, headers, body) =>
    exchange(server.url, title.replace(` ${PREFIX}`, ' '), {
      headers: { ...HOST, ...headers },
      ...(body === undefined ? {} : { body }),
    }),
  );
});

it('names a host that is allowed, among others', async () => {
  const status = async (host: string): Promise<number> =>
    (await exchange(server.url, 'GET /api/tax-classes/1', { headers: { host } })).status;
  expect([await status('records.localhost:8443'), await status('localhost')]).toEqual([200, 200]);
  expect(await status('other.example')).toBe(421);
});
