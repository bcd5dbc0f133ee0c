/** Migrations that are refused, interrupted, repeated or reverted, and objects that they never touch. */
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ask } from '../support/ask.ts';
import { moduleOf, useCompiled } from '../support/compiled.ts';
import { fileOf } from '../support/databases.ts';
import { onSqlite } from '../support/only.ts';
import { BOOKS, contents, steps, useBooks } from '../migration/books.ts';

const compiled = useCompiled();
const { projectOf } = useBooks();

/** Applies the plan, and dies behind the statement of this number; 0 is before the first one. */
const KILLED = `
const [modules, at, ...allowed] = process.argv.slice(2);
const [{ readModel }, { databaseAt }, { planFor }, { applyPlan }] = modules.split(',').map(require);
const die = () => process.kill(process.pid, 'SIGKILL');
(async () => {
  const model = readModel(process.env.SCHEMA_DIR);
  const driver = await databaseAt(process.env.DATABASE_URL).open();
  const plan = await planFor(model, driver, new Set(allowed));
  // A task that works on rows tells more than once how far it has come.
  const tasks = new Set();
  const report = (event) => {
    if (!tasks.has(event.number) && String(tasks.size) === at) die();
    tasks.add(event.number);
  };
  const migrate = ({ after, watch, ...migration }) =>
    driver.migrate({
      ...migration,
      watch: { ...watch, report },
      after: async (connection) => {
        await after(connection);
        if (String(tasks.size) === at) die();
      },
    });
  await applyPlan(plan, { ...driver, migrate }, new Set(allowed));
  die();
})();
`;

/** Statements from one kill to the next; with 1, as `npm run test:nightly -- kills` sets it, every statement is one. */
const STRIDE = Number(process.env['KILLS'] ?? 3) > 10 ? 1 : 4;

describe('a process that is killed in the middle', () => {
  const before = {
    'book.yaml': `${BOOKS}  isbn: { type: string, unique: true }
relations:
  chapters: { kind: hasMany, type: Chapter, owned: true }
  genres: { kind: manyToMany, type: Genre }
`,
    'chapter.yaml': 'type: Chapter\nfields: { heading: { type: string } }',
    'genre.yaml': 'type: Genre\nfields: { name: { type: string } }',
  };
  const after = {
    'book.yaml': null,
    'genre.yaml': null,
    'volume.yaml': `type: Volume
renamedFrom: Book
path: books
fields: { heading: { type: string, maxLength: 100, renamedFrom: title }, pages: { type: decimal, default: "0" } }
relations: { chapters: { kind: hasMany, type: Chapter, owned: true } }
`,
    'chapter.yaml':
      'type: Chapter\nfields: { heading: { type: string, default: "-" , nullable: true }, note: { type: string, index: true } }',
  };

  onSqlite('leaves the old tables whole, or the new ones, wherever that is', async () => {
    const project = await projectOf(before, async (url) => {
      await ask(url, 'POST /api/genres', { name: 'G' });
      for (const title of ['A', 'B'])
        await ask(url, 'POST /api/books', {
          title,
          isbn: title,
          chapters: [{ heading: 'x' }, { heading: 'y' }],
          genres: [{ id: 1 }],
        });
    });
    project.write(after);
    const file = fileOf(project.database);
    const kept = join(dirname(file), 'kept');
    copyFileSync(file, kept);
    const old = await contents(project);
    const planned = await steps(project);
    const allowed = planned.filter(({ state }) => state !== 'ready').map(({ id }) => id);
    const made = await steps(project, ...allowed.flatMap((id) => ['--allow', id]));
    const statements = made.flatMap(({ sql }) => sql).length;
    expect(statements).toBeGreaterThan(12);

    const program = join(dirname(file), 'killed.js');
    writeFileSync(program, KILLED);
    const modules = ['readModel', 'databaseAt', 'planFor', 'applyPlan'].map((name) => moduleOf(name, compiled));
    // The last two are the end of the transaction, and what follows it.
    const places = Array.from({ length: statements + 2 }, (_, at) => at);
    for (const at of places.filter((place) => place % STRIDE === 0 || place >= statements)) {
      for (const name of ['-wal', '-shm']) rmSync(file + name, { force: true });
      copyFileSync(kept, file);
      const running = compiled.run(program, [modules.join(','), String(at), ...allowed], project.environment);
      await running.ended;
      expect([at, running.child.signalCode, running.err()]).toEqual([at, 'SIGKILL', '']);
      if (at <= statements) expect([at, await contents(project)]).toEqual([at, old]);
      expect([at, (await steps(project)).length]).toEqual([at, at <= statements ? planned.length : 0]);
    }
    const { body } = await project.serving((url) => ask(url, 'GET /api/books/2'));
    expect(body).toEqual({
      id: 2,
      heading: 'B',
      pages: '0',
      chapters: [
        { id: 3, heading: 'x', note: null },
        { id: 4, heading: 'y', note: null },
      ],
    });
  });
});
