/** JWT of issuers: what is accepted, what never is, and keys that change. */
import { mkdtempSync, writeFileSync, cpSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { exchange } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const ISSUER = 'https://login.example.com/';
const AUDIENCE = 'records';

interface Signer {
  readonly kid: string;
  readonly key: CryptoKey;
  readonly jwk: object;
}

async function signer(kid: string, alg = 'ES256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

const published: { keys: object[]; asked: number; hangs: boolean } = { keys: [], asked: 0, hangs: false };
let one: Signer;
let two: Signer;
let keyServer: Server;
let server: TestServer;

const now = (): number => Math.floor(Date.now() / 1000);

const tokenOf = (
  { key, kid }: Signer,
  payload: JWTPayload = {},
  { alg = 'ES256', ...options }: { alg?: string; issuer?: string; audience?: string; exp?: number | null } = {},
): Promise<string> => {
  const token = new SignJWT({ sub: 'anna', groups: ['staff'], branch: 1, ...payload })
    .setProtectedHeader({ alg, kid })
    .setIssuer(options.issuer ?? ISSUER)
    .setAudience(options.audience ?? AUDIENCE);
  if (options.exp !== null) token.setExpirationTime(options.exp ?? now() + 60);
  return token.sign(key);
};

const ask = async (token: string, title = 'GET /api/$me') => {
  const { status, text, headers } = await exchange(server.url, title, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status, body: text === '' ? undefined : JSON.parse(text), challenge: headers['www-authenticate'] };
};

beforeAll(async () => {
  [one, two] = [await signer('one'), await signer('two')];
  published.keys = [one.jwk];
  keyServer = createServer((_, response) => {
    published.asked += 1;
    if (!published.hangs) response.end(JSON.stringify({ keys: published.keys }));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => keyServer.once('listening', resolve));
  const accessDirectory = mkdtempSync(join(tmpdir(), 'access-'));
  cpSync('tests/fixtures/roles/access', accessDirectory, { recursive: true });
  const jwks = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/jwks.json`;
  const role =
    '{ claim: groups, map: { bosses: editor, staff: branch-reader, ghosts: editor, 20: branch-reader, 10: editor, undefined: editor, null: editor, "": editor } }';
  const issuer = `issuers:\n  - issuer: ${ISSUER}\n    audience: ${AUDIENCE}\n    jwks: ${jwks}\n    role: ${role}\n`;
  writeFileSync(join(accessDirectory, 'issuers.yaml'), issuer);
  server = await startTestServer({
    schemaDirectory: 'tests/fixtures/roles/schema',
    settings: { accessDirectory, logLevel: 'silent' },
  });
});
afterAll(async () => {
  await server.close();
  await new Promise((resolve) => keyServer.close(resolve));
});

test('a token has the role of its groups, and the name of its subject', async () => {
  const { status, body } = await ask(await tokenOf(one));
  expect([status, body.name, body.role]).toEqual([200, 'anna', 'branch-reader']);
  expect((await ask(await tokenOf(one, { groups: ['staff', 'bosses'] }))).body.role).toBe('editor');
  // JavaScript puts integer-like keys first, the file does not.
  expect((await ask(await tokenOf(one, { groups: [10, 20] as never }))).body.role).toBe('branch-reader');
  expect((await ask(await tokenOf(one, { groups: ['20', 'bosses'] }))).body.role).toBe('editor');
});

test.each<[string, () => Promise<string>]>([
  ['another audience', () => tokenOf(one, {}, { audience: 'others' })],
  ['another issuer', () => tokenOf(one, {}, { issuer: 'https://evil.example.com/' })],
  ['expired', () => tokenOf(one, {}, { exp: now() - 31 })],
  ['without exp', () => tokenOf(one, {}, { exp: null })],
  ['not yet valid', () => tokenOf(one, { nbf: now() + 400 })],
  ['without a subject', () => tokenOf(one, { sub: undefined as never })],
  ['of another key under a known name', () => tokenOf({ ...two, kid: 'one' })],
  ['longer than 8 KiB', () => tokenOf(one, { more: 'x'.repeat(8192) })],
  ['of no text', async () => 'a.b.c'],
  [
    'without an algorithm',
    async () => {
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
      const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'anna', exp: now() + 60, groups: ['bosses'] };
      return `${part({ alg: 'none' })}.${part(claims)}.`;
    },
  ],
  [
    'with the public key as a secret',
    async () => {
      const secret = new TextEncoder().encode(JSON.stringify(one.jwk));
      return new SignJWT({ sub: 'anna', groups: ['bosses'] })
        .setProtectedHeader({ alg: 'HS256', kid: 'one' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setExpirationTime(now() + 60)
        .sign(secret);
    },
  ],
])('401: %s', async (_, make) => {
  const { status, challenge } = await ask(await make());
  expect([status, challenge]).toEqual([401, 'Bearer error="invalid_token"']);
});

test('30 seconds of skew are tolerated', async () => {
  expect((await ask(await tokenOf(one, {}, { exp: now() - 25 }))).status).toBe(200);
  expect((await ask(await tokenOf(one, { nbf: now() + 29 }))).status).toBe(200);
  expect((await ask(await tokenOf(one, { nbf: now() + 35 }))).status).toBe(401);
});

test('a token without a role is refused, and not asked to sign in again', async () => {
  expect((await ask(await tokenOf(one, { groups: ['others'] }))).status).toBe(403);
  expect((await ask(await tokenOf(one, { groups: undefined as never }))).status).toBe(403);
  expect((await ask(await tokenOf(one, { groups: [null] as never }))).status).toBe(403);
});

test('claims bind conditions', async () => {
  expect((await ask(await tokenOf(one), 'GET /api/branches')).body).toEqual([]);
});

test('a new key is fetched for the first token that names it, at most once a minute', async () => {
  expect((await ask(await tokenOf(one))).status).toBe(200);
  published.keys = [two.jwk];
  const before = published.asked;
  expect((await ask(await tokenOf(two))).status).toBe(200);
  expect(published.asked).toBe(before + 1);
  expect((await ask(await tokenOf(one))).status).toBe(401);
  expect((await ask(await tokenOf(await signer('three')))).status).toBe(401);
  expect(published.asked).toBe(before + 1);
});

test('a start does not wait for an address that hangs', async () => {
  published.hangs = true;
  const accessDirectory = mkdtempSync(join(tmpdir(), 'access-'));
  cpSync('tests/fixtures/roles/access', accessDirectory, { recursive: true });
  const jwks = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/jwks.json`;
  const text = `issuers: [{ issuer: a, audience: b, jwks: "${jwks}", role: { claim: role } }]\n`;
  writeFileSync(join(accessDirectory, 'issuers.yaml'), text);
  // Its time does not end by itself.
  const late = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
  const other = await startTestServer({
    schemaDirectory: 'tests/fixtures/roles/schema',
    settings: { accessDirectory, logLevel: 'silent' },
  });
  late.abort();
  const token = await tokenOf(one, {}, { issuer: 'a', audience: 'b' });
  const { status } = await exchange(other.url, 'GET /api/$me', { headers: { authorization: `Bearer ${token}` } });
  expect(status).toBe(401);
  timeout.mockRestore();
  await other.close();
  keyServer.closeAllConnections();
  published.hangs = false;
});

describe('with two issuers, and keys of other kinds among theirs', () => {
  let several: TestServer;
  let secret: Uint8Array;
  let leaked: Signer;
  let rsa: Signer;

  beforeAll(async () => {
    rsa = await signer('rsa', 'RS256');
    leaked = await signer('private');
    secret = crypto.getRandomValues(new Uint8Array(32));
    const accessDirectory = mkdtempSync(join(tmpdir(), 'access-'));
    cpSync('tests/fixtures/roles/access', accessDirectory, { recursive: true });
    const privateKey = { ...(await exportJWK(leaked.key)), kid: 'private', alg: 'ES256' };
    const symmetric = { kty: 'oct', k: Buffer.from(secret).toString('base64url'), kid: 'secret', alg: 'HS256' };
    const sets = { a: [one.jwk, privateKey, symmetric], b: [two.jwk, rsa.jwk], c: [{ kty: 'EC', kid: 'one' }] };
    for (const [name, keys] of Object.entries(sets))
      writeFileSync(join(accessDirectory, `${name}.json`), JSON.stringify({ keys }));
    const issuers = Object.keys(sets).map((name) => {
      const issuer = `https://${name}.example.com/`;
      return { issuer, name, audience: AUDIENCE, jwks: `${name}.json`, role: { claim: 'role' } };
    });
    writeFileSync(join(accessDirectory, 'issuers.yaml'), JSON.stringify({ issuers }));
    const settings = { accessDirectory, logLevel: 'silent' as const };
    several = await startTestServer({ schemaDirectory: 'tests/fixtures/roles/schema', settings });
  });
  afterAll(() => several.close());

  const ofIssuer = (name: string, by: Signer, claims: JWTPayload = {}, alg = 'ES256') =>
    tokenOf(by, { role: 'editor', ...claims }, { issuer: `https://${name}.example.com/`, alg });
  const signed = (header: object, payload: string, key: CryptoKey | Uint8Array) =>
    new CompactSign(new TextEncoder().encode(payload))
      .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
      .sign(key, { crit: { other: true } });
  const claimsOf = (more = ''): string =>
    `{"iss":"https://a.example.com/","aud":"${AUDIENCE}","exp":${now() + 60},"role":"editor","sub":"anna"${more}}`;
  const meOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, text } = await exchange(several.url, 'GET /api/$me', { headers });
    return [status, (JSON.parse(text) as { name?: string }).name];
  };

  test('each vouches for its own subjects', async () => {
    expect(await meOf(await ofIssuer('a', one))).toEqual([200, 'a/anna']);
    expect(await meOf(await ofIssuer('b', two))).toEqual([200, 'b/anna']);
    expect(await meOf(await ofIssuer('b', rsa, {}, 'RS256'))).toEqual([200, 'b/anna']);
  });

  test('of a claim that stands twice, the last counts, as for the signature of its issuer', async () => {
    expect(await meOf(await signed({}, claimsOf(',"sub":"bert"'), one.key))).toEqual([200, 'a/bert']);
    expect(await meOf(await signed({}, claimsOf(',"iss":"https://b.example.com/"'), one.key))).toEqual([
      401,
      undefined,
    ]);
  });

  test.each<[string, () => Promise<string>]>([
    ['with the key of another issuer', () => ofIssuer('a', two)],
    ['with the key of another issuer, under a known name', () => ofIssuer('a', { ...two, kid: 'one' })],
    ['with a key whose private part is published', () => ofIssuer('a', leaked)],
    ['of an issuer with a malformed key', () => ofIssuer('c', one)],
    ['with a published secret', () => signed({ alg: 'HS256', kid: 'secret' }, claimsOf(), secret)],
    ['with the name of a published secret', () => signed({ kid: 'secret' }, claimsOf(), one.key)],
    ['with an algorithm of another kind of key', () => signed({ alg: 'RS256', kid: 'one' }, claimsOf(), rsa.key)],
    ['with a key of its own', () => signed({ kid: undefined, jwk: two.jwk }, claimsOf(), two.key)],
    ['with a critical header that is unknown', () => signed({ crit: ['other'], other: 1 }, claimsOf(), one.key)],
    ['with an unencoded payload', () => signed({ crit: ['b64'], b64: true }, 'x', one.key)],
    ['whose payload is no object', () => signed({}, '["anna"]', one.key)],
    ['whose end is a text', () => signed({}, claimsOf(',"exp":"2999"'), one.key)],
    ['with five parts', async () => `${await ofIssuer('a', one)}.x.y`],
  ])('401: %s', async (_, make) => {
    expect(await meOf(await make())).toEqual([401, undefined]);
  });
});
