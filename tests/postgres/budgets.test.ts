/** The connection pool: no kind of work takes all connections from the others. */
import type { Serving } from '../../engine/server/serve.ts';
import { type Answer, ask } from '../support/ask.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { until } from '../support/leaving.ts';
import { administer, onServer, startInstance, withParameters } from '../support/postgres.ts';

const ROWS = 500;

onServer('an instance whose rows are held', () => {
  let database: TestDatabase;
  let instance: Serving;
  let [first, second] = ['', ''];
  const send = (title: string, body?: unknown): Promise<Answer> => ask(instance.url, title, body);
  const together = (count: number, work: (index: number) => Promise<Answer>): Promise<Answer>[] =>
    Array.from({ length: count }, (_, index) => work(index));
  const statuses = async (answers: readonly Promise<Answer>[]): Promise<ReadonlySet<number>> =>
    new Set((await Promise.all(answers)).map(({ status }) => status));
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${instance.url}/metrics`)).text();
    const line = text.split('\n').find((one) => one.startsWith(`${name} `)) ?? '';
    return Number(line.slice(name.length));
  };
  const holding = <T>(where: string, work: () => Promise<T>): Promise<T> =>
    administer(database.url, `begin; select from tmp_vars where ${where} for update`, work);

  beforeAll(async () => {
    database = await createDatabase('postgres');
    const url = withParameters(database.url, { pool: '10', lock_timeout: '100000' });
    instance = await startInstance(url, { metrics: true });
    const made = await Promise.all([send('POST /api/tmp-vars', {}), send('POST /api/tmp-vars', {})]);
    [first = '', second = ''] = made.map(({ headers }) => headers.get('location') ?? '');
    await Promise.all(together(ROWS, () => send('POST /api/tax-classes', {})));
  });
  afterAll(async () => {
    await instance?.close();
    await database?.remove();
  });

  const id = (path: string): string => path.split('/').at(-1) ?? '';

  it('serves everything else, while writes of one row wait', async () => {
    let waiting: readonly Promise<Answer>[] = [];
    await holding(`id = ${id(first)}`, async () => {
      waiting = together(40, (index) => send(`PUT ${first}`, { value: String(index) }));
      await until(async () => (await metric('records_database_waiting{server="primary",work="write"}')) === 38);
      expect(await statuses(together(20, () => send('GET /api/tax-classes/1')))).toEqual(new Set([200]));
      expect(
        await statuses(
          together(20, () => send('GET /api/tax-classes?_cnd[position][gt]=1&_cnd[limit]=0&_cnd[limit]=5')),
        ),
      ).toEqual(new Set([200]));
      expect(await statuses(together(3, () => send('GET /api/tax-classes')))).toEqual(new Set([200]));
      expect(await statuses(together(20, () => send('POST /api/tax-classes', {})))).toEqual(new Set([201]));
      expect((await send(`PUT ${second}`, { value: '1' })).status).toBe(200);
    });
    expect(await statuses(waiting)).toEqual(new Set([200]));
    expect(await metric('records_database_waiting{server="primary",work="write"}')).toBe(0);
    expect(await metric('records_database_connections{server="primary",pool="requests",state="most"}')).toBe(10);
    // Those that waited; of the others, some are written together.
    expect(await metric('records_database_wait_seconds_count{work="write"}')).toBeGreaterThanOrEqual(38);
  });

  it('serves reads and searches, while writes of many rows wait', async () => {
    const paths = (await Promise.all(together(12, () => send('POST /api/tmp-vars', {})))).map(
      ({ headers }) => headers.get('location') ?? '',
    );
    let waiting: readonly Promise<Answer>[] = [];
    await holding('true', async () => {
      waiting = paths.map((path) => send(`PUT ${path}`, { value: 'later' }));
      await until(async () => (await metric('records_database_waiting{server="primary",work="write"}')) === 5);
      expect(await statuses(together(20, () => send('GET /api/tax-classes/1')))).toEqual(new Set([200]));
      expect(
        await statuses(
          together(20, () => send('GET /api/tax-classes?_cnd[position][gt]=1&_cnd[limit]=0&_cnd[limit]=5')),
        ),
      ).toEqual(new Set([200]));
    });
    expect(await statuses(waiting)).toEqual(new Set([200]));
  });

  it('reads records of other tables, while a table is locked', async () => {
    await send('GET /api/tax-classes/1');
    let waiting: readonly Promise<Answer>[] = [];
    await administer(database.url, 'begin; lock table tmp_vars in access exclusive mode', async () => {
      waiting = together(8, () => send(`GET ${first}`));
      for (let round = 0; round < 5; round += 1)
        expect(await statuses(together(20, () => send('GET /api/tax-classes/1')))).toEqual(new Set([200]));
    });
    expect(await statuses(waiting)).toEqual(new Set([200]));
  });

  it('reads records of other tables, while dry runs take long', async () => {
    let waiting: readonly Promise<Answer>[] = [];
    await administer(database.url, 'begin; lock table tmp_vars in access exclusive mode', async () => {
      waiting = together(20, () => send(`DELETE ${second}?dryRun=true`));
      await until(async () => (await metric('records_database_waiting{server="primary",work="write"}')) === 13);
      for (let round = 0; round < 5; round += 1)
        expect(await statuses(together(20, () => send('GET /api/tax-classes/1')))).toEqual(new Set([200]));
    });
    expect(await statuses(waiting)).toEqual(new Set([200]));
  });
});
