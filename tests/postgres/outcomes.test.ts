/** Transactions that fail at each of their statements: the response, and what the database holds afterwards. */
import type { JsonObject } from '../../engine/json/json.ts';
import type { Serving } from '../../engine/server/serve.ts';
import { ask } from '../support/ask.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchangeJson, type Exchanged } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { onServer, startInstance } from '../support/postgres.ts';
import { startWire, type Wire } from '../support/wire.ts';

const failing = (code: string): { readonly instead: string } => ({
  instead: `do $$ begin raise exception 'planned' using errcode = '${code}'; end $$`,
});

const ALONE = /^(insert into|delete from) "\w+" as |^with old\$ as |^select id\$, text\$/;

onServer('a transaction', () => {
  let database: TestDatabase;
  let wire: Wire;
  let instance: Serving;
  const send = (title: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Exchanged> =>
    exchangeJson(instance.url, title, body, headers);
  const told = ({ status, headers, text }: Exchanged): readonly unknown[] => [
    status,
    (JSON.parse(text) as JsonObject)['type'],
    headers['retry-after'],
  ];
  const count = async (filter: string): Promise<number> =>
    ((await ask(instance.url, `GET /api/${filter}`)).body as unknown[]).length;

  beforeAll(async () => {
    database = await createDatabase('postgres');
    wire = await startWire(database.url);
    instance = await startInstance(wire.url);
    await send('POST /api/newsletter-subscribers', { email: 'taken@example.com' });
  });
  beforeEach(() => void (wire.fate = () => 'pass'));
  afterAll(async () => {
    await instance?.close();
    await wire?.close();
    await database?.remove();
  });

  // A value that is taken: the write runs again and looks for the record that has it, by its index.
  const conflicting = (): Promise<Exchanged> =>
    send('POST /api/newsletter-subscribers', { email: 'taken@example.com' });
  const CONFLICT = [409, 'urn:problem:unique-conflict', undefined];
  const TOO_SLOW = [503, 'urn:problem:statement-timeout', '10'];
  const BUSY = [503, 'urn:problem:storage-busy', '1'];

  it.each([
    ['40001', CONFLICT, BUSY],
    ['40P01', CONFLICT, BUSY],
    ['25P02', CONFLICT, BUSY],
    ['57P01', CONFLICT, BUSY],
    ['57014', TOO_SLOW, TOO_SLOW],
    ['53200', BUSY, BUSY],
  ])('whose search for the conflicting record fails with %s, once or each time', async (code, once, always) => {
    let failures = 0;
    const isSearch = (sql: string): boolean => sql.startsWith('select') && sql.includes('email');
    wire.fate = (sql) => (isSearch(sql) && (failures += 1) === 1 ? failing(code) : 'pass');
    expect(told(await conflicting())).toEqual(once);
    expect(failures).toBeGreaterThan(0);
    wire.fate = (sql) => (isSearch(sql) ? failing(code) : 'pass');
    expect(told(await conflicting())).toEqual(always);
  });

  it.each([
    ['40001', BUSY],
    ['57014', TOO_SLOW],
    ['25P02', BUSY],
  ])('whose COMMIT fails with %s: nothing is done', async (code, always) => {
    wire.fate = (sql) => (sql === 'commit' ? failing(code) : 'pass');
    const given = { markup_id: 1000, zone: { zone_name: code } };
    expect(told(await send('POST /api/shipping-markups', given))).toEqual(always);
    wire.fate = () => 'pass';
    expect(await count(`shipping-markups?_cnd[zone.zone_name]=${code}`)).toBe(0);
  });

  it.each([
    ['40001', BUSY],
    ['53100', [507, 'urn:problem:storage-full', undefined]],
  ])('that cannot keep the answer to an Idempotency-Key (%s): nothing is done', async (code, always) => {
    const name = `kept-${code}`;
    const keyed = (): Promise<Exchanged> => send('POST /api/tmp-vars', { name }, { 'idempotency-key': name });
    const client = await connectTo(database.url);
    await client.query(`
      create function refuse() returns trigger language plpgsql
        as $$ begin raise exception 'planned' using errcode = '${code}'; end $$;
      create trigger refuse before update on _records_keys for each row execute function refuse()`);
    expect(told(await keyed())).toEqual(always);
    await client.query('drop function refuse cascade');
    await client.end();
    expect(await count(`tmp-vars?_cnd[name]=${name}`)).toBe(0);
    expect((await keyed()).status).toBe(201);
  });

  describe.each([
    ['cut', 0],
    ['unanswered', 1],
  ] as const)('whose COMMIT is %s', (fate, done) => {
    const lost = (title: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Exchanged> => {
      wire.fate = (sql) => (sql === 'commit' || ALONE.test(sql) ? fate : 'pass');
      return send(title, body, headers).finally(() => (wire.fate = () => 'pass'));
    };
    const unknown = (retryAfter?: string): readonly unknown[] => [504, 'urn:problem:outcome-unknown', retryAfter];

    it('is a POST of two records: 504, without Retry-After', async () => {
      // With an identifier, which also moves the sequence, it takes a transaction, without one a single round trip.
      for (const given of [{}, { markup_id: 2000 + 1000 * done }]) {
        const name = `${fate}-nested-${Object.keys(given).length}`;
        const body = { ...given, zone: { zone_name: name } };
        expect(told(await lost('POST /api/shipping-markups', body))).toEqual(unknown());
        // The connection may be lost a moment before the server is done.
        await until(async () => (await count(`shipping-markups?_cnd[zone.zone_name]=${name}`)) === done);
      }
    });

    it('is a POST: 504, without Retry-After', async () => {
      const name = `${fate}-post`;
      expect(told(await lost('POST /api/tmp-vars', { name }))).toEqual(unknown());
      await until(async () => (await count(`tmp-vars?_cnd[name]=${name}`)) === done);
    });

    it('is a PUT, a PATCH, a DELETE: 504, with Retry-After where the method is idempotent', async () => {
      const { headers } = await send('POST /api/tmp-vars', { name: `${fate}-change` });
      const path = String(headers.location);
      expect(told(await lost(`PUT ${path}`, { value: '1' }))).toEqual(unknown('1'));
      expect(told(await lost(`PATCH ${path}`, { value: '2' }))).toEqual(unknown());
      expect(told(await lost(`DELETE ${path}`))).toEqual(unknown('1'));
      expect((await send(`DELETE ${path}`)).status).toBe(done === 1 ? 404 : 200);
    });

    it('is a read: it is answered', async () => {
      const include = 'include=zone.shipping_markups';
      expect((await lost(`GET /api/shipping-markups?${include}&_cnd[limit]=0&_cnd[limit]=5`)).status).toBe(200);
    });
  });
});
