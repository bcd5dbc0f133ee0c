/**
 * If-Match speaks of all that its tag was made from, related records included, and nothing owns itself: also where two
 * instances write at the same moment. A trigger holds each write back at its first change, when it has compared everything.
 */
import type { Client } from 'pg';
import type { Serving } from '../../engine/server/serve.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { onServer, pause, startInstance } from '../support/postgres.ts';

const GATE = 4711;

interface Write {
  readonly title: string;
  readonly body?: unknown;
  /** The URL whose tag goes along, read before the race. */
  readonly ifMatch?: string;
}

interface Race {
  readonly title: string;
  readonly first: Write;
  readonly second: Write;
  /** What the two are answered where the first one comes first. */
  readonly statuses: readonly number[];
  /** Both may succeed where the second one comes first. */
  readonly orderMatters?: boolean;
}

const conditional = (title: string, body?: unknown): Write => ({
  title,
  body,
  ifMatch: title.split(' ')[1] ?? '',
});

const RACES: readonly Race[] = [
  {
    title: 'PUT of a ledger, PUT of its account',
    first: conditional('PUT /api/ledgers/1', { name: 'one' }),
    second: conditional('PUT /api/accounts/1', { name: 'two' }),
    statuses: [200, 412],
  },
  {
    title: 'PUT of a label, PUT of an account that has it',
    first: conditional('PUT /api/labels/1', { name: 'one' }),
    second: conditional('PUT /api/accounts/1', { name: 'two' }),
    statuses: [200, 412],
  },
  {
    title: 'PUT of a note, DELETE of its owner',
    first: { title: 'PUT /api/notes/2', body: { name: 'one' } },
    second: conditional('DELETE /api/accounts/2'),
    statuses: [200, 412],
    orderMatters: true,
  },
  {
    title: 'PUT that links a ledger, PUT of the account that shows it then',
    first: conditional('PUT /api/ledgers/2', { account: { id: 1 } }),
    second: conditional('PUT /api/accounts/1', { name: 'two' }),
    statuses: [200, 412],
    orderMatters: true,
  },
  {
    title: 'PUT of a ledger, PUT of its account with fields of both',
    first: conditional('PUT /api/ledgers/1?fields=name,account.name', { name: 'one' }),
    second: conditional('PUT /api/accounts/1?fields=name,ledgers.name', { name: 'two' }),
    statuses: [200, 412],
  },
  {
    title: 'PUTs of two ledgers of one account: neither shows the other',
    first: conditional('PUT /api/ledgers/1', { name: 'one' }),
    second: conditional('PUT /api/ledgers/3', { name: 'two' }),
    statuses: [200, 200],
  },
  {
    title: 'two that would belong to each other',
    first: { title: 'PUT /api/parts/3', body: { whole: { id: 2 } } },
    second: { title: 'PUT /api/parts/1', body: { whole: { id: 4 } } },
    statuses: [200, 422],
  },
];

onServer('two writers at once', () => {
  let database: TestDatabase;
  let instances: readonly Serving[];
  let client: Client;
  let tables: readonly string[];

  /** Account 1 has ledgers 1 and 3, a note and a label, account 2 only a note; part 1 owns 2, and 3 owns 4. */
  const begin = async (): Promise<void> => {
    await client.query(`truncate ${tables.join(', ')} restart identity`);
    const account = { name: 'a', ledgers: [{ name: 'l' }], notes: [{ name: 'n' }], labels: [{ name: 'b' }] };
    const made = [
      await send(0, { title: 'POST /api/accounts', body: account }),
      await send(0, { title: 'POST /api/accounts', body: { name: 'b', notes: [{ name: 'n' }] } }),
      await send(0, { title: 'POST /api/ledgers', body: { name: 'other' } }),
      await send(0, { title: 'POST /api/ledgers', body: { name: 'm', account: { id: 1 } } }),
      await send(0, { title: 'POST /api/parts', body: { parts: [{}] } }),
      await send(0, { title: 'POST /api/parts', body: { parts: [{}] } }),
    ];
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
  };

  const send = async (instance: number, { title, body }: Write, tag?: string): Promise<Exchanged> =>
    exchange(instances[instance % instances.length]?.url ?? '', title, {
      headers: { ...(tag === undefined ? {} : { 'if-match': tag }), 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  const tagFor = async ({ ifMatch }: Write): Promise<string | undefined> =>
    ifMatch === undefined ? undefined : String((await send(0, { title: `GET ${ifMatch}` })).headers.etag);

  /** Until as many wait for a lock, or all that are not have been answered. */
  const waiting = async (count: number, answered: () => number): Promise<void> => {
    for (;;) {
      const { rows } = await client.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity
          where datname = current_database() and application_name = 'records' and wait_event_type = 'Lock'`,
      );
      if ((rows[0]?.waiting ?? 0) + answered() >= count) return;
      await pause(5);
    }
  };

  const owners = async (): Promise<string> => {
    const { rows } = await client.query<{ id: number; whole: number | null }>(
      'select id, whole_id as whole from parts',
    );
    const above = new Map(rows.map(({ id, whole }) => [id, whole]));
    return rows.some(({ id }) => {
      let [at, steps] = [above.get(id), 0];
      for (; at !== null && at !== undefined && steps <= rows.length; steps += 1) at = above.get(at);
      return steps > rows.length;
    })
      ? 'a cycle'
      : 'none owns itself';
  };

  beforeAll(async () => {
    database = await createDatabase('postgres');
    const settings = { schemaDirectory: 'tests/fixtures/ledgers' };
    const first = await startInstance(database.url, settings);
    instances = [first, await startInstance(database.url, settings), await startInstance(database.url, settings)];
    client = await connectTo(database.url);
    await client.query(
      `create function gate() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(${GATE}); return null; end $$`,
    );
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname not like '\\_records%'`,
    );
    tables = rows.map(({ name }) => name);
    for (const table of tables)
      await client.query(
        `create trigger gate before insert or update or delete on ${table} for each statement execute function gate()`,
      );
  });
  afterAll(async () => {
    await client?.end();
    for (const instance of instances ?? []) await instance.close();
    await database?.remove();
  });

  it.each(RACES)('$title', async ({ first, second, statuses }) => {
    await begin();
    const tags = [await tagFor(first), await tagFor(second)];
    await client.query(`select pg_advisory_lock(${GATE})`);
    let answered = 0;
    const race = async (instance: number, write: Write): Promise<Exchanged> => {
      const answer = await send(instance, write, tags[instance]);
      answered += 1;
      return answer;
    };
    const one = race(0, first);
    await waiting(1, () => answered);
    const other = race(1, second);
    await waiting(2, () => answered);
    await client.query(`select pg_advisory_unlock(${GATE})`);
    expect([(await one).status, (await other).status]).toEqual(statuses);
    expect(await owners()).toBe('none owns itself');
  });
});
