/** A migration that is killed repeatedly, each time a little later, resumes and loses nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Serving } from '../../engine/server/serve.ts';
import { ask } from '../support/ask.ts';
import { moduleOf, openBuild } from '../support/compiled.ts';
import { connectTo } from '../support/databases.ts';
import { onServer, startInstance } from '../support/postgres.ts';
import { createProject, type Project } from '../support/project.ts';

/** Applies the plan, and exits at the event with this number. */
const KILLED = `
const [modules, at, ...allowed] = process.argv.slice(2);
const [{ readModel }, { databaseAt }, { planFor, applyPlan, createEngineTables }] = modules.split(',').map(require);
let count = 0;
const watch = {
  caller: require(process.env.CALLER).NO_CLIENT,
  report: () => { if (String((count += 1)) === at) process.kill(process.pid, 'SIGKILL'); },
};
(async () => {
  const model = readModel(process.env.SCHEMA_DIR);
  const driver = await databaseAt(process.env.DATABASE_URL).open();
  await createEngineTables(driver);
  await driver.finishMigration(watch);
  await applyPlan(await planFor(model, driver, new Set(allowed)), driver, new Set(allowed), watch);
  await driver.close();
})();
`;

/**
 * After how many events each process is killed, so that the next one resumes at another task. With 2, as
 * `npm run test:nightly -- migrations` sets it, a process dies in every task.
 */
const NEXT = Number(process.env['KILLS'] ?? 0) > 10 ? 2 : 3;

const BEFORE = {
  'book.yaml': `type: Book
open: true
fields:
  title: { type: string, index: true }
  pages: { type: integer, index: true }
  isbn: { type: string }
  note: { type: string }
  old: { type: string }
relations: { shelf: { kind: belongsTo, type: Shelf } }
`,
  'shelf.yaml': 'type: Shelf\nfields: { name: { type: string } }\n',
};
const AFTER = {
  'book.yaml': `type: Book
open: true
fields:
  title: { type: string }
  pages: { type: decimal, precision: 12, index: true }
  isbn: { type: string, unique: true }
  note: { type: string, default: none }
  taken: { type: integer, index: true }
relations: { shelf: { kind: belongsTo, type: Shelf, onDelete: cascade } }
`,
};
const ALLOWED = ['drop-index:Book.title', 'fill-field:Book.note', 'drop-field:Book.old', 'add-unique:Book.isbn'];

onServer('a change of tables', () => {
  let project: Project;
  let old: Serving;
  beforeEach(async () => {
    project = await createProject(BEFORE, undefined, 'postgres');
    old = await startInstance(project.database.url, { schemaDirectory: project.directory });
  });
  afterEach(async () => {
    await old.close();
    await project.remove();
  });

  const create = (number: number) =>
    ask(old.url, 'POST /api/books', { title: `T${number}`, pages: number, isbn: `I${number}`, taken: number });
  const all = async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    const client = await connectTo(project.database.url);
    const { rows } = await client.query<Record<string, unknown>>(sql);
    await client.end();
    return rows;
  };
  const progress = async (): Promise<string> =>
    JSON.stringify(await all('select key, done, rest from _records_migration'));

  /** `applyUntil` starts a process that applies the change, and dies at the event of this number. */
  function prepareKill() {
    const compiled = openBuild();
    const program = join(project.directory, 'killed.js');
    writeFileSync(program, KILLED);
    const modules = ['readModel', 'databaseAt', 'applyPlan'].map((name) => moduleOf(name, compiled));
    const environment = { ...project.environment, CALLER: moduleOf('NO_CLIENT', compiled) };
    const applyUntil = (at: number) => compiled.run(program, [modules.join(','), String(at), ...ALLOWED], environment);
    return { compiled, applyUntil };
  }

  it('that is killed again and again ends in the same tables, with every record that was acknowledged', async () => {
    for (let number = 1; number <= 20; number += 1) expect(await create(number)).toMatchObject({ status: 201 });
    project.write(AFTER);
    const { compiled, applyUntil } = prepareKill();
    let made = 20;
    let kills = 0;
    try {
      for (let at = 1, last = ''; ;) {
        const running = applyUntil(at);
        await running.ended;
        expect(running.err()).toBe('');
        if (running.child.signalCode === null) break;
        kills += 1;
        const now = await progress();
        at = now === last ? at + 1 : NEXT;
        last = now;
        const { status } = await create((made += 1));
        if (status !== 201) made -= 1;
        // After the switch, this version cannot use the tables.
        expect([201, 503]).toContain(status);
      }
    } finally {
      await compiled.stop();
    }
    expect(kills).toBeGreaterThan(NEXT === 2 ? 15 : 6);
    expect(made).toBeGreaterThan(23);
    expect(JSON.parse((await project.run('plan', '--json')).out)).toMatchObject({ steps: [], drift: [] });
    expect(await progress()).toBe('[]');
    expect(
      await all(`select proname from pg_proc where proname like '%records_fill%'
      and pronamespace = current_schema()::regnamespace`),
    ).toEqual([]);
    const { body } = await project.serving((url) => ask(url, 'GET /api/books'));
    const expected = Array.from({ length: made }, (_, index) => index + 1).map((number) => ({
      title: `T${number}`,
      pages: String(number),
      isbn: `I${number}`,
      note: 'none',
      taken: number,
    }));
    expect(body).toMatchObject(expected);
    expect(body).toHaveLength(made);
  });

  it('that was cut off is taken back by other descriptors', async () => {
    for (let number = 1; number <= 5; number += 1) await create(number);
    project.write(AFTER);
    const { compiled, applyUntil } = prepareKill();
    try {
      await applyUntil(16).ended;
    } finally {
      await compiled.stop();
    }
    expect(await progress()).not.toBe('[]');
    project.write({ 'book.yaml': BEFORE['book.yaml'].replace('  isbn', '  other: { type: string }\n  isbn') });
    expect(await project.run('apply')).toMatchObject({ code: 0 });
    expect(await progress()).toBe('[]');
    // Other tests change tables of their own schemas at the same time.
    const left = `select attname from pg_attribute join pg_class on pg_class.oid = attrelid
        where starts_with(attname, '_records_') and relnamespace = current_schema()::regnamespace
      union all select conname from pg_constraint
        where starts_with(conname, '_records_new') and connamespace = current_schema()::regnamespace
      union all select relname from pg_class
        where starts_with(relname, '_records_new') and relnamespace = current_schema()::regnamespace
      union all select tgname from pg_trigger join pg_class on pg_class.oid = tgrelid
        where starts_with(tgname, '_records_') and relnamespace = current_schema()::regnamespace`;
    expect(await all(left)).toEqual([]);
    expect(JSON.parse((await project.run('plan', '--json')).out)).toMatchObject({ steps: [], drift: [] });
  });
});
