/** Servers with unusual settings answer requests alike, or the start says which statement cures it. */
import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { ask } from '../support/ask.ts';
import { connectTo, dropDatabase, POSTGRES_URL } from '../support/databases.ts';
import { onServer, startInstance, withParameters } from '../support/postgres.ts';

onServer('a database of its own', () => {
  let client: Client;
  let name: string;
  let url: string;

  beforeEach(async () => {
    name = `Own "${randomUUID().slice(0, 8)}"`;
    client = await connectTo(POSTGRES_URL);
    await client.query(`create database ${quote(name)}`);
    const own = new URL(POSTGRES_URL);
    own.pathname = `/${encodeURIComponent(name)}`;
    url = withParameters(own.href, { pool: '2', prepared: 'on' });
  });
  afterEach(async () => {
    await client.end();
    await dropDatabase(quote(name));
  });

  const configure = (...settings: readonly string[]): Promise<unknown> =>
    client.query(settings.map((one) => `alter database ${quote(name)} set ${one}`).join('; '));
  const run = async (sql: string): Promise<void> => {
    const own = await connectTo(url);
    await own.query(sql);
    await own.end();
  };

  test.each([
    [`extra_float_digits = 0`],
    [`extra_float_digits = -15`],
    [`DateStyle = 'German, DMY'`, `IntervalStyle = sql_standard`, `TimeZone = 'Asia/Kathmandu'`],
    [`DateStyle = 'SQL, MDY'`],
    [`bytea_output = escape`, `xmloption = document`],
    [`standard_conforming_strings = off`, `escape_string_warning = on`, `backslash_quote = off`],
    [`default_transaction_isolation = serializable`, `default_transaction_deferrable = on`],
    [`default_transaction_isolation = 'repeatable read'`],
    [`lock_timeout = 1`],
    [`statement_timeout = 20`],
    [`idle_in_transaction_session_timeout = 1`],
    [`idle_session_timeout = 200`],
    [`row_security = off`],
    [`client_encoding = LATIN1`],
    [`lc_messages = 'C'`, `lc_numeric = 'C'`, `lc_monetary = 'C'`, `lc_time = 'C'`],
    [`quote_all_identifiers = on`],
    [`transform_null_equals = on`],
    [`array_nulls = off`],
    [`plan_cache_mode = force_generic_plan`],
    [`plan_cache_mode = force_custom_plan`, `jit = on`, `jit_above_cost = 0`],
    [`enable_seqscan = off`, `enable_hashjoin = off`, `enable_sort = off`],
    [`enable_indexscan = off`, `enable_bitmapscan = off`, `enable_nestloop = off`, `enable_mergejoin = off`],
    [`exit_on_error = on`],
    [`client_min_messages = debug5`],
    [`default_table_access_method = heap`, `synchronous_commit = off`, `work_mem = '64kB'`],
  ])('%s', async (...settings) => {
    await configure(...settings);
    await requestsAreAnswered();
  });

  test.each(['Store', 'my store', 'a"b', "o'clock", 'user', 'größe', '$1', 'a.b', 'a,b'])(
    'the schema %j',
    async (schema) => {
      await run(`create schema ${quote(schema)}`);
      await configure(`search_path = ${quote(schema)}, public`);
      await requestsAreAnswered();
      await run(`do $$ begin if to_regclass('public.samples') is not null then raise 'wrong schema'; end if; end $$`);
    },
  );

  test('a schema that comes earlier in the path: the next start names the statement', async () => {
    await run('create schema later');
    await configure('search_path = earlier, later, public');
    const running = await startInstance(url, SETTINGS);
    await run('create schema earlier');
    expect((await ask(running.url, 'POST /api/samples', RECORD)).status).toBe(201);
    await running.close();
    await expect(startInstance(url, SETTINGS)).rejects.toThrow(
      `run: alter role postgres in database ${quote(name)} set search_path = "later"; to begin anew in "earlier"`,
    );
    await configure('search_path = later');
    const again = await startInstance(url, SETTINGS);
    expect((await ask(again.url, 'GET /api/samples/1')).status).toBe(200);
    await again.close();
  });

  test.each([
    ['extra_float_digits = 0', 'extra_float_digits'],
    [`DateStyle = 'German'`, 'DateStyle'],
    ['standard_conforming_strings = off', 'standard_conforming_strings'],
    ['transform_null_equals = on', 'transform_null_equals'],
    ['exit_on_error = on', 'exit_on_error'],
    ['session_replication_role = replica', 'session_replication_role'],
  ])('behind a pooler, %s is refused', async (setting, named) => {
    await configure(setting);
    const statement = new RegExp(`Run: (alter role postgres in database "Own .+" set ${named} = '\\S.*')$`);
    const refused = await startInstance(withParameters(url, { prepared: 'off' }), SETTINGS).then(
      () => '',
      (error: Error) => error.message,
    );
    const [, cure = ''] = statement.exec(refused) ?? [refused];
    expect(cure).toMatch(/^alter role/);
    await client.query(cure);
    await requestsAreAnswered(withParameters(url, { prepared: 'off' }));
    await client.query(`alter role postgres in database ${quote(name)} reset all`);
  });

  /** `before`: how many records an earlier run has left. */
  async function requestsAreAnswered(at = url, before = 0): Promise<void> {
    const instance = await startInstance(at, SETTINGS);
    const send = (title: string, body?: unknown) => ask(instance.url, title, body);
    const made = await send('POST /api/samples', RECORD);
    expect([made.status, made.body]).toMatchObject([201, { ...RECORD, id: before + 1 }]);
    const path = `/api/samples/${before + 1}`;
    expect((await send(`GET ${path}`)).body).toEqual(made.body);
    expect((await send(`PUT ${path}`, made.body)).body).toEqual(made.body);
    expect((await send('POST /api/samples', { ...RECORD, number: 0.12345678901234555 })).status).toBe(201);
    const ordered = await send('GET /api/samples?_cnd[orderBy]=number&_cnd[limit]=0&_cnd[limit]=1');
    const [, next = ''] = /<([^>]+)>; rel="next"/.exec(ordered.headers.get('link') ?? '') ?? [];
    const following = await send(`GET ${next}`);
    expect([ordered.body, following.body]).toMatchObject(before === 0 ? [[{ id: 2 }], [{ id: 1 }]] : [[{}], [{}]]);
    const filters = `_cnd[string]=${encodeURIComponent(RECORD.string)}&_cnd[number]=${RECORD.number}&_cnd[date]=${RECORD.date}`;
    expect((await send(`GET /api/samples?${filters}`)).body).toEqual([made.body]);
    expect((await send(`PATCH ${path}`, { string: 'changed' })).status).toBe(200);
    expect((await send('PATCH /api/samples/999', {})).status).toBe(404);
    expect((await send('POST /api/samples', { id: before + 1 })).status).toBe(409);
    await instance.close();
  }
});

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const SETTINGS = { schemaDirectory: 'tests/fixtures/settings' };
const RECORD = {
  string: `it's \\ "here" \\n`,
  number: 0.1234567890123456,
  decimal: '12345678901.1234',
  date: '2024-02-03',
  timestamp: '2024-02-03T04:05:06.123Z',
  integer: 9007199254740991,
  boolean: true,
  array: [null, 'a\\b', 0.30000000000000004],
  any: { text: '\\', number: 1e-7 },
};
