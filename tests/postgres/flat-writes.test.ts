/** Writes of one record on PostgreSQL. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Serving } from '../../engine/server/serve.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { onServer, startInstance } from '../support/postgres.ts';
import { startWire, type Wire } from '../support/wire.ts';

onServer('a write of one record', () => {
  let database: TestDatabase;
  let wire: Wire;
  let instance: Serving;
  const send = (title: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Exchanged> =>
    exchange(instance.url, title, {
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });

  beforeAll(async () => {
    database = await createDatabase('postgres');
    wire = await startWire(database.url);
    instance = await startInstance(wire.url);
    const made = [
      await send('POST /api/tmp-vars', { id: 1, name: 'one', value: 'a' }),
      await send('POST /api/tmp-vars', { id: 2, name: 'two', value: 'b' }),
      await send('POST /api/shipping-markups', { markup_id: 1 }),
      await send('POST /api/newsletter-subscribers', { id: 1, email: 'taken@example.com' }),
      await send('POST /api/newsletter-subscribers', { id: 2, email: 'other@example.com' }),
    ];
    expect(made.map(({ status, text }) => [status, text]).filter(([status]) => status !== 201)).toEqual([]);
  });
  afterAll(async () => {
    await instance?.close();
    await wire?.close();
    await database?.remove();
  });

  it('with new records around it is answered as GET answers, and its identifiers follow the body', async () => {
    const elements = ['a', 'b', 'c'].map((name) => ({ name }));
    const made = await send('POST /api/shipping-markups', {
      markup_flat: '1.50',
      zone: { zone_name: 'deep', zone_elements: elements },
      shipping_method: { processor: 'p' },
    });
    expect(made.status).toBe(201);
    const path = String(made.headers.location);
    expect((await send(`GET ${path}`)).text).toBe(made.text);
    const deep = await send(`GET ${path}?include=zone.zone_elements`);
    const ids = [...deep.text.matchAll(/"id":(\d+),"name":"(\w)"/g)].map(([, id, name]) => [Number(id), name]);
    const [[first = 0] = []] = ids as [number, string][];
    expect(ids).toEqual([
      [first, 'a'],
      [first + 1, 'b'],
      [first + 2, 'c'],
    ]);
  });

  it('that links what is not there makes nothing', async () => {
    const client = await connectTo(database.url);
    const methods = async (): Promise<unknown> =>
      (await client.query('select count(*), max(method_id) from shipping_methods')).rows;
    const before = await methods();
    const body = { zone: { zone_id: 404 }, shipping_method: { processor: 'gone' } };
    const { status, text } = await send('POST /api/shipping-markups', body);
    expect([status, text]).toEqual([422, expect.stringContaining('/zone/zone_id')]);
    expect(await methods()).toEqual(before);
    await client.end();
  });

  it('with If-Match: the text that the tag is of must still be there', async () => {
    const tag = async (): Promise<string> => String((await send('GET /api/tmp-vars/1')).headers.etag);
    const known = await tag();
    expect((await send('PUT /api/tmp-vars/1', { value: 'matched' }, { 'if-match': known })).status).toBe(200);
    expect((await send('PUT /api/tmp-vars/1', { value: 'late' }, { 'if-match': known })).status).toBe(412);
    expect((await send('DELETE /api/tmp-vars/1', undefined, { 'if-match': known })).status).toBe(412);

    const fresh = await tag();
    const client = await connectTo(database.url);
    let others = 0;
    wire.fate = async (sql) => {
      if (sql.startsWith('with old$') && (others += 1) === 1)
        await client.query(`update tmp_vars set value = 'overtaken' where id = 1`);
      return 'pass' as const;
    };
    const answer = await send('PUT /api/tmp-vars/1', { value: 'too late' }, { 'if-match': fresh });
    wire.fate = () => 'pass';
    await client.end();
    expect([answer.status, (await send('GET /api/tmp-vars/1')).text]).toEqual([
      412,
      expect.stringContaining('overtaken'),
    ]);
  });

  it('that changes nothing writes nothing', async () => {
    const { text } = await send('GET /api/tmp-vars/1');
    const version = async (): Promise<string> => (await send('GET /api/tmp-vars/1')).text;
    const { body } = { body: JSON.parse(text) as unknown };
    expect((await send('PUT /api/tmp-vars/1', body)).text).toBe(await version());
  });
});
