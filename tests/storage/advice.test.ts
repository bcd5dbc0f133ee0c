/** Lists that look at many more records than they answer: the index that would help, what it changes, and how that is told. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { advise } from '../../engine/commands/advise.ts';
import type { Model } from '../../engine/model/model.ts';
import { createQueryResolver, type TypeQueries } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings.ts';
import { databaseAt, openStorage } from '../../engine/storage/open.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { planFor } from '../../engine/storage/migrate/apply.ts';
import { adviseOn, createAdvisor, type ListAdvice } from '../../engine/storage/read/advice.ts';
import { createReads, type Reads } from '../../engine/storage/read/reads.ts';
import { connectTo, createDatabase, fileOf, type TestDatabase } from '../support/databases.ts';
import { until } from '../support/leaving.ts';
import { loadModel } from '../support/model.ts';

const FIXTURE = 'tests/fixtures/advice';
const VISITS = 20_000;

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'advice-'));
  database = await filled();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.remove();
});

async function filled(): Promise<TestDatabase> {
  const made = await createDatabase();
  await serveOnce(FIXTURE, made);
  const row = `'page ' || (value % 500), 'status ' || (value % 4), '2024-01-' || (10 + value % 20), value % 1000, 1 + value % 50`;
  const insert = `insert into visits (page, status, date, seconds, visitor_id) select ${row}`;
  const visitors = `insert into visitors (name) select 'visitor ' || value`;
  if (made.kind === 'sqlite') {
    const connection = new Database(fileOf(made));
    const series = (count: number): string =>
      `with recursive series(value) as (select 1 union all select value + 1 from series where value < ${count})`;
    connection.exec(`${series(50)} ${visitors} from series; ${series(VISITS)} ${insert} from series`);
    connection.close();
  } else {
    const client = await connectTo(made.url);
    const series = (count: number): string => `generate_series(1, ${count}) as value`;
    await client.query(`${visitors} from ${series(50)}; ${insert} from ${series(VISITS)}; analyze`);
    await client.end();
  }
  return made;
}

/** A start makes the tables, and the indexes. */
async function serveOnce(directory: string, { url }: TestDatabase): Promise<void> {
  const { store } = await openStorage(loadModel(directory), url);
  await store.close();
}

interface Opened {
  readonly driver: Driver;
  readonly queries: TypeQueries;
  readonly model: Model;
}

async function opened<T>(
  directory: string,
  work: (opened: Opened) => Promise<T>,
  { url }: TestDatabase = database,
): Promise<T> {
  const driver = await databaseAt(url).open();
  try {
    const { model } = await planFor(loadModel(directory), driver);
    const visit = model.types.get('Visit');
    if (!visit) throw new Error('there is no type Visit');
    return await work({ driver, model, queries: createQueryResolver(model, readSettings({}))(visit) });
  } finally {
    await driver.close();
  }
}

/** The fixture with a word more. */
function withWord(words: string): string {
  const text = readFileSync(join(FIXTURE, 'visit.yaml'), 'utf8');
  const [, field] = /^(\w+): \{ index: true \}$/.exec(words) ?? [];
  const changed = field === undefined ? `${text}${words}\n` : text.replace(`${field}: {`, `${field}: { index: true,`);
  const directory = mkdtempSync(join(folder, 'schema-'));
  writeFileSync(join(directory, 'visit.yaml'), changed);
  writeFileSync(join(directory, 'visitor.yaml'), readFileSync(join(FIXTURE, 'visitor.yaml')));
  return directory;
}

const PAGE = '_cnd[limit]=0&_cnd[limit]=20';

const LISTS: readonly (readonly [search: string, advice: string, looked: number, answered: number])[] = [
  [`_cnd[orderBy]=date&${PAGE}`, 'date: { index: true }', VISITS, 20],
  [`_cnd[orderBy]=date&_cnd[orderBy]=desc&${PAGE}`, 'date: { index: true }', VISITS, 20],
  [`_cnd[page]=page 7&_cnd[seconds]=507`, 'indexes: [[page, seconds]]', VISITS, 20],
  [`_cnd[page]=none`, 'page: { index: true }', VISITS, 0],
  [`_cnd[status]=status 1&_cnd[orderBy]=seconds&${PAGE}`, 'indexes: [[status, seconds]]', VISITS, 20],
  [`_cnd[page][in]=page 7&_cnd[page][in]=none&${PAGE}`, 'page: { index: true }', VISITS, 20],
  [`_cnd[seconds][gt]=900&_cnd[orderBy]=seconds&${PAGE}`, 'seconds: { index: true }', VISITS, 20],
];

describe('a list that an index would help', () => {
  it.each(LISTS)('%s: %s', async (search, advice, looked, answered) => {
    const found = await opened(FIXTURE, ({ driver, queries }) => adviseOn(driver, queries.list(search), 1));
    expect(found).toMatchObject({ type: 'Visit', advice, answered, times: 1 });
    expect(found?.looked).toBeLessThanOrEqual(looked);
    expect(found?.looked).toBeGreaterThan(100 * answered);
    expect(found?.milliseconds).toBeGreaterThan(0);

    const directory = withWord(advice);
    const indexed = await filled();
    try {
      await serveOnce(directory, indexed);
      await opened(
        directory,
        async ({ driver, queries }) => {
          const query = queries.list(search);
          expect(await adviseOn(driver, query, 1)).toBeUndefined();
          // Not because the word is there: the plan is another one.
          const forgetful = { ...query, view: { ...query.view, type: { ...query.view.type, indexes: [] } } };
          expect(await adviseOn(driver, forgetful, 1)).toBeUndefined();
        },
        indexed,
      );
    } finally {
      await indexed.remove();
    }
  });
});

