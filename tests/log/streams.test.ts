/** Streams of changes: when they end, how many there are, and how programs follow in process. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { createEngine, type Change } from '../../engine/index.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import { openStream } from '../support/events.ts';
import { type Project, useProjects } from '../support/project.ts';

const newProject = useProjects();

const FILES = {
  'product.yaml': `type: Product
history: true
fields: { name: { type: string } }
relations: { parts: { kind: hasMany, type: Part, owned: true } }
`,
  'part.yaml': 'type: Part\nfields: { size: { type: integer } }\n',
  'order.yaml': 'type: Order\nhistory: true\nfields: { total: { type: integer } }\n',
};

const start = (project: Project, tokensFile: string) =>
  serve({
    ...readSettings({ ...project.environment, TOKENS_FILE: tokensFile, LOG_LEVEL: 'error' }),
    shutdownTimeout: 5000,
  });

const PATH = '/api/$changes';

test('a stream ends when its token is removed, and not when another one is', async () => {
  const project = await newProject(FILES);
  const [kept, removed] = [createToken(), createToken()];
  const all = { read: 'all', write: 'all', history: 'all' } as const;
  const lines = [tokenLine({ name: 'kept', ...all }, kept), tokenLine({ name: 'removed', ...all }, removed)];
  const file = `${project.directory}/tokens`;
  writeFileSync(file, lines.join('\n'));
  const { url, close } = await start(project, file);
  const open = (token: string) => openStream(url, PATH, { authorization: `Bearer ${token}` });
  const streams = await Promise.all([open(kept), open(removed)]);
  writeFileSync(file, String(lines[0]));
  await streams[1]?.ended;
  const answered = await ask(url, 'POST /api/products', {}, { authorization: `Bearer ${kept}` });
  expect(answered.status).toBe(201);
  expect(await streams[0]?.data(1)).toMatchObject([{ by: 'kept', operation: 'create' }]);
  streams[0]?.close();
  await close();
});

test('a stream ends when its JWT expires, and not before', async () => {
  const project = await newProject(FILES);
  const access = `${project.directory}-access`;
  mkdirSync(access);
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  writeFileSync(
    `${access}/keys.json`,
    JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] }),
  );
  writeFileSync(`${access}/reader.yaml`, `role: reader\nread: { '*': true }\nhistory: '*'\n`);
  writeFileSync(
    `${access}/issuers.yaml`,
    'issuers:\n  - { issuer: "https://login.example.com/", audience: records, jwks: keys.json, role: { claim: role } }\n',
  );
  const { url, close } = await serve({
    ...readSettings({ ...project.environment, ACCESS_DIR: access, LOG_LEVEL: 'error' }),
    shutdownTimeout: 5000,
  });
  // It is accepted for 30 seconds more.
  const expired = Math.floor(Date.now() / 1000) + 6;
  const token = await new SignJWT({ sub: 'anna', role: 'reader' })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer('https://login.example.com/')
    .setAudience('records')
    .setExpirationTime(expired - 30)
    .sign(privateKey);
  const stream = await openStream(url, PATH, { authorization: `Bearer ${token}` });
  expect(stream.response.statusCode).toBe(200);
  await stream.ended;
  expect(Date.now()).toBeGreaterThanOrEqual(expired * 1000);
  expect((await ask(url, `GET ${PATH}`, undefined, { authorization: `Bearer ${token}` })).status).toBe(401);
  await close();
});

test('rights: types whose history is granted; 403 where there is none', async () => {
  const project = await newProject(FILES);
  const [some, none] = [createToken(), createToken()];
  const file = `${project.directory}/tokens`;
  writeFileSync(
    file,
    [
      tokenLine({ name: 'some', read: 'all', write: 'all', history: new Set(['Product']) }, some),
      tokenLine({ name: 'none', read: 'all', write: 'all' }, none),
    ].join('\n'),
  );
  const { url, close } = await start(project, file);
  const asked = (token: string, title: string, body?: unknown) =>
    ask(url, title, body, { authorization: `Bearer ${token}` });
  for (const [path, body] of [
    ['products', { parts: [{ size: 1 }] }],
    ['orders', { total: 1 }],
  ] as const)
    expect((await asked(none, `POST /api/${path}`, body)).status).toBe(201);
  const { changes } = (await asked(some, `GET ${PATH}`)).body as { readonly changes: readonly Change[] };
  expect(changes.map(({ type }) => type).toSorted()).toEqual(['Part', 'Product']);
  for (const [token, search, status] of [
    [some, '?type=Order', 403],
    [some, '?type=Product,Order', 403],
    [some, '?type=Part', 200],
    [none, '', 403],
    [none, '?type=Product', 403],
  ] as const)
    expect([search, (await asked(token, `GET ${PATH}${search}`)).status]).toEqual([search, status]);
  await close();
});

test('metrics count streams apart from reads', async () => {
  const project = await newProject(FILES);
  const { url, close } = await serve({
    ...readSettings({ ...project.environment, METRICS: 'on' }),
    shutdownTimeout: 5000,
  });
  await ask(url, `GET ${PATH}`);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain(
    'records_http_requests_total{type="$changes",operation="changes",status="200",problem=""} 1',
  );
  await close();
});

test('streams end when the service drains', async () => {
  const project = await newProject(FILES);
  const { url, close } = await serve({ ...readSettings(project.environment), shutdownTimeout: 5000 });
  const streams = await Promise.all([1, 2, 3].map(() => openStream(url)));
  expect(await close()).toBe(true);
  await Promise.all(streams.map(({ ended }) => ended));
});

test('the 101st stream of an identity is 429', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    const streams = await Promise.all(Array.from({ length: 100 }, () => openStream(url)));
    const refused = await openStream(url);
    expect([refused.response.statusCode, refused.response.headers['retry-after']]).toEqual([429, '1']);
    streams[0]?.close();
    for (let isFree = false; !isFree;) {
      await delay(50);
      const again = await openStream(url);
      isFree = again.response.statusCode === 200;
      again.close();
    }
    for (const stream of streams) stream.close();
  });
});

test('a program follows in process, until it stops, or the engine closes', async () => {
  const project = await newProject(FILES);
  const engine = await createEngine({
    databaseUrl: project.database.url,
    schemaDirectory: project.directory,
    logLevel: 'error',
  });
  const records = engine.records('Product');
  await records.create({ name: 'A' });
  const heard: Change[] = [];
  const controller = new AbortController();
  const following = (async () => {
    for await (const change of engine.changes({ types: ['Product'], values: true, signal: controller.signal })) {
      heard.push(change);
      if (heard.length === 1) await records.update(1, { name: 'B' });
      if (heard.length === 2) controller.abort(new Error('enough'));
    }
  })();
  await expect(following).rejects.toThrow('enough');
  expect(heard).toMatchObject([
    { type: 'Product', operation: 'create', new: { name: 'A' } },
    { operation: 'update', keys: ['name'], old: { name: 'A' }, new: { name: 'B' } },
  ]);
  const next = engine.changes({ after: String(heard[0]?.cursor) });
  expect((await next.next()).value).toMatchObject({ operation: 'update' });
  const end = next.next();
  await expect(engine.changes({ types: ['Produkt'] }).next()).rejects.toThrow('did you mean "Product"?');
  await expect(engine.changes({ type: 'Product' } as object).next()).rejects.toThrow('did you mean "types"?');
  await expect(engine.changes({ after: 'x' }).next()).rejects.toMatchObject({ code: 'invalid-query' });
  await engine.close();
  expect((await end).done).toBe(true);
});
