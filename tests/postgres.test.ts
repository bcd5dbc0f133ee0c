/** What PostgreSQL makes possible and what it asks for: the same answers as SQLite, many instances, faults of the server. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Field, RecordType } from '../engine/model/model.ts';
import { serve, type Serving } from '../engine/serve.ts';
import { readSettings } from '../engine/settings.ts';
import { isConnectionLost, translate } from '../engine/storage/postgres/errors.ts';
import { numbered } from '../engine/storage/postgres/connection.ts';
import { parsePlace } from '../engine/storage/postgres/url.ts';
import { StartError } from '../engine/start-error.ts';
import { type Answer, ask } from './support/ask.ts';
import { compile, type Compiled, type Running } from './support/compiled.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { connectTo, createDatabase, POSTGRES_URL, type TestDatabase } from './support/databases.ts';
import { loadModel } from './support/model.ts';
import { startTestServer, type TestServer } from './support/server.ts';

const FIXTURES = 'tests/fixtures/schemas';
const schemas = ['schema', ...readdirSync(FIXTURES).map((name) => `${FIXTURES}/${name}`)];

const start = (databaseUrl: string, schemaDirectory = 'schema'): Promise<Serving> =>
  serve({ ...readSettings({}), port: 0, databaseUrl, schemaDirectory, shutdownTimeout: 1000 });

const withParameters = (url: string, parameters: Readonly<Record<string, string>>): string => {
  const changed = new URL(url);
  for (const [name, value] of Object.entries(parameters)) changed.searchParams.set(name, value);
  return changed.href;
};

describe('without a server', () => {
  it.each([
    ['select ? from t where a = ?', 'select $1 from t where a = $2'],
    [`select '?' || "a?" || ?`, `select '?' || "a?" || $1`],
    [`select 'it''s ?' = ?`, `select 'it''s ?' = $1`],
  ])('%s is numbered', (sql, expected) => expect(numbered(sql)).toBe(expected));

  it.each([
    ['40001', 'storage-busy'],
    ['40P01', 'storage-busy'],
    ['53100', 'storage-full'],
    ['53300', 'storage-busy'],
    ['55P03', 'storage-busy'],
    ['25006', 'storage-busy'],
    ['57P01', 'storage-busy'],
    ['08006', 'storage-busy'],
    ['ECONNREFUSED', 'storage-busy'],
  ])('%s is told as %s', (code, expected) =>
    expect(translate(Object.assign(new Error('x'), { code }))).toMatchObject({ code: expected }),
  );

  it('a fault of ours stays as it is', () => {
    const error = Object.assign(new Error('syntax'), { code: '42601' });
    expect([translate(error), isConnectionLost(error)]).toEqual([error, false]);
  });

  it.each(['pool=0', 'pool=many', 'prepared=maybe', 'lock_timeout=-1'])('?%s is refused by its name', (parameter) => {
    expect(() => parsePlace(`postgres://localhost/x?${parameter}`)).toThrow(StartError);
    expect(() => parsePlace(`postgres://localhost/x?${parameter}`)).toThrow(parameter);
  });

  it('a server that is not there is named, without the password', async () => {
    const refused = start('postgres://me:secret@127.0.0.1:1/x');
    await expect(refused).rejects.toBeInstanceOf(StartError);
    await expect(refused).rejects.toThrow(/127\.0\.0\.1:1\/x .*ECONNREFUSED/);
    await expect(refused).rejects.not.toThrow('secret');
  });
});

const onServer = POSTGRES_URL === '' ? describe.skip : describe;

if (POSTGRES_URL === '')
  it.todo(
    'everything below needs a PostgreSQL server: npm run test:postgres starts one, TEST_POSTGRES_URL names another',
  );

onServer('the same answers as SQLite', () => {
  it.each(schemas)(
    'in %s',
    async (schemaDirectory) => {
      const servers = await Promise.all(
        (['sqlite', 'postgres'] as const).map((kind) => startTestServer({ schemaDirectory, kind })),
      );
      const requests = requestsOf([...loadModel(schemaDirectory).types.values()]);
      try {
        const renamed = renamer([...loadModel(schemaDirectory).types.values()]);
        const [one = [], other = []] = await Promise.all(
          servers.map((server) => answersOf(server, requests, renamed())),
        );
        expect(one.length).toBe(requests.length);
        for (const [index, answer] of one.entries())
          expect([requests[index], other[index]]).toEqual([requests[index], answer]);
      } finally {
        await Promise.all(servers.map((server) => server.close()));
      }
    },
    120_000,
  );
});

type Request = readonly [title: string, body?: JsonValue];

/** Records with every sample of every field, then lists by every field and operator. */
function requestsOf(types: readonly RecordType[]): readonly Request[] {
  return types
    .filter(({ operations }) => operations.has('list'))
    .flatMap((type): readonly Request[] => {
      const path = `/api/${encodeURIComponent(type.path)}`;
      const made = type.operations.has('create') ? bodiesOf(type).map((body): Request => [`POST ${path}`, body]) : [];
      const reads = [...type.fields.values()].filter((field) => field.type.operators.length > 0).flatMap(listsBy);
      return [...made, [`GET ${path}`], ...[...new Set(reads)].map((search): Request => [`GET ${path}?${search}`])];
    });
}

