/** The guide for rules in the database, followed on PostgreSQL: its statements run, and its requests get what it shows. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Serving } from '../../engine/server/serve.ts';
import { fileOf, matching, type Step, stepsOf } from '../docs/page.ts';
import { ask } from '../support/ask.ts';
import { parseCurl } from '../support/curl.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { onServer, startInstance } from '../support/postgres.ts';
import { shellCommands } from '../support/shell.ts';

const steps = stepsOf(readFileSync('docs/guides/rules.md', 'utf8'));
const files = new Map(steps.flatMap(({ block }) => [[fileOf(block), block.text] as const]));
const requests = steps.filter(({ block }) => block.text.startsWith('curl'));

onServer('the guide for rules in the database', () => {
  let database: TestDatabase;
  let instance: Serving;
  const run = async (sql: string): Promise<void> => {
    const client = await connectTo(database.url);
    await client.query(sql).finally(() => client.end());
  };
  const runFile = (name: string): Promise<void> => run(files.get(name) ?? `the guide has no ${name}`);

  beforeAll(async () => {
    database = await createDatabase('postgres');
    const schemaDirectory = mkdtempSync(join(tmpdir(), 'rules-'));
    for (const [name = '', text] of files)
      if (name.startsWith('schema/')) writeFileSync(join(schemaDirectory, basename(name)), text);
    instance = await startInstance(database.url, { schemaDirectory });
    await runFile('rules/postgresql.sql');
    // They can be run again.
    await runFile('rules/postgresql.sql');
  });
  afterAll(async () => {
    await instance?.close();
    await database?.remove();
  });

  test.each(requests.map((step): [string, Step] => [step.block.text, step]))('%s', async (_, { block, shown }) => {
    let text = '';
    for (const [, ...words] of shellCommands(block.text)) {
      const { method, path, headers, body } = parseCurl(words);
      const init = { method, headers, ...(body === undefined ? {} : { body }) };
      text = await (await fetch(instance.url + path, init)).text();
    }
    expect(JSON.parse(text)).toEqual(matching(JSON.parse(shown?.text ?? '')));
  });

  test('numbers have no gaps when many bills are sent at once', async () => {
    const bills = await Promise.all(
      Array.from({ length: 12 }, () =>
        ask(instance.url, 'POST /api/bills', { lines: [{ text: 'x', amount: '1.00' }] }),
      ),
    );
    const ids = bills.map(({ body }) => (body as { readonly id: number }).id);
    const sent = await Promise.all(
      [...ids, ...ids].map((id) => ask(instance.url, `PATCH /api/bills/${id}`, { state: 'sent' })),
    );
    // The second request for a bill finds it sent, and changes nothing.
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
    const { body } = await ask(instance.url, 'GET /api/bills?include=&_cnd[orderBy]=number');
    const numbers = (body as readonly { readonly number: number }[]).map(({ number }) => number);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  test('the total is that of all lines when many are added at once', async () => {
    const { body } = await ask(instance.url, 'POST /api/bills', { lines: [] });
    const { id } = body as { readonly id: number };
    const line = `insert into bill_lines (text, amount, bill_id) values ('x', 2.5, ${id})`;
    await Promise.all(Array.from({ length: 8 }, () => run(line)));
    expect((await ask(instance.url, `GET /api/bills/${id}?include=`)).body).toMatchObject({ total: '20.0' });
  });

  test('a line of a bill that was sent keeps its text', async () => {
    const lines = [{ text: 'x', amount: '1.00' }];
    const { body } = await ask(instance.url, 'POST /api/bills', { lines });
    const bill = body as { readonly id: number; readonly lines: readonly { readonly id: number }[] };
    expect((await ask(instance.url, `PATCH /api/bills/${bill.id}`, { state: 'sent' })).status).toBe(200);
    const changed = { lines: [{ id: bill.lines[0]?.id, text: 'y' }] };
    expect((await ask(instance.url, `PATCH /api/bills/${bill.id}`, changed)).status).toBe(422);
  });

  test('kennels may have any number', async () => {
    const stay = { kennel: 3_000_000_000, arrival: '2030-06-01', departure: '2030-06-09' };
    expect((await ask(instance.url, 'POST /api/stays', stay)).status).toBe(201);
  });

  test('one of two stays that are booked at once is refused', async () => {
    const stay = { kennel: 7, arrival: '2030-06-01', departure: '2030-06-09' };
    const answers = await Promise.all([1, 2, 3].map(() => ask(instance.url, 'POST /api/stays', stay)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422, 422]);
  });

  test('the exclusion constraint answers 409 with its name', async () => {
    await runFile('rules/postgresql-constraint.sql');
    await run('drop trigger stay_rules on stays');
    const stay = { kennel: 7, arrival: '2030-06-02', departure: '2030-06-03' };
    expect(await ask(instance.url, 'POST /api/stays', stay)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('stays_overlap') },
    });
  });
});
