import { createServer } from 'node:http';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import supertest from 'supertest';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { settingsOf } from '../../engine/embed/options.ts';
import { createEngine, type EngineOptions, type RecordEngine, StartError } from '../../engine/index.ts';
import type { Limits } from '../../engine/settings/settings.ts';
import { warningsAbout, readSettings, type Settings } from '../../engine/settings/settings.ts';
import { alone, answersOf } from '../support/guest.ts';

type OfServer = keyof Limits | 'host' | 'port' | 'workers' | 'requestTimeout' | 'publicUrl' | 'mcp' | 'drainDelay';

/** Every option, with a value that is not its default. Neither side may lack one of the other: that would not compile. */
const OTHER: Required<{ [K in Exclude<keyof Settings, OfServer> & keyof EngineOptions]: EngineOptions[K] }> &
  Record<Exclude<keyof Settings, OfServer> | Exclude<keyof EngineOptions, 'identify'>, unknown> = {
  databaseUrl: 'sqlite:other.db',
  readUrl: 'postgres://replica/records',
  schemaDirectory: 'other',
  accessDirectory: 'other',
  migrate: false,
  studio: false,
  title: 'Other',
  tokens: ['a b', 'c d'],
  tokensFile: 'tokens',
  dialects: ['simple-rest'],
  allowedHosts: ['a.example', 'b.example'],
  trustedProxies: ['127.0.0.1', '10.0.0.0/8'],
  corsOrigins: ['https://a.example', 'https://b.example'],
  imageOrigins: ['https://c.example', 'https://d.example'],
  rateLimit: 10,
  bodyLimit: 1000,
  statementTimeout: 0.5,
  idempotencyHours: 3,
  historyDays: 30,
  memoryLimit: 2 ** 25,
  logLevel: 'silent',
  accessLog: true,
  slowStatement: 5,
  metrics: true,
};

describe('settings', () => {
  test('options that are absent or undefined have their defaults', () => {
    const nothing = Object.fromEntries(Object.keys(OTHER).map((name) => [name, undefined]));
    expect(settingsOf({})).toEqual(readSettings({}));
    expect(settingsOf(nothing)).toEqual(readSettings({}));
  });

  test.each([
    [{ rateLimit: false }, { rateLimit: Infinity }],
    [{ slowStatement: false }, { slowStatement: Infinity }],
    [
      { metrics: true, studio: false },
      { metrics: true, studio: false },
    ],
  ])('%j means %j', (options, settings) => {
    expect(settingsOf(options)).toMatchObject(settings);
  });

  test.each<readonly [object, string]>([
    [{ databaseURL: 'sqlite:x' }, 'There is no setting "databaseURL"; did you mean "databaseUrl"?'],
    [{ DATABASE_URL: 'sqlite:x' }, '"DATABASE_URL" is the name of an environment variable; here it is "databaseUrl"'],
    [{ schema: 'x', titel: 'y' }, 'There is no setting "titel"; did you mean "title"?'],
    [{ constructor: 1 }, 'There is no setting "constructor"; the settings are databaseUrl, '],
    [{ port: 3000 }, 'port is a setting of "records start"; here the server that you mount the engine in decides it'],
    [{ databaseUrl: 'mysql://u:pw@h/d' }, 'databaseUrl is "mysql://…@h/d"; expected sqlite: and the path of a file'],
    [{ databaseUrl: '' }, 'databaseUrl is ""; expected sqlite:'],
    [{ schemaDirectory: null }, 'schemaDirectory is null; expected the path of a folder'],
    [{ migrate: 'on' }, 'migrate is "on"; expected true or false'],
    [{ bodyLimit: '1000' }, 'bodyLimit is "1000"; expected an integer from 1 to 268435456'],
    [{ bodyLimit: 0.5 }, 'bodyLimit is 0.5; expected an integer from 1'],
    [{ statementTimeout: Number.NaN }, 'statementTimeout is NaN; expected seconds from 0.1 to 86400'],
    [{ statementTimeout: '5s' }, 'statementTimeout is "5s"; expected seconds'],
    [{ logLevel: 'verbose' }, 'logLevel is "verbose"; expected one of debug, info, warn, error, silent'],
    [{ title: true }, 'title is true; expected a name'],
    [{ allowedHosts: false }, 'allowedHosts is false; expected auto, or *, or host names'],
    [{ rateLimit: true }, 'rateLimit is true; expected auto, off, or an integer'],
    [{ bodyLimit: false }, 'bodyLimit is false; expected an integer'],
    [{ trustedProxies: ['10.0.0.0/33'] }, 'trustedProxies is an array; expected none, or addresses and networks'],
    [{ trustedProxies: 'proxy' }, 'trustedProxies is "proxy"; expected none, or addresses and networks'],
    [{ corsOrigins: ['shop.example.com'] }, 'corsOrigins is an array; expected none, or *, or origins like https://'],
    [{ tokens: 5 }, 'tokens is not valid; expected none, or lines'],
    [[], 'createEngine takes an object of settings, not an array'],
  ])('%j is refused', (options, message) => {
    expect(() => settingsOf(options)).toThrow(StartError);
    expect(() => settingsOf(options)).toThrow(message);
  });

  test('unusable descriptors and databases reject with a StartError', async () => {
    await expect(createEngine({ schemaDirectory: 'tests/fixtures/faulty' })).rejects.toThrow(StartError);
    await expect(createEngine({ schemaDirectory: 'nowhere' })).rejects.toThrow(StartError);
    expect(existsSync('nowhere')).toBe(false);
  });
});

