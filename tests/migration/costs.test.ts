/** What a plan says about the time that steps take: from the rows that there are, and from what each step does. */
import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { formatSteps } from '../../engine/storage/migrate/report.ts';
import { costOf, type Task } from '../../engine/storage/migrate/tasks.ts';
import { connectTo, databaseKind, type DatabaseKind, fileOf, type TestDatabase } from '../support/databases.ts';
import { createProject } from '../support/project.ts';

const task = (kind: Task['kind']): Task => ({ kind, table: 'books', sql: '' });

test.each([
  // Live: 40 microseconds for each row that is filled, 3 for an index, and nobody waits for longer than a moment.
  [['fill', 'index'], 1_000_000, true, { locks: 'rows', lockedSeconds: 0.1, seconds: 43 }],
  [['column', 'rename'], 1_000_000, true, { locks: 'all', lockedSeconds: 0.2, seconds: 0 }],
  [['index'], 10_000_000, true, { locks: 'none', lockedSeconds: 0, seconds: 30 }],
  // In one transaction, writes wait for all of it.
  [['fill', 'index'], 1_000_000, false, { locks: 'writes', lockedSeconds: 3, seconds: 3 }],
  [[], 1_000_000, false, { locks: 'none', lockedSeconds: 0, seconds: 0 }],
] as const)('%j over %i rows, live: %s', (kinds, rows, isLive, cost) => {
  expect(costOf(kinds.map(task), rows, isLive)).toEqual(cost);
});

test('people read it in words', () => {
  const cost = { locks: 'rows', lockedSeconds: 0.1, seconds: 43 } as const;
  const about = {
    code: 'fill-field',
    type: 'Book',
    name: 'note',
    description: 'Fill it',
    risk: 'destructive',
    tasks: [],
  } as const;
  const step = { ...about, tasks: [], checks: [], edits: [], rowsIn: 'books' };
  expect(
    formatSteps([{ step, state: 'ready', isAtStake: true, affected: [], rows: 1_000_000, cost }], { notes: true }),
  ).toBe(
    '  Fill it\n    about 43 s for 1000000 records, writes wait a moment for a record that is just being filled; ' +
      'older instances go on, by the new rules; cannot be undone',
  );
});

const ROWS = 100_000;
const FILL: Readonly<Record<DatabaseKind, (database: TestDatabase) => Promise<void>>> = {
  sqlite: async (database) => {
    const opened = new Database(fileOf(database));
    opened.exec(`insert into books (old) with recursive n (i) as (select 1 union all select i + 1 from n where i < ${ROWS})
      select i from n`);
    opened.close();
  },
  postgres: async ({ url }) => {
    const client = await connectTo(url);
    await client.query(`insert into books (old) select n from generate_series(1, ${ROWS}) n`);
    await client.end();
  },
};
const [NOTE, OLD] = ['note: { type: string }', 'old: { type: string }'];
/** What becomes of the fields, and the seconds of each step that takes some. */
const CHANGES = {
  sqlite: [
    [[NOTE.replace('}', ', default: none }'), OLD], { 'rebuild-table:Book': 0.2 }],
    [[NOTE], { 'drop-field:Book.old': 0.2 }],
    [[NOTE, OLD.replace('}', ', index: true }')], { 'add-index:Book.old': 0.1 }],
  ],
  postgres: [
    [[NOTE.replace('}', ', default: none }'), OLD], { 'fill-field:Book.note': 4 }],
    [[NOTE], {}],
    [[NOTE, OLD.replace('}', ', index: true }')], { 'add-index:Book.old': 0.3 }],
  ],
} as const;

test('the plan counts the rows', async () => {
  const schemaOf = (fields: readonly string[]) => ({
    'book.yaml': `type: Book\nfields: { ${fields.join(', ')} }\n`,
  });
  const project = await createProject(schemaOf([NOTE, OLD]));
  await project.starts();
  await FILL[databaseKind](project.database);
  for (const [fields, seconds] of CHANGES[databaseKind]) {
    project.write(schemaOf(fields));
    const { out } = await project.run('plan', '--json', '--allow', 'drop-field:Book.old');
    const { steps } = JSON.parse(out) as { steps: readonly { id: string; seconds: number }[] };
    const taken = steps.flatMap((step) => (step.seconds > 0 ? [[step.id, step.seconds] as const] : []));
    expect(Object.fromEntries(taken)).toEqual(seconds);
  }
  await project.remove();
});
