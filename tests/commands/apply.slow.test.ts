/** `records apply` as a process: its progress, and its reaction to signals. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Running, useCompiled } from '../support/compiled.ts';
import { connectTo, databaseKind as kind } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { ask } from '../support/ask.ts';
import { some } from '../support/whole.ts';

const compiled = useCompiled();
const bookWith = (pages: string): Readonly<Record<string, string>> => ({
  'book.yaml': `type: Book\nfields:\n  title: { type: string }\n  pages: { ${pages} }\n`,
});
const BEFORE = bookWith('type: integer');
const AFTER = bookWith('type: string, index: true');
const BOOKS = 30;
const STEPS = {
  sqlite: ['convert-field', 'add-index', 'rebuild-table'],
  postgres: ['convert-field', 'add-index'],
} as const;

/** Blocks the process in the task that it is told, as a long statement of SQLite does. */
const FREEZE = `
const { error } = console;
console.error = (text) => {
  error(text);
  if (text.includes(process.env.FREEZE_AT)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
`;

/** Each row takes a minute to be filled. */
const SLOW = `
create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(60); return new; end';
create trigger slow before update on books for each row execute function slow()`;

describe(`apply on ${kind}`, () => {
  let project: Project;
  beforeEach(async () => {
    project = await createProject(BEFORE);
    await project.serving(async (url) => {
      for (let number = 1; number <= BOOKS; number += 1)
        await ask(url, 'POST /api/books', { title: `T${number}`, pages: number });
    });
    project.write(AFTER);
  });
  afterEach(() => project.remove());

  const start = (words: readonly string[] = [], environment: Readonly<Record<string, string>> = {}): Running =>
    compiled.run('engine/cli.js', ['apply', ...words], { ...project.environment, ...environment });
  const finished = async (): Promise<void> => {
    expect(JSON.parse((await project.run('plan', '--json')).out)).toMatchObject({ steps: [], drift: [] });
    const { body } = await project.serving((url) => ask(url, 'GET /api/books'));
    expect(body).toMatchObject(
      Array.from({ length: BOOKS }, (_, index) => ({ title: `T${index + 1}`, pages: String(index + 1) })),
    );
    expect(body).toHaveLength(BOOKS);
  };
  const untilShown = (running: Running, text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (running.err().includes(text)) resolve();
      };
      running.child.stderr.on('data', look);
      look();
    });

  it('with --json, shows each task as JSON on standard error, and prints its result', async () => {
    const running = start(['--json']);
    expect(await running.ended).toBe(0);
    const events = running
      .err()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(events[0]).toMatchObject({ kind: 'doing', table: 'books', number: 1, position: 0 });
    expect(events).toContainEqual(
      expect.objectContaining({
        position: BOOKS,
        last: BOOKS,
        rows: BOOKS,
        rowsPerSecond: expect.any(Number),
      }),
    );
    expect(JSON.parse(running.out())).toMatchObject({ steps: STEPS[kind].map((code) => ({ code })) });
  });

  it.each(some(['SIGINT', 'SIGTERM'] as const))('ends at %s, and the same command does the rest', async (signal) => {
    const stopped = kind === 'sqlite' ? await stopInStatement(signal) : await stopWhileFilling(signal);
    expect(stopped.err()).toContain('the same command');
    expect(JSON.parse((await project.run('plan', '--json')).out)).toMatchObject({
      steps: STEPS[kind].map((code) => ({ code })),
      drift: [],
    });
    const again = start();
    expect([await again.ended, again.out()]).toEqual([
      0,
      expect.stringContaining(`${STEPS[kind].length} steps applied`),
    ]);
    expect(again.err().includes('\n[1/')).toBe(kind === 'sqlite');
    await finished();
  });

  /** A process that is busy in a statement cannot listen. */
  async function stopInStatement(signal: NodeJS.Signals): Promise<Running> {
    const program = join(project.directory, 'freeze.js');
    writeFileSync(program, FREEZE);
    const running = start([], { FREEZE_AT: 'rows of books: 100%', NODE_OPTIONS: `--require ${program}` });
    await untilShown(running, 'rows of books: 100%');
    running.child.kill(signal);
    await running.ended;
    expect([running.child.signalCode, running.out()]).toEqual([signal, '']);
    return running;
  }

  async function stopWhileFilling(signal: NodeJS.Signals): Promise<Running> {
    const client = await connectTo(project.database.url);
    await client.query(SLOW);
    const running = start();
    await untilShown(running, 'rows of books: 0%');
    running.child.kill(signal);
    expect(await running.ended).toBe(signal === 'SIGINT' ? 130 : 143);
    expect(running.err()).toContain('Stopped. Clients see the old tables or the new ones, and nothing between.');
    await client.query('drop function slow cascade');
    await client.end();
    return running;
  }

  if (kind === 'postgres')
    it('with the descriptors as they were, takes back what was prepared', async () => {
      await stopWhileFilling('SIGTERM');
      project.write(BEFORE);
      const { code, out } = await project.run('apply');
      expect([code, out]).toEqual([0, expect.stringContaining('Took back what a migration')]);
      const client = await connectTo(project.database.url);
      const left = `select attname from pg_attribute where attrelid = 'books'::regclass and starts_with(attname, '_records')`;
      expect((await client.query(left)).rows).toEqual([]);
      await client.end();
      expect((await project.run('apply')).out).not.toContain('Took back');
    });
});