test.each<[string, string, readonly string[]]>([
  ['TOKEN', 'x', ['TOKEN is set, and is no setting; did you mean TOKENS?']],
  ['PROT', '1', ['PROT is set, and is no setting; did you mean PORT?']],
  ['port', '1', ['port is set, and is no setting; did you mean PORT?']],
  ['DATABASE_URI', '1', ['DATABASE_URI is set, and is no setting; did you mean DATABASE_URL?']],
  ['TOKENS_FILES', '1', ['TOKENS_FILES is set, and is no setting; did you mean TOKENS_FILE?']],
  ['TOKENS_FILE', '', ['TOKENS_FILE is set, but empty: it counts as not set']],
  ['TOKENS', '', ['TOKENS is set, but empty: it counts as not set']],
  // It has no tokens: nobody has access, and the log says so.
  ['TOKENS', ' ', []],
  ['PORT', '1', []],
  ['HOSTNAME', 'x', []],
  ['PATH', '/bin', []],
])('%s=%s in the environment', (name, value, doubts) => {
  expect(warningsAbout({ [name]: value })).toEqual(doubts);
});

const SCHEMA = 'tests/fixtures/http';

describe('mounted in Express', () => {
  const directory = mkdtempSync(join(tmpdir(), 'records-'));
  let engine: RecordEngine;
  let app: express.Express;
  beforeAll(async () => {
    const databaseUrl = `sqlite:${join(directory, 'records.db')}`;
    engine = await createEngine({ schemaDirectory: SCHEMA, databaseUrl, title: 'Gadgets', metrics: true });
    app = express();
    app.use('/all', engine.pages, engine.handler, engine.mcp);
    app.use('/parsed', express.json(), engine.mcp);
    app.use('/some', engine.document);
    app.use((request, response) => void response.status(418).send(`${request.app === app} ${request.originalUrl}`));
  });
  afterAll(async () => {
    await engine.close();
  });

  test('serves the pages with their security headers', async () => {
    const { text, headers } = await supertest(app).get('/all/').expect(200);
    expect(text).toContain('<h1>Gadgets</h1>');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    await supertest(app).get('/all/docs').expect(200);
    await supertest(app).get('/all/docs/swagger-ui-bundle.js').expect(200);
    await supertest(app)
      .get('/all/api/fixed')
      .expect(200, [{ id: 1, name: 'one' }]);
    expect((await supertest(app).get('/all/metrics').expect(200)).text).toContain('records_http_requests_total');
  });

  test.each(['a1', 7])('keeps the request ID %j that middleware in front has set', async (id) => {
    const numbered = express().use((_, response, next) => next(void response.setHeader('X-Request-Id', id)), app);
    for (const path of ['/api/fixed', '/api/none', '/docs', '/docs/', '/openapi.json', '/metrics', '/mcp'])
      await supertest(numbered).get(`/all${path}`).set('x-request-id', 'sent').expect('x-request-id', String(id));
  });

  test('redirects the start page to its address with a slash', async () => {
    await supertest(app).get('/all?a=b').expect(308).expect('location', 'all/?a=b');
  });

  test.each('/all/other /all/docs/none /all/mcp/x /some /some/ /some/docs /some/mcp /some/metrics /'.split(' '))(
    '%s is left to the host',
    async (path) => {
      const { text, headers } = await supertest(app).get(path).expect(418);
      expect(text).toBe(`true ${path}`);
      expect(headers['content-security-policy']).toBeUndefined();
    },
  );

  test.each(['/all/mcp', '/all/mcp/', '/parsed/mcp'])('agents use the records at %s', async (path) => {
    const use = async (name: string, given: object): Promise<object> => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } };
      const { body } = await supertest(app).post(path).send(message).expect(200);
      return JSON.parse(body.result.content[0].text);
    };
    expect(await use('list_records', { type: 'Fixed' })).toMatchObject({ records: [{ id: 1, name: 'one' }] });
    expect(await use('list_records', { type: 'Fixde' })).toMatchObject({ problem: 'path-not-found' });
  });

  test('agents need a token where clients do, and count as requests', async () => {
    const token = createToken();
    const line = tokenLine({ name: 'agent', read: new Set(['Fixed']), write: new Set() }, token);
    const databaseUrl = `sqlite:${join(directory, 'guarded.db')}`;
    const settings = { schemaDirectory: SCHEMA, databaseUrl, tokens: line, rateLimit: 2 };
    const guarded = await createEngine(settings);
    const host = express().use(guarded.mcp);
    const ask = (): supertest.Test =>
      supertest(host).post('/mcp').send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    await ask().expect(401);
    const { text } = await ask()
      .set({ authorization: `Bearer ${token}` })
      .buffer()
      .expect(200);
    expect(text).toContain('"list_records"');
    expect(text).not.toContain('"create_record"');
    await ask()
      .set({ authorization: `Bearer ${token}` })
      .expect(200);
    await ask()
      .set({ authorization: `Bearer ${token}` })
      .expect(429);
    await guarded.close();
  });

  test('without tokens, agents are served under local names and allowedHosts only, and never from other sites', async () => {
    const ask = async (host: express.Express, headers: Record<string, string>): Promise<readonly number[]> => {
      const agents = await supertest(host)
        .post('/mcp')
        .set({ accept: '*/*', ...headers })
        .send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      const records = await supertest(host).get('/api/fixed').set(headers);
      return [agents.status, records.status];
    };
    const open = express().use(engine.mcp, engine.handler);
    expect(await ask(open, {})).toEqual([200, 200]);
    expect(await ask(open, { host: 'evil.example', origin: 'http://evil.example' })).toEqual([421, 200]);
    expect(await ask(open, { 'sec-fetch-site': 'cross-site' })).toEqual([403, 403]);
    expect(await ask(open, { origin: 'http://evil.example' })).toEqual([403, 403]);
    const databaseUrl = `sqlite:${join(directory, 'named.db')}`;
    const named = await createEngine({ schemaDirectory: SCHEMA, databaseUrl, allowedHosts: ['shop.example'] });
    const host = express().use(named.mcp, named.handler);
    expect(await ask(host, { host: 'shop.example', origin: 'https://shop.example' })).toEqual([200, 200]);
    expect(await ask(host, { host: 'evil.example' })).toEqual([421, 421]);
    await named.close();
    await expect(createEngine({ corsOrigins: '*' })).rejects.toThrow('TOKENS');
  });

  test('without Express, what is not there is 404', async () => {
    const server = createServer(engine.pages).listen(0);
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await fetch(`${url}/`)).status).toBe(200);
    expect((await fetch(`${url}/other`)).status).toBe(404);
    server.closeAllConnections();
    server.close();
  });
});

describe('middleware that wraps the response changes no answer', () => {
  // Their types are of other versions; both replace writeHead and end of the response.
  const compression = require('compression') as () => express.RequestHandler;
  const session = require('express-session') as (options: object) => express.RequestHandler;
  const secret = { secret: 'x', resave: true, saveUninitialized: true };
  test.each<readonly [string, readonly express.RequestHandler[]]>([
    ['compression', [compression()]],
    ['express-session', [session(secret)]],
    ['both, and a body parser', [compression(), session(secret), express.raw({ type: '*/*' })]],
  ])('%s', async (_, middleware) => {
    const answers = await answersOf(({ pages, mcp, handler }) => express().use(...middleware, pages, mcp, handler));
    expect(answers).toEqual(await answersOf(alone));
  });
});
