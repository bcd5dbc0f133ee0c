/** The document that the studio reads: titles, labels, what can be asked of each type, and where its records are found. */
import { ALL_RIGHTS } from '../../engine/model/rights.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { modelDocument } from '../../engine/pages/model-document.ts';
import { atOnce } from '../support/document.ts';
import { exchange } from '../support/exchange.ts';
import { loadModel } from '../support/model.ts';
import { fixtureSchemas } from '../support/schemas.ts';
import { startTestServer } from '../support/server.ts';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';

interface Entry {
  readonly type: string;
  readonly title: { readonly one: string; readonly many: string };
  readonly fields: Readonly<Record<string, { readonly title: string; readonly isOrderIndexed: boolean }>>;
  readonly relations: Readonly<Record<string, object>>;
}

interface Chosen {
  readonly readOnly?: boolean;
  readonly chosenOn?: string;
}

const ABOUT = { title: 'Records', limits: readSettings({}) };

function documentOf(directory: string): Readonly<Record<string, Entry>> {
  const { types } = atOnce(modelDocument(loadModel(directory), ALL_RIGHTS, ABOUT, ''));
  return Object.fromEntries((types as unknown as readonly Entry[]).map((type) => [type.type, type]));
}

test('a label is one that the variant, or the relation, shows', () => {
  expect(documentOf('tests/fixtures/schemas/variants')['Article']).toMatchObject({ label: 'title' });
  expect(documentOf('tests/fixtures/schemas/two-relations-to-one-type')['Shipment']?.relations).toMatchObject({
    stops: { fields: ['city'], label: 'city' },
  });
});

test.each(fixtureSchemas)('the schema $name has one, with every type', ({ directory }) => {
  expect(Object.keys(documentOf(directory))).toEqual([...loadModel(directory).types.keys()]);
});

test.each([
  ['', '/api'],
  ['https://shop.localhost', '/api'],
  ['https://shop.localhost/records', '/records/api'],
])('PUBLIC_URL %j: records are at %s', async (publicUrl, api) => {
  await using server = await startTestServer({ settings: { publicUrl, title: 'Shop' } });
  const { status, headers, text } = await exchange(server.url, 'GET /studio/model.json');
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([200, 'application/json', 'no-cache']);
  expect(JSON.parse(text)).toMatchObject({ title: 'Shop', api, token: null, limits: { batchLimit: 1000 } });
  const again = { headers: { 'if-none-match': String(headers.etag) } };
  expect((await exchange(server.url, 'GET /studio/model.json', again)).status).toBe(304);
});

test('what a role may not choose is read-only, and what it may choose once says when', async () => {
  const shop = 'docs/examples/access/shop';
  const token = createToken();
  const identity = { name: 'anna', role: 'branch-manager', claims: ['branch=1'] };
  await using server = await startTestServer({
    schemaDirectory: `${shop}/schema`,
    settings: { accessDirectory: `${shop}/access`, tokens: tokenLine(identity, token) },
  });
  const { text } = await exchange(server.url, 'GET /studio/model.json', {
    headers: { authorization: `Bearer ${token}` },
  });
  const { types } = JSON.parse(text) as { readonly types: readonly Entry[] };
  const chosen = (name: string): object => {
    const entry = types.find(({ type }) => type === name);
    const members = Object.entries({ ...entry?.fields, ...entry?.relations }) as [string, Chosen][];
    return Object.fromEntries(
      members.map(([member, { readOnly, chosenOn }]) => [member, readOnly ? 'never' : (chosenOn ?? 'always')]),
    );
  };
  expect(chosen('Order')).toEqual({
    number: 'create',
    state: 'update',
    note: 'always',
    branch: 'never',
    customer: 'always',
    lines: 'always',
  });
  expect(chosen('Customer')).toMatchObject({ name: 'always' });
});

test('STUDIO=off answers 404', async () => {
  await using server = await startTestServer({ settings: { studio: false } });
  expect((await exchange(server.url, 'GET /studio/model.json')).status).toBe(404);
});
