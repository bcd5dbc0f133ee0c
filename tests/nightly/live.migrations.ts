/**
 * Every kind of step while clients read and write. `npm run test:nightly -- migrations` does it with a million rows, prints how
 * long requests waited and holds them to a limit; with few rows, no time is measured.
 */
import type { Running } from '../support/compiled.ts';
import { openBuild, urlOf } from '../support/compiled.ts';
import { connectTo } from '../support/databases.ts';
import { onServer, pause } from '../support/postgres.ts';
import { createProject, type Project } from '../support/project.ts';
import { type Waited, waitedWhile } from '../support/waiting.ts';

const ROWS = Number(process.env['LIVE_ROWS'] ?? 2000);
const isMeasured = process.env['LIVE_ROWS'] !== undefined;
/** Milliseconds by which a change may make the longest wait longer than it is without one. */
const LIMIT = 200;

interface Book {
  readonly fields: Readonly<Record<string, string>>;
  readonly relations: Readonly<Record<string, string>>;
  readonly open: boolean;
}

const START: Book = {
  fields: {
    title: '{ type: string }',
    pages: '{ type: integer }',
    isbn: '{ type: string }',
    code: '{ type: string }',
    note: '{ type: string }',
    rate: '{ type: decimal, precision: 10, scale: 2 }',
    old: '{ type: string, index: true }',
  },
  relations: { shelf: '{ kind: belongsTo, type: Shelf }' },
  open: true,
};

const lines = (parts: Readonly<Record<string, string>>): string =>
  Object.entries(parts)
    .map(([name, text]) => `  ${name}: ${text}\n`)
    .join('');
/** Without totals: to count a million records takes longer than most waits here. */
const filesOf = ({ fields, relations, open }: Book) => ({
  'book.yaml': `type: Book\nlist: { count: none }\nopen: ${open}\nfields:\n${lines(fields)}relations:\n${lines(relations)}`,
  'shelf.yaml': 'type: Shelf\nfields: { name: { type: string } }\n',
});

const field = (name: string, text: string) => (book: Book) => ({ ...book, fields: { ...book.fields, [name]: text } });
const without = (name: string) => (book: Book) => ({
  ...book,
  fields: Object.fromEntries(Object.entries(book.fields).filter(([one]) => one !== name)),
});
const relation = (name: string, text: string) => (book: Book) => ({
  ...book,
  relations: { ...book.relations, [name]: text },
});

type Change = (book: Book) => Book;

const changes: readonly (readonly [what: string, change: Change])[] = [
  ['a field is added', field('added', '{ type: string }')],
  ['a field with a default is added', field('lang', '{ type: string, default: en }')],
  ['a default changes', field('lang', '{ type: string, default: de }')],
  ['an index is added', field('pages', '{ type: integer, index: true }')],
  ['a unique index is added', field('isbn', '{ type: string, unique: true }')],
  ['an index is dropped', field('old', '{ type: string }')],
  ['a field no longer takes null', field('code', '{ type: string, required: true }')],
  ['nulls become a default', field('note', '{ type: string, default: none }')],
  ['an integer becomes a decimal', field('pages', '{ type: decimal, precision: 12, index: true }')],
  ['a decimal takes less', field('rate', '{ type: decimal, precision: 6, scale: 2 }')],
  ['an open key becomes a field', field('taken', '{ type: integer, index: true }')],
  ['a relation is added', relation('room', '{ kind: belongsTo, type: Shelf }')],
  ['a deletion cascades', relation('shelf', '{ kind: belongsTo, type: Shelf, onDelete: cascade }')],
  ['a field is dropped', without('added')],
  ['a type is closed', (book) => ({ ...book, open: false })],
  [
    'a field gets another name',
    (book) => field('remark', '{ type: string, default: none, index: true, renamedFrom: note }')(without('note')(book)),
  ],
];

const FILL = `
  insert into shelves (name) select 'shelf ' || n from generate_series(1, 100) n;
  insert into books (title, pages, isbn, code, note, rate, old, shelf_id, _open)
  select 'title ' || n, n % 1000, 'isbn-' || n, 'c' || n, case when n % 2 = 0 then 'n' end, (n % 1000) + 0.5, 'o' || n % 1000,
    1 + n % 100, case when n % 2 = 0 then json_build_object('taken', n) else '{}'::json end
  from generate_series(1, ${ROWS}) n;
  analyze`;

/** Notes the locks that each statement of DDL leaves behind in its transaction. */
const NOTE_LOCKS = `
  create schema noted;
  create table noted.locks (statement text, mode text, patience text);
  create function noted.note() returns event_trigger language plpgsql as $$
    begin
      insert into noted.locks select current_query(), mode, current_setting('lock_timeout')
        from pg_locks where pid = pg_backend_pid() and relation = to_regclass('books') and granted;
    end
  $$;
  create event trigger note_locks on ddl_command_end execute function noted.note()`;
/** Locks that hold up writes, and those under which tables are read from end to end. */
const STRONG = new Set(['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock']);
const READS_ALL = /\bvalidate constraint\b|\bcreate (unique )?index concurrently\b/i;

interface NotedLock {
  readonly statement: string;
  readonly mode: string;
  readonly patience: string;
}

const shown = ({ longest, lock, requests, refused }: Waited): string =>
  [
    ...Object.values(longest).map((one) => one.toFixed(0).padStart(7)),
    lock.toFixed(0).padStart(7),
    String(requests).padStart(9),
    ` ${Object.entries(refused)
      .map(([what, count]) => `${count} x ${what}`)
      .join(', ')}`,
  ].join('');