function bodiesOf(type: RecordType): readonly JsonObject[] {
  const fields = [...type.fields.values()];
  const plain = (seed: number): JsonObject =>
    Object.fromEntries(
      fields.filter(({ readOnly }) => !readOnly).map((field) => [field.name, field.type.good(field, seed)]),
    );
  const varied = fields
    .filter(({ readOnly }) => !readOnly)
    .flatMap((field) =>
      [...field.type.edges(field), ...(field.nullable ? [null] : [])].map((value) => [field.name, value] as const),
    );
  return [plain(1), ...varied.map(([name, value], index) => ({ ...plain(index + 2), [name]: value })), plain(1)];
}

function listsBy(field: Field): readonly string[] {
  const name = encodeURIComponent(field.name);
  const order = ['asc', 'desc'].map((way) => `_cnd[orderBy]=${name}&_cnd[orderBy]=${way}`);
  const pages = order.map((one) => `${one}&_cnd[limit]=1&_cnd[limit]=3`);
  const samples = [field.type.good(field, 1), ...field.type.edges(field)].map((value) =>
    encodeURIComponent(String(value)),
  );
  const operators = field.type.operators.filter((operator) => operator !== 'null' && operator !== 'like');
  const filters = operators.flatMap((operator) =>
    samples.slice(0, 2).map((text) => `_cnd[${name}][${operator}]=${text}`),
  );
  const like = field.type.operators.includes('like') ? [`_cnd[${name}][like]=*S*`, `_cnd[${name}][like]=%25*`] : [];
  return [...order, ...pages, ...filters, ...like, `_cnd[${name}][null]=true`];
}

/** Identifiers are renamed in the order in which they appear: one database leaves gaps where another does not. */
function renamer(types: readonly RecordType[]): () => (record: JsonObject) => JsonObject {
  const keys = new Set(types.map(({ identifier }) => identifier.name));
  return () => {
    const known = new Map<string, number>();
    return (record) =>
      Object.fromEntries(
        Object.entries(record).map(([key, value]) => {
          if (!keys.has(key)) return [key, value];
          const name = `${key} ${String(value)}`;
          known.set(name, known.get(name) ?? known.size);
          return [key, known.get(name) ?? null];
        }),
      );
  };
}

async function answersOf(
  { url }: TestServer,
  requests: readonly Request[],
  renamed: (record: JsonObject) => JsonObject,
): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const [title, body] of requests) {
    const { status, headers, body: answer } = await ask(url, title, body);
    const records = (Array.isArray(answer) ? answer : [answer]) as readonly JsonObject[];
    const text = status < 300 ? JSON.stringify(records.map(renamed)) : String(Reflect.get(answer as object, 'type'));
    answers.push(`${status} ${headers.get('x-total-count') ?? ''} ${text}`);
  }
  return answers;
}

