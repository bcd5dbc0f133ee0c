/** Tokens of an OpenID provider that others wrote: who gets in with which role, and what its new keys do. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exchange } from '../../support/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

const ROLES = {
  editor: `role: editor\nread: { Note: true }\nwrite: { Note: true }\n`,
  reader: `role: reader\nread: { Note: { where: { public: true } } }\n`,
};
const NOTE = `type: Note
fields:
  text: { type: string }
  public: { type: boolean, default: false }
  author: { type: string, generated: createdBy }
`;

const folderWith = (files: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), 'oidc-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.yaml`), text);
  return folder;
};

let provider: ChildProcess;
let issuer: string;
let server: TestServer;
beforeAll(async () => {
  provider = fork('tests/nightly/oidc/provider.mjs', { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  [issuer] = (await once(provider, 'message')) as [string];
  const { text } = await exchange(issuer, 'GET /.well-known/openid-configuration');
  const { jwks_uri: jwks } = JSON.parse(text) as { jwks_uri: string };
  const issuers = `issuers:
  - issuer: ${issuer}
    audience: records
    jwks: ${jwks}
    role: { claim: groups, map: { staff: editor, guests: reader } }
`;
  server = await startTestServer({
    schemaDirectory: folderWith({ note: NOTE }),
    settings: { accessDirectory: folderWith({ ...ROLES, issuers }) },
  });
});
afterAll(async () => {
  await server.close();
  provider.kill();
});

async function tokenFor(client: string, resource = 'urn:records', alg = 'RS256'): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', scope: alg, ...(resource && { resource }) });
  const credentials = Buffer.from(`${client}:secret`).toString('base64');
  const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' };
  const { status, text } = await exchange(issuer, 'POST /token', { headers, body: form.toString() });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return (JSON.parse(text) as { access_token: string }).access_token;
}

async function ask(token: string, title: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await exchange(server.url, title, { headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, body: JSON.parse(answer.text) as unknown };
}

test.each(['RS256', 'ES256', 'EdDSA'])('a token that %s signs has the role of its group', async (alg) => {
  const clerk = await tokenFor('clerk', 'urn:records', alg);
  expect(await ask(clerk, 'GET /api/$me')).toMatchObject({ status: 200, body: { name: 'clerk', role: 'editor' } });
  const made = await ask(clerk, 'POST /api/notes', { text: alg, public: alg === 'ES256' });
  expect(made).toMatchObject({ status: 201, body: { author: 'clerk' } });
});

test('another group has another role, and no group none', async () => {
  const guest = await tokenFor('guest');
  expect(await ask(guest, 'GET /api/notes')).toMatchObject({ status: 200, body: [{ text: 'ES256' }] });
  expect(await ask(guest, 'POST /api/notes', { text: 'x' })).toMatchObject({ status: 403 });
  expect(await ask(await tokenFor('stranger'), 'GET /api/notes')).toMatchObject({ status: 403 });
});

test.each([
  ['for another audience', () => tokenFor('clerk', 'urn:other')],
  ['that is opaque', () => tokenFor('clerk', '')],
  ['whose payload was changed', async () => (await tokenFor('guest')).replace(/\.(...)/, '.eyJ9')],
])('a token %s is 401', async (_, token) => {
  expect(await ask(await token(), 'GET /api/notes')).toMatchObject({ status: 401 });
});

test('a token of a new key is accepted at once', async () => {
  const before = await tokenFor('clerk');
  const rotated = once(provider, 'message');
  provider.send('rotate');
  await rotated;
  const after = await tokenFor('clerk');
  expect(await ask(after, 'GET /api/$me')).toMatchObject({ status: 200 });
  // The key that signed it is published no more.
  expect(await ask(before, 'GET /api/$me')).toMatchObject({ status: 401 });
});