it.each([
  ['', 'the whole list'],
  [PAGE, 'an index gives the order'],
  ['_cnd[visitor]=7', 'an index finds the records'],
  [`_cnd[orderBy]=date`, 'what it looks at, it answers'],
  ['_cnd[page][like]=*7', 'no index helps'],
  ['_cnd[seconds][gt]=998', 'the order of the list comes first'],
  ['_cnd[visitor.name]=visitor 7', 'an index would be in another table'],
])('nothing is advised for "%s": %s', async (search) => {
  expect(await opened(FIXTURE, ({ driver, queries }) => adviseOn(driver, queries.list(search), 1))).toBeUndefined();
});

interface Watched extends Pick<Opened, 'queries'> {
  readonly reads: Reads;
  readonly told: readonly ListAdvice[];
  /** The moment comes at which advice is told. */
  tell(): void;
}

const watched = (work: (watch: Watched) => Promise<void>): Promise<void> =>
  opened(FIXTURE, async ({ driver, queries }) => {
    const told: ListAdvice[] = [];
    let tell = (): void => undefined;
    const advisor = createAdvisor(
      driver,
      (advice) => void told.push(advice),
      (later) => void (tell = later),
    );
    await work({ reads: createReads(driver, advisor), queries, told, tell: () => tell() });
    advisor.close();
  });

describe('a service', () => {
  it('looks once at each shape of list, and says how often it came', async () => {
    await watched(async ({ reads, queries, told, tell }) => {
      const list = (search: string) => reads.page(queries.list(search), 'exact');
      for (const search of ['_cnd[page]=page 7', '_cnd[page]=page 8', '_cnd[page]=page 9&fields=date'])
        await list(`${search}&${PAGE}`);
      await list(PAGE);
      expect(told).toEqual([]);
      tell();
      await until(() => told.length > 0);
      await list(`_cnd[page]=page 10&${PAGE}`);
      tell();
      expect(told).toMatchObject([
        { type: 'Visit', advice: 'page: { index: true }', list: '_cnd[page]=…', answered: 20, times: 3 },
      ]);
    });
  });
});

it('counts what a whole list without a total returned, before it tells', async () => {
  await watched(async ({ reads, queries, told, tell }) => {
    for (const search of ['_cnd[orderBy]=date', '_cnd[page]=none']) {
      const { records } = await reads.stream(queries.list(search), 'none');
      for await (const _ of records);
    }
    tell();
    await until(() => told.length > 0);
    expect(told).toMatchObject([{ advice: 'page: { index: true }', list: '_cnd[page]=…', answered: 0 }]);
  });
});

describe('records advise', () => {
  const told = { type: 'Visit', advice: 'page: { index: true }', list: '_cnd[page]=…', looked: 9000, answered: 1 };

  async function run(lines: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
    const file = join(folder, 'log');
    writeFileSync(file, lines.join('\n'));
    const { DATABASE_URL, SCHEMA_DIR } = process.env;
    Object.assign(process.env, { DATABASE_URL: database.url, SCHEMA_DIR: FIXTURE });
    const written: string[] = [];
    const printed = jest.spyOn(console, 'log').mockImplementation((text) => void written.push(`${String(text)}\n`));
    try {
      return { code: await advise.run([file]), text: written.join('') };
    } finally {
      printed.mockRestore();
      for (const [name, value] of Object.entries({ DATABASE_URL, SCHEMA_DIR }))
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    }
  }

  it('adds up what services have told', async () => {
    const lines = [
      { level: 'warn', ...told, milliseconds: 2, times: 3 },
      { level: 'info', msg: 'request' },
      { level: 'warn', ...told, milliseconds: 6, times: 1, worker: 2 },
    ].map((line) => JSON.stringify(line));
    expect(await run(lines)).toEqual({
      code: 2,
      text: 'Visit: page: { index: true }\n  _cnd[page]=…\n  looked at 9000 records to return 1, 3 ms, 4 times\n',
    });
  });

  it('measures the lists in the log of a proxy', async () => {
    const line = (target: string): string => `127.0.0.1 - - [22/Nov/2026] "GET ${target} HTTP/1.1" 200 1234`;
    const { code, text } = await run([
      line(`/api/visits?_cnd%5BorderBy%5D=date&${PAGE}`),
      line(`/shop/api/visits?_cnd[orderBy]=date&fields=page&${PAGE}`),
      line('/api/visits?nonsense=1'),
      line('/api/visits/7?include='),
      line('/elsewhere?x=1'),
      line('/api/visits?_cnd[visitor]=3'),
    ]);
    expect(code).toBe(2);
    expect(text).toMatch(
      /^Visit: date: \{ index: true \}\n  _cnd\[orderBy\]=date\n  looked at 20000 records to return 20, [\d.]+ ms, 2 times\n$/,
    );
  });

  it('has nothing to say about other logs', async () => {
    expect(await run(['', '{', 'GET /api/visits HTTP/1.1'])).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^No list/),
    });
  });
});