onServer('many instances on one database', () => {
  let database: TestDatabase;
  let instances: readonly Serving[];
  let turn = 0;
  /** Each request goes to the next instance. */
  const send = (title: string, body?: unknown): Promise<Answer> => ask(next(), title, body);
  const next = (): string => instances[(turn += 1) % instances.length]?.url ?? '';
  const together = <T>(count: number, work: (index: number) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => work(index)));
  const statuses = (answers: readonly { readonly status: number }[]): readonly number[] =>
    answers.map(({ status }) => status).toSorted();

  beforeAll(async () => {
    database = await createDatabase('postgres');
    // All of them find an empty database.
    instances = await together(10, () => start(database.url));
  });
  afterAll(async () => {
    await Promise.all(instances.map((instance) => instance.close()));
    await database.remove();
  });

  it('ten that start at once make the tables and the seeds once', async () => {
    const seeds = [...loadModel('schema').types.values()].find(({ name }) => name === 'Notification')?.seed ?? [];
    expect((await send('GET /api/notifications')).headers.get('x-total-count')).toBe(String(seeds.length));
  });

  it('two PUTs of different fields at once: both survive', async () => {
    const { body } = await send('POST /api/tax-classes', {});
    const path = `/api/tax-classes/${String((body as JsonObject)['id'])}`;
    for (let round = 1; round <= 25; round += 1) {
      const answers = await Promise.all([
        send(`PUT ${path}`, { position: round }),
        send(`PUT ${path}`, { providerOneVATRate: `r${round}` }),
        send(`PUT ${path}`, { providerTwoVATRate: round }),
      ]);
      expect(statuses(answers)).toEqual([200, 200, 200]);
      expect((await send(`GET ${path}`)).body).toMatchObject({
        position: round,
        providerOneVATRate: `r${round}`,
        providerTwoVATRate: round,
      });
    }
  });

  it('one tag, ten writers: one of them is in time', async () => {
    const { body, headers } = await send('POST /api/tax-classes', {});
    const path = `/api/tax-classes/${String((body as JsonObject)['id'])}`;
    const tag = headers.get('etag') ?? '';
    const answers = await together(10, (index) =>
      fetch(next() + path, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', 'if-match': tag },
        body: JSON.stringify({ position: index + 1 }),
      }),
    );
    expect(statuses(answers)).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
  });

  it('one unique value, ten writers: one of them has it, the others are told who', async () => {
    const answers = await together(10, () => send('POST /api/newsletter-subscribers', { email: 'same@example.com' }));
    expect(statuses(answers)).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    const refused = answers.filter(({ status }) => status === 409).map(({ body }) => (body as JsonObject)['detail']);
    expect(new Set(refused).size).toBe(1);
    expect(String(refused[0])).toMatch(/^NewsletterSubscriber \d+ has this value of "email" already$/);
  });

  it('one identifier, ten writers: one of them has it, and the sequence goes on behind it', async () => {
    const answers = await together(10, () => send('POST /api/tax-classes', { id: 5000 }));
    expect(statuses(answers)).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    const made = await together(10, () => send('POST /api/tax-classes', {}));
    const identifiers = made.map(({ body }) => Number((body as JsonObject)['id']));
    expect(Math.min(...identifiers)).toBeGreaterThan(5000);
    expect(new Set(identifiers).size).toBe(10);
  });

  it('one idempotency key, ten times at once: one record, one answer', async () => {
    const answers = await together(10, async () => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'once' };
      const answer = await fetch(`${next()}/api/tmp-vars`, { method: 'POST', headers, body: '{"name":"once"}' });
      return { status: answer.status, text: await answer.text() };
    });
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect((await send('GET /api/tmp-vars?_cnd[name]=once')).body).toHaveLength(1);
  });

  it('what one instance wrote, every other one answers at once', async () => {
    const { body } = await send('POST /api/tmp-vars', { name: 'seen', value: '0' });
    const path = `/api/tmp-vars/${String((body as JsonObject)['id'])}`;
    for (let value = 1; value <= 20; value += 1) {
      const tag = (await send(`PUT ${path}`, { value: String(value) })).headers.get('etag');
      const answers = await Promise.all(instances.map(({ url }) => ask(url, `GET ${path}`)));
      expect(answers.map((one) => [(one.body as JsonObject)['value'], one.headers.get('etag')])).toEqual(
        answers.map(() => [String(value), tag]),
      );
    }
    await send(`DELETE ${path}`);
    const gone = await Promise.all(instances.map(({ url }) => ask(url, `GET ${path}`)));
    expect(new Set(statuses(gone))).toEqual(new Set([404]));
  });

  it('writes whose records cross each other: none fails', async () => {
    const made = await together(4, (index) => send('POST /api/shipping-markups', { zone: { zone_name: `z${index}` } }));
    const records = made.map(({ body }) => body as { markup_id: number; zone: { zone_id: number } });
    const answers = await together(24, (index) => {
      const [one, other] = [records[index % 4], records[(index * 3 + 1) % 4]];
      return send(`PUT /api/shipping-markups/${one?.markup_id}`, {
        zone: { zone_id: other?.zone.zone_id, zone_name: `n${index}` },
      });
    });
    expect(new Set(statuses(answers))).toEqual(new Set([200]));
  });
});

