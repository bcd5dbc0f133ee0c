import type { JsonObject } from '../../engine/json/json.ts';
import { type Answer, ask } from '../support/ask.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchangeJson, type Exchanged } from '../support/exchange.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { loadModel } from '../support/model.ts';
import { onServer } from '../support/postgres.ts';

const together = <T>(count: number, work: (index: number) => Promise<T>): Promise<readonly T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
const statuses = (answers: readonly { readonly status: number }[]): readonly number[] =>
  answers.map(({ status }) => status).toSorted();

onServer('many instances on one database', () => {
  let database: TestDatabase;
  const compiled = useCompiled();
  let urls: readonly string[] = [];
  let turn = 0;
  const next = (): string => urls[(turn += 1) % urls.length] ?? '';
  const send = (title: string, body?: unknown): Promise<Answer> => ask(next(), title, body);
  const sendWith = (headers: Readonly<Record<string, string>>, title: string, body?: unknown): Promise<Exchanged> =>
    exchangeJson(next(), title, body, headers);
  const create = async (path: string, body: unknown): Promise<{ readonly path: string; readonly tag: string }> => {
    const { headers } = await send(`POST ${path}`, body);
    return { path: headers.get('location') ?? '', tag: headers.get('etag') ?? '' };
  };

  beforeAll(async () => {
    database = await createDatabase('postgres');
    const environment = { PORT: '0', DATABASE_URL: database.url };
    urls = await Promise.all([1, 2, 3].map(() => urlOf(compiled.run('server.js', [], environment))));
  });
  afterAll(async () => {
    await database?.remove();
  });

  it('create tables and seeds once, though all of them found an empty database', async () => {
    const seeds =
      [...loadModel('tests/fixtures/store').types.values()].find(({ name }) => name === 'Notification')?.seed ?? [];
    expect((await send('GET /api/notifications')).headers.get('x-total-count')).toBe(String(seeds.length));
  });

  it('concurrent PATCHes of different keys of one value all survive', async () => {
    const { path } = await create('/api/shipping-markups', { zone: { zone_name: 'z', zone_elements: [{ a: 0 }] } });
    const shown = `${path}?include=zone.zone_elements`;
    const { zone } = (await send(`GET ${shown}`)).body as { zone: { zone_id: number; zone_elements: JsonObject[] } };
    const [element = {}] = zone.zone_elements;
    const patch = (key: string): Promise<Answer> =>
      send(`PATCH ${shown}`, { zone: { zone_id: zone.zone_id, zone_elements: [{ ...element, [key]: 1 }] } });
    expect(statuses(await together(6, (index) => patch(`k${index}`)))).toEqual(Array.from({ length: 6 }, () => 200));
    const { body } = await send(`GET ${shown}`);
    const kept = { k0: 1, k1: 1, k2: 1, k3: 1, k4: 1, k5: 1 };
    expect(body).toMatchObject({ zone: { zone_elements: [kept] } });
  });

  it('a change of a related record by another instance invalidates the tag everywhere', async () => {
    const { path } = await create('/api/shipping-markups', { zone: { zone_name: 'before' } });
    const { zone } = (await send(`GET ${path}`)).body as { zone: { zone_id: number } };
    const other = await create('/api/shipping-markups', { zone: { zone_id: zone.zone_id } });
    for (let round = 0; round < 6; round += 1) {
      const tag = String((await sendWith({}, `GET ${path}`)).headers.etag);
      expect((await sendWith({ 'if-none-match': tag }, `GET ${path}`)).status).toBe(304);
      await send(`PUT ${other.path}`, { zone: { zone_id: zone.zone_id, zone_name: `after ${round}` } });
      expect((await sendWith({ 'if-none-match': tag }, `GET ${path}`)).status).toBe(200);
      expect((await sendWith({ 'if-match': tag }, `PUT ${path}`, { markup_flat: '1' })).status).toBe(412);
    }
  });

  it('a write is visible, and counted, on every instance at once', async () => {
    const { path } = await create('/api/tmp-vars', { name: 'seen', value: '0' });
    const list = 'GET /api/tax-classes?_cnd[position]=4711&_cnd[limit]=0&_cnd[limit]=1';
    const everywhere = (title: string): Promise<readonly Answer[]> => Promise.all(urls.map((url) => ask(url, title)));
    for (let value = 1; value <= 20; value += 1) {
      const tag = (await send(`PUT ${path}`, { value: String(value) })).headers.get('etag');
      const seen = await everywhere(`GET ${path}`);
      expect(seen.map((one) => [(one.body as JsonObject)['value'], one.headers.get('etag')])).toEqual(
        seen.map(() => [String(value), tag]),
      );
      await send('POST /api/tax-classes', { position: 4711 });
      const counts = (await everywhere(list)).map(({ headers }) => headers.get('x-total-count'));
      expect(counts).toEqual(counts.map(() => String(value)));
    }
    await send(`DELETE ${path}`);
    expect(new Set(statuses(await everywhere(`GET ${path}`)))).toEqual(new Set([404]));
  });

  it('writes that lock the same records in opposite order all succeed', async () => {
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
