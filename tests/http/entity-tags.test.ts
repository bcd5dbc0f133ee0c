import { exchangeJson, type Exchanged } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';
import fc from '../support/fast-check.ts';

const server = useServer();

const send = (title: string, body?: unknown, headers: Record<string, string> = {}): Promise<Exchanged> =>
  exchangeJson(server.url, title, body, headers);

const ok = async (title: string, body?: unknown): Promise<void> => {
  const { status, text } = await send(title, body);
  if (status >= 300) throw new Error(`${title}: ${text}`);
};

/** Everything that may show one and the same change. */
const URLS = (
  '/api/shipping-markups/1 /api/shipping-markups/1?include= ' +
  '/api/shipping-markups/1?include=zone.zone_elements,shipping_method.taxClass ' +
  '/api/shipping-markups/1?fields=zone.zone_name /api/shipping-markups/2 /api/shipping-markups ' +
  '/api/shipping-markups?fields=markup_flat&_cnd[limit]=0&_cnd[limit]=1 ' +
  '/api/shipping-markups?_cnd[zone.zone_name]=a /api/tax-classes/1'
).split(' ');

/** Of the record itself, of what it belongs to, of what lies behind that; some change nothing. */
const CHANGES: readonly (readonly [string, (value: string) => object])[] = [
  ['PUT /api/shipping-markups/1', (value) => ({ markup_flat: value === 'a' ? '1' : '1.0' })],
  ['PUT /api/shipping-markups/2', (value) => ({ markup_flat: value === 'a' ? '2' : '3' })],
  ['PUT /api/shipping-markups/2', (value) => ({ zone: { zone_id: 1, zone_name: value } })],
  ['PUT /api/shipping-markups/2', (value) => ({ shipping_method: { method_id: 1, code: value } })],
  ['PUT /api/shipping-markups/2', (value) => ({ zone: { zone_id: 1, zone_elements: [{ country: value }] } })],
  ['PUT /api/shipping-markups/1', (value) => ({ zone: value === 'a' ? null : { zone_id: 1 } })],
  ['PUT /api/tax-classes/1', (value) => ({ position: value === 'a' ? 1 : 2 })],
  ['PUT /api/tax-classes/1', (value) => ({ providerOneVATRate: value })],
  ['POST /api/shipping-markups', (value) => ({ markup_flat: value === 'a' ? '8' : '9' })],
];

const change = fc.tuple(fc.constantFrom(...CHANGES), fc.constantFrom('a', 'b'));

test('If-None-Match gets 304 exactly if GET would give the same response', async () => {
  await ok('POST /api/tax-classes', { position: 1 });
  const method = { code: 'x', taxClass: { id: 1 } };
  await ok('POST /api/shipping-markups', { zone: { zone_name: 'a' }, shipping_method: method });
  await ok('POST /api/shipping-markups', { zone: { zone_id: 1 }, shipping_method: { method_id: 1 } });
  const known = new Map<string, Exchanged>();
  for (const url of URLS) known.set(url, await send(`GET ${url}`));
  const outcomes = new Set<number>();
  await fc.assert(
    fc.asyncProperty(change, async ([[title, body], value]) => {
      await ok(title, body(value));
      for (const [url, before] of known) {
        const tag = String(before.headers.etag);
        const now = await send(`GET ${url}`);
        const conditional = await send(`GET ${url}`, undefined, { 'if-none-match': tag });
        const same = now.text === before.text && now.headers['x-total-count'] === before.headers['x-total-count'];
        expect([url, conditional.status]).toEqual([url, same ? 304 : 200]);
        expect(now.headers.etag === tag).toBe(same);
        expect(conditional.text).toBe(same ? '' : now.text);
        outcomes.add(conditional.status);
        known.set(url, now);
      }
    }),
    { numRuns: 60 },
  );
  expect([...outcomes].toSorted()).toEqual([200, 304]);
});

test.each(['PUT', 'PATCH', 'DELETE'])('of ten writers with the same tag one is first: %s', async (method) => {
  for (let round = 0; round < 10; round += 1) {
    const created = await send('POST /api/tax-classes', { position: round });
    const path = String(created.headers.location);
    const headers = { 'if-match': String(created.headers.etag) };
    const writers = Array.from({ length: 10 }, (_, index) =>
      send(`${method} ${path}`, method === 'DELETE' ? undefined : { position: 100 + index }, headers),
    );
    const answers = await Promise.all(writers);
    const first = answers.filter(({ status }) => status === 200);
    const lost = method === 'DELETE' ? 404 : 412;
    expect(first).toHaveLength(1);
    expect(answers.filter(({ status }) => status === lost)).toHaveLength(9);
    if (method !== 'DELETE') expect((await send(`GET ${path}`)).text).toBe(first[0]?.text);
  }
});

test('a weak tag names its cause, an unquoted tag is refused', async () => {
  const { headers } = await send('POST /api/tax-classes', { position: 1 });
  const [path, tag] = [String(headers.location), String(headers.etag)];
  const put = async (expected: string): Promise<readonly unknown[]> => {
    const { status, text } = await send(`PUT ${path}`, { position: 2 }, { 'if-match': expected });
    return [status, status === 200 ? undefined : JSON.parse(text).detail];
  };
  expect(await put(`W/${tag}`)).toEqual([412, expect.stringContaining('a proxy has put W/ in front of it')]);
  expect(await put(`"other", W/${tag}`)).toEqual([412, expect.stringContaining('nginx: "gzip off;"')]);
  expect(await put('"other"')).toEqual([412, expect.stringContaining('read it again')]);
  for (const bare of [tag.slice(1, -1), `'${tag.slice(1, -1)}'`, `${tag}x`, `*, ${tag}`, '', 'W/'])
    expect(await put(bare)).toEqual([400, expect.stringContaining('in its quotes, exactly as ETag has it')]);
  expect((await send(`GET ${path}`, undefined, { 'if-match': 'bare' })).status).toBe(400);
  expect((await send('POST /api/tax-classes', {}, { 'if-match': 'bare' })).status).toBe(400);
  expect((await send('POST /api/tax-classes', {}, { 'if-match': tag })).status).toBe(412);
  for (const good of [`W/${tag}, ${tag}`, '*']) expect(await put(good)).toEqual([200, undefined]);
});
