/** The official SDK's client, over HTTP with both generations of the protocol, and over standard input and output. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createToken, parseTypes, tokenLine } from '../../engine/access/tokens.ts';
import type { JsonObject } from '../../engine/json.ts';
import { useCompiled } from '../support/compiled.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const compiled = useCompiled();
const tokens = { writer: createToken(), reader: createToken() };
const [all, none] = [parseTypes('*'), new Set<string>()];
const lines = [
  tokenLine({ name: 'writer', read: none, write: all }, tokens.writer),
  tokenLine({ name: 'reader', read: all, write: none }, tokens.reader),
];

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agents-'));
  server = await startTestServer({ settings: { tokens: lines.join(';') } });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const overHttp = (token: string) =>
  new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });

const overStdio = (database: string, ...options: readonly string[]) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [join(compiled.directory, 'engine/cli.js'), 'mcp', ...options],
    env: { SCHEMA_DIR: resolve('tests/fixtures/store'), DATABASE_URL: `sqlite:${join(folder, database)}` },
    stderr: 'pipe',
  });

const WAYS = [
  ['over HTTP, as of 2026', () => overHttp(tokens.writer), 'auto', '2026-07-28'],
  ['over HTTP, as of 2025', () => overHttp(tokens.writer), 'legacy', '2025-11-25'],
  ['over standard input and output, as of 2026', () => overStdio('new.db', '--write'), 'auto', '2026-07-28'],
  ['over standard input and output, as of 2025', () => overStdio('old.db', '--write', '*'), 'legacy', '2025-11-25'],
] as const;

async function use(client: Client, name: string, given: JsonObject): Promise<JsonObject> {
  const { content, isError = false } = await client.callTool({ name, arguments: { ...given } });
  const [first] = content;
  return { isError, ...(JSON.parse(first?.type === 'text' ? first.text : '') as JsonObject) };
}

describe.each(WAYS)('%s', (_title, transport, mode, version) => {
  let client: Client;
  beforeAll(async () => {
    client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(transport());
  });
  afterAll(() => client.close());

  test('it connects, and lists the tools', async () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect((await client.listTools()).tools).toHaveLength(9);
    expect(client.getInstructions()).toContain('list_types');
  });

  test('a nested create, a safe update, an outdated one, a deletion', async () => {
    const type = 'ShippingMarkup';
    const created = await use(client, 'create_record', {
      type,
      record: { markup_flat: '4.90', zone: { zone_name: 'Mainland' } },
    });
    expect(created).toMatchObject({ isError: false, record: { zone: { zone_name: 'Mainland' } } });
    const { markup_id: id = 0 } = created['record'] as { readonly markup_id?: number };
    const { etag = '' } = await use(client, 'get_record', { type, id, fields: ['markup_flat'] });
    const change = { type, id, changes: { markup_flat: '5.20' }, etag };
    expect(await use(client, 'update_record', change)).toMatchObject({
      isError: false,
      record: { markup_flat: '5.20' },
    });
    expect(await use(client, 'update_record', change)).toMatchObject({ isError: true, problem: 'precondition-failed' });
    const where = { 'zone.zone_name': { like: 'Main*' } };
    expect(await use(client, 'list_records', { type, where })).toMatchObject({
      total: 1,
      records: [{ markup_id: id }],
    });
    expect(await use(client, 'delete_record', { type, id })).toMatchObject({
      isError: false,
      deleted: { markup_id: id },
    });
  });

  test('a call that is refused says how to go on', async () => {
    expect(await use(client, 'create_record', { type: 'TaxClass', record: { positon: 1 } })).toMatchObject({
      isError: true,
      problem: 'invalid-body',
      errors: [{ pointer: '/positon' }],
      next: expect.stringContaining('describe_type'),
    });
  });

  test('many calls at once are all answered', async () => {
    const calls = Array.from({ length: 50 }, (_, at) => use(client, 'list_records', { type: 'TaxClass', offset: at }));
    expect((await Promise.all(calls)).every(({ isError }) => isError === false)).toBe(true);
  });
});

describe('rights', () => {
  test.each([
    ['of a token', () => overHttp(tokens.reader)],
    ['of records mcp without --write', () => overStdio('rights.db')],
  ])('%s: what they do not allow is neither offered nor done', async (_title, transport) => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport());
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('list_records');
    expect(names).not.toContain('create_record');
    expect(await use(client, 'create_record', { type: 'TaxClass', record: {} })).toMatchObject({
      isError: true,
      problem: 'forbidden',
    });
    await client.close();
  });

  test('a client without a token is refused', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    await expect(client.connect(overHttp('rec_unknown'))).rejects.toThrow(/401|Unauthorized/i);
  });
});

test('records mcp writes what start would serve, and ends with its client', async () => {
  const transport = overStdio('ends.db');
  const said: string[] = [];
  const client = new Client({ name: 'test', version: '1.0.0' });
  transport.stderr?.on('data', (piece: Buffer) => said.push(String(piece)));
  await client.connect(transport);
  await use(client, 'create_record', { type: 'TaxClass', record: { position: 7 } });
  await client.close();
  expect(said.join('')).toMatch(
    /^Serving the records of .*schema in sqlite:.*ends\.db over standard input and output\n$/,
  );
  const again = new Client({ name: 'test', version: '1.0.0' });
  await again.connect(overStdio('ends.db'));
  expect(await use(again, 'list_records', { type: 'TaxClass' })).toMatchObject({
    total: 1,
    records: [{ position: 7 }],
  });
  await again.close();
});