onServer('an instance that is killed', () => {
  let compiled: Compiled;
  let database: TestDatabase;
  let running: readonly Running[] = [];

  beforeAll(async () => {
    compiled = await compile();
    database = await createDatabase('postgres');
  }, 60_000);
  afterAll(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all(running.map(({ ended }) => ended));
    await compiled.remove();
    await database.remove();
  });

  it('loses no write that it has acknowledged', async () => {
    running = [1, 2, 3].map(() => compiled.run('server.js', [], { PORT: '0', DATABASE_URL: database.url }));
    const urls = await Promise.all(running.map(listening));
    const acknowledged: string[] = [];
    const load = { ended: false };
    const write = async (worker: number): Promise<void> => {
      for (let index = 0; !load.ended; index += 1) {
        const name = `w${worker}-${index}`;
        const answer = await ask(urls[index % 3] ?? '', 'POST /api/tmp-vars', { name }).catch(() => undefined);
        if (answer?.status === 201) acknowledged.push(name);
      }
    };
    const workers = [1, 2, 3, 4, 5, 6].map(write);
    await pause(700);
    running[0]?.child.kill('SIGKILL');
    await pause(700);
    load.ended = true;
    await Promise.all(workers);
    const { body } = await ask(urls[1] ?? '', 'GET /api/tmp-vars?fields=name');
    const stored = new Set((body as { name: string }[]).map(({ name }) => name));
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
  }, 30_000);
});

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function listening({ out, err }: Running): Promise<string> {
  for (let wait = 0; wait < 200; wait += 1) {
    const [, url] = /(http:\/\/\S+?)\/api\//.exec(out()) ?? [];
    if (url !== undefined) return url;
    await pause(50);
  }
  throw new Error(`did not start: ${out()} ${err()}`);
}