const longestIn = ({ longest, lock }: Waited): number => Math.max(lock, ...Object.values(longest));

onServer(`${ROWS} records that clients read and write`, () => {
  let project: Project;
  let server: Running;
  let url: string;
  let book = START;
  const build = openBuild();
  const report: string[] = [];
  const written = new Map<number, string>();
  /** The longest wait without a migration. */
  let usual = 0;
  const note = (what: string, seconds: number, waited: Waited): void => {
    report.push(`${what.padEnd(34)}${seconds.toFixed(1).padStart(7)}${shown(waited)}`);
    for (const [id, title] of waited.written) written.set(id, title);
  };

  async function restart(): Promise<void> {
    if (server) {
      server.child.kill('SIGTERM');
      await server.ended;
    }
    server = build.run('server.js', [], project.environment);
    url = await urlOf(server);
  }
  const waited = (meanwhile: () => Promise<void>): Promise<Waited> =>
    waitedWhile({ url, path: '/api/books', rows: ROWS, databaseUrl: project.database.url }, meanwhile);

  beforeAll(async () => {
    project = await createProject(filesOf(START), undefined, 'postgres');
    await restart();
    const client = await connectTo(project.database.url);
    await client.query(FILL);
    await client.query('vacuum');
    await client.query(NOTE_LOCKS);
    await client.end();
  });

  afterAll(async () => {
    await build.stop();
    await project?.remove();
    const head =
      'milliseconds, longest'.padEnd(34) +
      ['seconds', 'get', 'list', 'write', 'lock', 'requests']
        .map((one) => one.padStart(one === 'requests' ? 9 : 7))
        .join('');
    if (isMeasured) process.stdout.write(`\n${[head, ...report].join('\n')}\n\n`);
  });

  const expectKept = async (): Promise<void> => {
    const client = await connectTo(project.database.url);
    const ids = [...written.keys()];
    const { rows } = await client.query<{ id: string; title: string }>(
      'select id, title from books where id = any($1::bigint[])',
      [ids],
    );
    const found = new Map(rows.map((row) => [Number(row.id), row.title]));
    expect(ids.filter((id) => found.get(id) !== written.get(id))).toEqual([]);
    await client.end();
  };

  async function notedLocks(): Promise<readonly NotedLock[]> {
    const client = await connectTo(project.database.url);
    const { rows } = await client.query<NotedLock>('delete from noted.locks returning statement, mode, patience');
    await client.end();
    return rows;
  }

  /** Whether the plan says that the instance which runs answers every request, and not 503 to some. */
  let isUsable: boolean;

  const applying = async (): Promise<void> => {
    const plan = build.run('engine/cli.js', ['plan', '--json'], project.environment);
    await plan.ended;
    const { steps } = JSON.parse(plan.out()) as { steps: { id: string; state: string; older?: string }[] };
    isUsable = steps.every(({ older }) => older === undefined || (older === 'named' && !book.open));
    const allowed = steps.filter(({ state }) => state !== 'ready').flatMap(({ id }) => ['--allow', id]);
    await run('apply', ...allowed);
  };

  async function run(...command: readonly string[]): Promise<void> {
    const apply = build.run('engine/cli.js', command, project.environment);
    const code = await apply.ended;
    if (code !== 0) report.push(`   failed: ${apply.err().trimEnd().split('\n').at(-1)}`);
    expect([code, code === 0 ? '' : apply.err()]).toEqual([0, '']);
  }

  if (isMeasured)
    it('without a migration', async () => {
      const found = await waited(() => pause(20_000));
      note('(without a migration)', 20, found);
      usual = longestIn(found);
    });

  async function during(what: string, change: Change, meanwhile: (work: () => Promise<void>) => Promise<void>) {
    book = change(book);
    isUsable = true;
    project.write(filesOf(book));
    const began = performance.now();
    let failed: unknown;
    const found = await waited(() => meanwhile(applying).catch((error: unknown) => void (failed = error)));
    note(what, (performance.now() - began) / 1000, found);
    if (failed !== undefined) throw failed;
    await restart();
    expect(Object.keys(found.refused).filter((one) => isUsable || !one.startsWith('503 '))).toEqual([]);
    await expectKept();
    const strong = (await notedLocks()).filter(({ mode }) => STRONG.has(mode));
    expect(strong.filter(({ patience }) => patience !== '100ms')).toEqual([]);
    expect(strong.filter(({ statement }) => READS_ALL.test(statement))).toEqual([]);
    if (isMeasured) {
      expect(longestIn(found)).toBeLessThan(LIMIT + usual);
    }
  }

  describe('nobody waits long, and nothing is lost:', () => {
    it.each(changes)('%s', (what, change) => during(what, change, (work) => work()), 900_000);

    it(
      'behind a slow reader of a list',
      () =>
        during('behind a slow reader of a list', field('late', '{ type: string }'), async (work) => {
          const reader = await connectTo(project.database.url);
          await reader.query('begin isolation level repeatable read read only');
          await reader.query('select 1 from books limit 1');
          const slow = pause(isMeasured ? 5000 : 300).then(() => reader.query('commit'));
          await Promise.all([work(), slow]);
          await reader.end();
        }),
      900_000,
    );
  });
});
