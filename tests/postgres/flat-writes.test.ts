/** Writes of one record without links: each is one statement. What such a statement cannot say, a transaction does. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Serving } from '../../engine/server/serve.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { onServer, startInstance } from '../support/postgres.ts';
import { startWire, type Wire } from '../support/wire.ts';

onServer('a write of one record', () => {
  let database: TestDatabase;
  let wire: Wire;
  let instance: Serving;
  let statements: string[] = [];
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
    wire.fate = (sql) => {
      if (/"(tmp_vars|shipping_markups|newsletter_subscribers)"/.test(sql)) statements.push(sql);
      return 'pass';
    };
  });
  beforeEach(() => void (statements = []));
  afterAll(async () => {
    await instance?.close();
    await wire?.close();
    await database?.remove();
  });

  const words = (): readonly string[] => statements.map((sql) => sql.split(' ', 1)[0] ?? '');

  it.each<[title: string, body: unknown, status: number, words: readonly string[]]>([
    ['POST /api/tmp-vars', { name: 'made' }, 201, ['insert']],
    ['POST /api/tmp-vars', {}, 201, ['insert']],
    ['POST /api/shipping-markups', { markup_flat: '1.50' }, 201, ['insert']],
    ['POST /api/shipping-markups', { zone: { zone_name: 'z' } }, 201, ['with']],
    ['POST /api/shipping-markups', { zone: { zone_id: 1 } }, 201, ['with']],
    ['POST /api/shipping-markups', { zone: { zone_name: 'z' }, shipping_method: { processor: 'm' } }, 201, ['with']],
    ['POST /api/shipping-markups?include=', { zone: { zone_name: 'z' } }, 201, ['with']],
    ['POST /api/shipping-markups', { zone: null }, 201, ['with']],
    ['PUT /api/tmp-vars/1', { value: 'c' }, 200, ['with']],
    ['PUT /api/tmp-vars/1', { id: 1, name: 'one', value: 'c' }, 200, ['with']],
    ['PATCH /api/tmp-vars/1?fields=value', { value: 'd' }, 200, ['with']],
    ['PUT /api/shipping-markups/1?include=', { markup_flat: '2' }, 200, ['with']],
    ['POST /api/shipping-markups', { min_items: '1', max_items: '2' }, 201, ['insert']],
    ['DELETE /api/tmp-vars/2', undefined, 200, ['delete']],
  ])('%s, %j: %i, one statement', async (title, body, status, expected) => {
    const answer = await send(title, body);
    expect([answer.status, words()]).toEqual([status, expected]);
  });

  it.each<[title: string, body: unknown, status: number]>([
    ['POST /api/tmp-vars', { id: 10 }, 201],
    ['POST /api/shipping-markups', { zone: { zone_id: 1, zone_name: 'other' } }, 201],
    ['POST /api/newsletter-subscribers', { email: 'taken@example.com' }, 409],
    ['PUT /api/newsletter-subscribers/2', { email: 'taken@example.com' }, 409],
    ['PUT /api/tmp-vars/404', { value: 'c' }, 404],
    ['DELETE /api/tmp-vars/404', undefined, 404],
    ['PUT /api/shipping-markups/1', { markup_flat: '3' }, 200],
    // A check compares it with what is stored.
    ['PUT /api/shipping-markups/1?include=', { max_items: '3' }, 200],
  ])('%s, %j: %i, by a transaction', async (title, body, status) => {
    const answer = await send(title, body);
    expect([answer.status, words().length > 1]).toEqual([status, true]);
  });

  it('of a field that a check names, by a transaction: the row is locked, and compared with what it holds', async () => {
    await send('PUT /api/shipping-markups/1', { min_items: '1', max_items: '3' });
    statements = [];
    const { status } = await send('PUT /api/shipping-markups/1?include=', { min_items: '4' });
    expect([status, statements]).toEqual([422, [expect.stringMatching(/^select .* for update$/)]]);
  });

  it('with new records around it is answered as GET answers, and its identifiers follow the body', async () => {
    const elements = ['a', 'b', 'c'].map((name) => ({ name }));
    const made = await send('POST /api/shipping-markups', {
      markup_flat: '1.50',
      zone: { zone_name: 'deep', zone_elements: elements },
      shipping_method: { processor: 'p' },
    });
    expect([made.status, words()]).toEqual([201, ['with']]);
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

  it('of a record with long values, by a transaction: only that looks at the budget of memory', async () => {
    await send('PUT /api/tmp-vars/1', { value: 'x'.repeat(20_000) });
    expect(words().length).toBeGreaterThan(1);
    statements = [];
    expect((await send('PUT /api/tmp-vars/1', { name: 'long' })).status).toBe(200);
    expect(words().length).toBeGreaterThan(1);
    await send('PUT /api/tmp-vars/1', { value: 'short' });
  });

  it('with If-Match: the text that the tag is of must still be there', async () => {
    const tag = async (): Promise<string> => String((await send('GET /api/tmp-vars/1')).headers.etag);
    const known = await tag();
    statements = [];
    expect((await send('PUT /api/tmp-vars/1', { value: 'matched' }, { 'if-match': known })).status).toBe(200);
    expect(words()).toEqual(['select', 'with']);
    expect((await send('PUT /api/tmp-vars/1', { value: 'late' }, { 'if-match': known })).status).toBe(412);
    expect((await send('DELETE /api/tmp-vars/1', undefined, { 'if-match': known })).status).toBe(412);

    const fresh = await tag();
    const client = await connectTo(database.url);
    let others = 0;
    wire.fate = async (sql) => {
      if (sql.startsWith('with old') && (others += 1) === 1)
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