onServer('a server that fails', () => {
  let cluster: Cluster;
  let instance: Serving;
  const send = (title: string, body?: unknown): Promise<Answer> => ask(instance.url, title, body);
  const expectBusy = ({ status, headers, body }: Answer): void => {
    expect([status, headers.get('retry-after'), (body as JsonObject)['type']]).toEqual([
      503,
      '1',
      'urn:problem:storage-busy',
    ]);
  };

  beforeAll(async () => {
    cluster = await startCluster();
    instance = await start(withParameters(cluster.url, { lock_timeout: '300', pool: '3' }));
  }, 60_000);
  afterAll(async () => {
    await instance?.close();
    await cluster?.remove();
  });

  /** Runs SQL through a connection of its own. */
  async function administer<T>(sql: string, meanwhile: () => Promise<T>, end = 'rollback'): Promise<T> {
    const client = await connectTo(cluster.url);
    try {
      await client.query(sql);
      const result = await meanwhile();
      await client.query(end);
      return result;
    } finally {
      await client.end();
    }
  }

  it('cuts every connection: nobody notices', async () => {
    await send('POST /api/tax-classes', {});
    await Promise.all([1, 2, 3].map(() => send('GET /api/tax-classes?_cnd[limit]=0&_cnd[limit]=5')));
    for (let round = 0; round < 5; round += 1) {
      await administer(
        `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'records'`,
        async () => undefined,
        'select 1',
      );
      const answers = await Promise.all([
        send('GET /api/tax-classes'),
        send('GET /api/tax-classes/1'),
        send('POST /api/tax-classes', {}),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 201]);
    }
  });

  it('holds a row for too long: 503, and the row is as it was', async () => {
    const { body } = await send('POST /api/tax-classes', { position: 1 });
    const path = `/api/tax-classes/${String((body as JsonObject)['id'])}`;
    await administer('begin; lock table tax_classes in exclusive mode', async () =>
      expectBusy(await send(`PUT ${path}`, { position: 2 })),
    );
    expect((await send(`GET ${path}`)).body).toMatchObject({ position: 1 });
    expect((await send(`PUT ${path}`, { position: 3 })).status).toBe(200);
  });

  it('has no connection left: 503, and the next request is served', async () => {
    const { body } = await send('POST /api/tax-classes', {});
    const path = `/api/tax-classes/${String((body as JsonObject)['id'])}`;
    const patient = await start(withParameters(cluster.url, { lock_timeout: '20000', pool: '1' }));
    let waiting: Promise<Answer> | undefined;
    await administer('begin; lock table tax_classes in exclusive mode', async () => {
      waiting = ask(patient.url, `PUT ${path}`, { position: 9 });
      await pause(100);
      expectBusy(await ask(patient.url, 'GET /api/tmp-vars/1'));
    });
    expect((await waiting)?.status).toBe(200);
    await patient.close();
    expect((await send('GET /api/tmp-vars/1')).status).toBe(404);
  }, 40_000);

  it('takes no writes: 503 for a write, answers for a read', async () => {
    const { database = '' } = await administer('select 1', async () => ({ database: 'postgres' }), 'select 1');
    const setting = (value: string): string =>
      `alter database ${database} set default_transaction_read_only = ${value}`;
    await administer(setting('on'), async () => undefined, 'select 1');
    const readOnly = await start(cluster.url);
    expectBusy(await ask(readOnly.url, 'POST /api/tax-classes', {}));
    expect((await ask(readOnly.url, 'GET /api/tax-classes')).status).toBe(200);
    await readOnly.close();
    await administer(`begin; set transaction read write; ${setting('off')}`, async () => undefined, 'commit');
  });

  it.each(['fast', 'immediate'] as const)(
    'is restarted (%s) under load: no acknowledged write is lost, none is doubled, and it is back at once',
    async (mode) => {
      const acknowledged: string[] = [];
      const others = new Set<string>();
      const load = { ended: false };
      const write = async (worker: number): Promise<void> => {
        for (let index = 0; !load.ended; index += 1) {
          const value = `${mode}-${worker}-${index}`;
          const { status, headers } = await send('POST /api/tmp-vars', { value });
          if (status === 201) acknowledged.push(value);
          else others.add(`${status} ${headers.get('retry-after')}`);
        }
      };
      const workers = [1, 2, 3, 4, 5, 6].map(write);
      await pause(300);
      await cluster.stop(mode);
      await pause(300);
      await cluster.again();
      const back = performance.now();
      while ((await send('GET /api/tmp-vars/1')).status === 503) await pause(20);
      const away = performance.now() - back;
      await pause(300);
      load.ended = true;
      await Promise.all(workers);
      const { body } = await send('GET /api/tmp-vars?fields=value');
      const stored = (body as { value: string }[]).map(({ value }) => value);
      expect(acknowledged.filter((value) => !stored.includes(value))).toEqual([]);
      expect(new Set(stored).size).toBe(stored.length);
      expect([...others]).toEqual(['503 1']);
      // It takes a tenth of that; the rest is for machines that are busy with something else.
      expect(away).toBeLessThan(5000);
    },
    40_000,
  );
});
