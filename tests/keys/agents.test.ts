/** Agents and keys of every kind: the tools take, show, filter, page and keep them. */
import type { JsonObject } from '../../engine/json/json.ts';
import { toolsOf, useTool } from '../mcp/agent.ts';
import { useServer } from '../support/server.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/keys', settings: { mcp: true } });
const ask = async (tool: string, given: object): Promise<JsonObject> => {
  const { isError, says } = await useTool(server.url, tool, given);
  return { isError, ...says };
};

const KEY = 'A/7 50% $ü';
const ORDER = '0192F0C1-2B3C-7D4E-8F90-A1B2C3D4E5F6';

test('an identifier is a text where some type has such keys', async () => {
  const get = (await toolsOf(server.url)).find(({ name }) => name === 'get_record');
  expect(get?.inputSchema.properties['id']?.type).toBe('string');
});

test.each([
  ['Customer', { key: KEY, name: 'Ada', currency: { code: 'EUR' } }, KEY, { name: 'Bea' }],
  ['Order', { id: ORDER, number: '1' }, ORDER.toLowerCase(), { number: '2' }],
  ['Currency', { code: 'XAU', title: 'Gold' }, 'XAU', { title: 'Au' }],
  ['Tag', { id: 77, word: 'new' }, '77', { word: 'old' }],
])('%s: created, read, changed by its tag, and deleted', async (type, record, id, changes) => {
  const tried = await ask('create_record', { type, record, dry_run: true });
  expect(tried).toMatchObject({ isError: false });
  const made = await ask('create_record', { type, record });
  expect(made).toMatchObject({ isError: false });
  expect(await ask('create_record', { type, record })).toMatchObject({ isError: true, problem: 'identifier-conflict' });
  const got = await ask('get_record', { type, id });
  expect(got).toMatchObject({ isError: false, record: made['record'] });
  const changed = await ask('update_record', { type, id, changes, etag: got['etag'] });
  expect(changed).toMatchObject({ isError: false, record: changes });
  expect(await ask('delete_record', { type, id, etag: got['etag'] })).toMatchObject({ isError: true });
  expect(await ask('delete_record', { type, id })).toMatchObject({ isError: false, deleted: changes });
  expect(await ask('get_record', { type, id })).toMatchObject({ isError: true, problem: 'record-not-found' });
});

test('lists are filtered by keys and paged in their order, and summaries show them', async () => {
  const records = ['b', 'a/b', 'Z', 'ä'].map((key) => ({ key, currency: { code: 'CHF' } }));
  expect(await ask('create_record', { type: 'Customer', records })).toMatchObject({ isError: false });
  const first = await ask('list_records', { type: 'Customer', limit: 3, fields: ['key'] });
  expect(first).toMatchObject({ total: 4, records: [{ key: 'Z' }, { key: 'a/b' }, { key: 'b' }] });
  expect(await ask('list_records', { type: 'Customer', after: first['next'], fields: ['key'] })).toMatchObject({
    records: [{ key: 'ä' }],
  });
  expect(
    await ask('list_records', { type: 'Customer', where: { key: { in: ['a/b', 'ä', 'none'] } }, fields: ['key'] }),
  ).toMatchObject({ total: 2 });
  expect(await ask('list_records', { type: 'Customer', where: { currency: 'CHF' } })).toMatchObject({ total: 4 });
  expect(await ask('summarize_records', { type: 'Customer', by: ['currency'] })).toMatchObject({
    groups: [{ by: { currency: { code: 'CHF' } } }],
  });
});

test.each([
  ['Order', '{0192f0c1-2b3c-7d4e-8f90-a1b2c3d4e5f6}', 'invalid-identifier'],
  ['Currency', 'eur', 'invalid-identifier'],
  ['Customer', '', 'invalid-identifier'],
  ['Tag', 'x', 'invalid-identifier'],
  ['Order', '00000000-0000-4000-8000-000000000000', 'record-not-found'],
])('%s %j: %s', async (type, id, problem) => {
  expect(await ask('get_record', { type, id })).toMatchObject({ isError: true, problem });
});
