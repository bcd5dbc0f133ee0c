/** Commands that are killed at any moment leave no partial result that looks complete, and can be run again. */
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { verify } from '../../engine/storage/sqlite/backup.ts';
import { watchDatabase } from '../support/observer.ts';
import { createDatabase, databaseKinds, fileOf, type TestDatabase } from '../support/databases.ts';
import { useCompiled } from '../support/compiled.ts';

/** Of each command, with so many records; `npm run test:nightly -- kills` asks for more of both. */
const [KILLS, RECORDS] = Number(process.env['KILLS'] ?? 0) > 10 ? [60, 20_000] : [2, 5_000];
const TIME = KILLS * 100_000;

const directory = mkdtempSync(join(tmpdir(), 'kills-'));
const compiled = useCompiled();
let schema: string;
beforeAll(async () => {
  schema = mkdtempSync(join(directory, 'schema-'));
  writeFileSync(join(schema, 'note.yaml'), 'type: Note\nfields: { text: { type: string, unique: true } }\n');
  const lines = Array.from(
    { length: RECORDS },
    (_, index) => `{"type":"Note","identifier":${index + 1},"fields":{"text":"note ${index}"},"references":{}}`,
  );
  writeFileSync(at('in'), [`{"format":1,"lines":${RECORDS}}`, ...lines, ''].join('\n'));
});
const at = (name: string): string => join(directory, name);

const start = (url: string, ...words: readonly string[]) =>
  compiled.run('engine/cli.js', words, { DATABASE_URL: url, SCHEMA_DIR: schema });

async function ran(url: string, ...words: readonly string[]): Promise<void> {
  const command = start(url, ...words);
  const code = await command.ended;
  // On a busy machine, progress is told there too.
  expect([words, code, code === 0 ? '' : command.err()]).toEqual([words, 0, '']);
}

/** At a moment between the start of the process and a little after its end. */
async function killed(longest: number, url: string, ...words: readonly string[]): Promise<void> {
  const command = start(url, ...words);
  await sleep(randomInt(longest));
  command.child.kill('SIGKILL');
  await command.ended;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return Math.ceil((performance.now() - started) * 1.1);
}

async function notesIn(database: TestDatabase): Promise<number> {
  if (database.kind === 'sqlite' && !(existsSync(fileOf(database)) && statSync(fileOf(database)).size > 0)) return 0;
  const watch = await watchDatabase(database);
  try {
    return (await watch.contents()).split('\n').filter((line) => line.includes('note ')).length;
  } finally {
    await watch.close();
  }
}

describe.each(databaseKinds)('on %s', (kind) => {
  it(
    `${KILLS} kills of import leave all records, or none`,
    async () => {
      const first = await createDatabase(kind);
      const longest = await timed(() => ran(first.url, 'import', at('in')));
      await first.remove();
      let database = await createDatabase(kind);
      for (let kill = 0; kill < KILLS; kill += 1) {
        await killed(longest, database.url, 'import', at('in'));
        const notes = await notesIn(database);
        expect([0, RECORDS]).toContain(notes);
        if (notes === 0) continue;
        await database.remove();
        database = await createDatabase(kind);
      }
      if ((await notesIn(database)) === 0) await ran(database.url, 'import', at('in'));
      expect(await notesIn(database)).toBe(RECORDS);
      await database.remove();
    },
    TIME,
  );

  it(
    `${KILLS} kills of export leave the whole file, or none`,
    async () => {
      const database = await createDatabase(kind);
      await ran(database.url, 'import', at('in'));
      const longest = await timed(() => ran(database.url, 'export', at('out'), '--force'));
      const whole = readFileSync(at('out'), 'utf8');
      for (let kill = 0; kill < KILLS; kill += 1) {
        rmSync(at('out'), { force: true });
        await killed(longest, database.url, 'export', at('out'));
        if (existsSync(at('out'))) expect(readFileSync(at('out'), 'utf8') === whole).toBe(true);
      }
      await ran(database.url, 'export', at('out'), '--force');
      expect(readFileSync(at('out'), 'utf8') === whole).toBe(true);
      await database.remove();
    },
    TIME,
  );
});

it(
  `${KILLS} kills of backup leave the whole copy, or none`,
  async () => {
    const url = `sqlite:${at('records.db')}`;
    await ran(url, 'import', at('in'));
    const longest = await timed(() => ran(url, 'backup', at('copy.db')));
    const { rows } = verify(at('copy.db'));
    for (let kill = 0; kill < KILLS; kill += 1) {
      rmSync(at('copy.db'), { force: true });
      await killed(longest, url, 'backup', at('copy.db'));
      if (existsSync(at('copy.db'))) expect(verify(at('copy.db')).rows).toBe(rows);
    }
    await ran(url, 'backup', at('copy.db'), '--force');
    expect(verify(at('copy.db')).rows).toBe(rows);
  },
  TIME,
);

it(
  `${KILLS} kills of restore leave one of both databases, whole`,
  async () => {
    const database = await createDatabase('sqlite');
    const [file, { url }] = [fileOf(database), database];
    await ran(url, 'import', at('in'));
    await ran(url, 'backup', at('full.db'));
    const { rows } = verify(at('full.db'));
    rmSync(file);
    const none = join(schema, 'none');
    writeFileSync(none, '{"format":1,"lines":0}\n');
    await ran(url, 'import', none);
    await ran(url, 'backup', at('empty.db'));
    const empty = verify(at('empty.db')).rows;
    const longest = await timed(() => ran(url, 'restore', at('full.db')));
    for (let kill = 0; kill < KILLS; kill += 1) {
      await killed(longest, url, 'restore', at(kill % 2 === 0 ? 'empty.db' : 'full.db'));
      expect([empty, rows]).toContain(verify(file).rows);
    }
    await ran(url, 'restore', at('full.db'));
    expect(verify(file).rows).toBe(rows);
    const left = readdirSync(dirname(file)).filter(
      (name) => !/^records\.db(-wal|-shm|\.before-\w+|\.\w{12}\.partial(-\w+)?)?$/.test(name),
    );
    expect(left).toEqual([]);
    await database.remove();
  },
  TIME,
);
