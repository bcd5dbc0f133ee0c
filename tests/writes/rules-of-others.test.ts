/** Constraints that others have added: a response names the record that one refuses, and the field if it is about one column. */
import Database from 'better-sqlite3';
import { type Answer, ask } from '../support/ask.ts';
import { databaseKind, fileOf, runSql, type TestDatabase } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';

const FILES = {
  'item.yaml': `type: Item
fields:
  price: { type: integer }
  stock: { type: integer }
  code: { type: string, maxLength: 20 }
  room: { type: string, maxLength: 20 }
relations:
  parts: { kind: hasMany, type: Part, inverse: item, owned: true }
`,
  'part.yaml': `type: Part
fields: { price: { type: integer }, stock: { type: integer } }
relations: { item: { kind: belongsTo, type: Item, inverse: parts } }
`,
};

/** Adds a constraint to a table, as others would. SQLite cannot add one to a table, so its text is changed. */
async function constrain(database: TestDatabase, table: string, constraint: string): Promise<void> {
  if (database.kind === 'postgres') return runSql(database, `alter table ${table} add ${constraint}`);
  const file = new Database(fileOf(database));
  file.unsafeMode();
  file.pragma('writable_schema = on');
  file
    .prepare(`update sqlite_schema set sql = replace(sql, ') strict', ?) where name = ?`)
    .run(`, ${constraint}) strict`, table);
  const version = Number(file.pragma('schema_version', { simple: true }));
  file.pragma(`schema_version = ${version + 1}`);
  file.close();
}

describe('constraints of others', () => {
  let project: Project;
  let service: Serving;
  beforeAll(async () => {
    project = await createProject(FILES);
    const start = (): Promise<Serving> => serve({ ...readSettings(project.environment), shutdownTimeout: 1000 });
    await (await start()).close();
    await runSql(
      project.database,
      'create table their_codes (code text primary key)',
      "insert into their_codes values ('known')",
    );
    for (const table of ['items', 'parts']) {
      await constrain(project.database, table, 'constraint cheap check (price < 100)');
      await constrain(project.database, table, 'check (stock < price)');
    }
    await constrain(project.database, 'items', 'constraint known foreign key (code) references their_codes (code)');
    await runSql(project.database, 'create unique index their_rooms on items (room)');
    service = await start();
    const items = [
      { id: 1, room: 'a', parts: [{}] },
      { id: 2, code: 'known' },
    ];
    expect((await ask(service.url, 'POST /api/items', items)).status).toBe(201);
  });
  afterAll(async () => {
    await service.close();
    await project.remove();
  });
  const send = (title: string, body?: unknown): Promise<Answer> => ask(service.url, title, body);
  const faults = ({ status, body }: Answer): unknown => {
    const { type, errors = [] } = body as { type?: string; errors?: readonly { pointer: string; code: string }[] };
    return [status, type?.replace('urn:problem:', ''), ...errors.flatMap(({ code, pointer }) => [code, pointer])];
  };

  const field = databaseKind === 'postgres' ? '/code' : '';

  test.each<readonly [string, unknown, number, string, string]>([
    ['POST /api/items', { price: 100 }, 422, 'refused-by-database', '/price'],
    ['POST /api/items', { price: 1, stock: 2 }, 422, 'refused-by-database', ''],
    ['POST /api/items', [{}, { price: 100 }, {}], 422, 'refused-by-database', '/1/price'],
    ['POST /api/items', [{ price: 5 }, { price: 1, stock: 2 }], 422, 'refused-by-database', '/1'],
    ['POST /api/items', { price: 5, parts: [{}, { price: 100 }] }, 422, 'refused-by-database', '/parts/1/price'],
    ['POST /api/items', { parts: [{ price: 1, stock: 2 }] }, 422, 'refused-by-database', '/parts/0'],
    ['PUT /api/items/1', { price: 100 }, 422, 'refused-by-database', '/price'],
    ['PATCH /api/items/1', { price: 1, stock: 2 }, 422, 'refused-by-database', ''],
    ['PUT /api/items/1', { price: 5, parts: [{ price: 100 }] }, 422, 'refused-by-database', '/parts/0/price'],
    [
      'PATCH /api/items',
      [
        { id: 2, price: 3 },
        { id: 1, price: 100 },
      ],
      422,
      'refused-by-database',
      '/1/price',
    ],
    // SQLite does not say which foreign key it is.
    ['POST /api/items', { code: 'unknown' }, 422, 'refused-by-database', field],
    ['POST /api/items', [{}, { code: 'unknown' }], 422, 'refused-by-database', `/1${field}`],
    ['PATCH /api/items/1', { code: 'unknown' }, 422, 'refused-by-database', field],
    ['PUT /api/items/1', { code: 'unknown', parts: [] }, 422, 'refused-by-database', field],
    [
      'POST /api/items',
      [{ room: 'b' }, { room: 'a' }],
      409,
      'unique-conflict',
      databaseKind === 'postgres' ? '/1' : '/1/room',
    ],
  ])('%s %j', async (title, body, status, type, pointer) => {
    const before = (await send('GET /api/items')).body;
    expect(faults(await send(title, body))).toEqual([status, type, 'refused', pointer]);
    expect((await send('GET /api/items')).body).toEqual(before);
  });

  if (databaseKind === 'postgres')
    test('exclusion constraints, and deferred ones', async () => {
      await constrain(project.database, 'items', 'constraint apart exclude (room with =, stock with =)');
      await constrain(
        project.database,
        'items',
        'constraint alone exclude (stock with =) deferrable initially deferred',
      );
      expect(await send('POST /api/items', { room: 'x', stock: 1 })).toMatchObject({ status: 201 });
      expect(faults(await send('POST /api/items', [{}, { room: 'x', stock: 1 }]))).toEqual([
        409,
        'unique-conflict',
        'refused',
        '/1',
      ]);
      expect(faults(await send('POST /api/items', [{}, { stock: 1 }]))).toEqual([
        409,
        'unique-conflict',
        'refused',
        '/1/stock',
      ]);
      expect(faults(await send('POST /api/items', { stock: 1 }))).toEqual([
        409,
        'unique-conflict',
        'refused',
        '/stock',
      ]);
    });
});

const SHELVES = {
  'shelf.yaml': `type: Shelf
fields: { size: { type: integer } }
relations:
  boxes: { kind: hasMany, type: Box, inverse: shelf }
  parts: { kind: hasMany, type: Part, inverse: shelf, owned: true }
  tags: { kind: manyToMany, type: Tag }
`,
  'box.yaml':
    'type: Box\nfields: { size: { type: integer } }\nrelations: { shelf: { kind: belongsTo, type: Shelf, inverse: boxes } }\n',
  'part.yaml':
    'type: Part\nfields: { size: { type: integer } }\nrelations: { shelf: { kind: belongsTo, type: Shelf, inverse: parts } }\n',
  'tag.yaml': 'type: Tag\nfields: { size: { type: integer } }\n',
};

describe('triggers of others that leave a row out without a word', () => {
  let project: Project;
  let service: Serving;
  const send = (title: string, body?: unknown): Promise<Answer> => ask(service.url, title, body);
  beforeAll(async () => {
    project = await createProject(SHELVES);
    service = await serve({ ...readSettings(project.environment), shutdownTimeout: 1000 });
    const shelf = { id: 1, size: 1, boxes: [], parts: [{ size: 1 }, { size: 7 }], tags: [] };
    expect(
      await send('POST /api/tags', [
        { id: 1, size: 1 },
        { id: 2, size: 1 },
      ]),
    ).toMatchObject({ status: 201 });
    expect(await send('POST /api/shelves', shelf)).toMatchObject({ status: 201 });
    expect(
      await send('POST /api/boxes', [
        { id: 1, shelf: { id: 1 } },
        { id: 2, size: 7 },
      ]),
    ).toMatchObject({ status: 201 });
    expect(await send('PATCH /api/shelves/1', { boxes: [{ id: 1 }, { id: 2 }], tags: [{ id: 1 }] })).toMatchObject({
      status: 200,
    });
    const silent = (event: string, table: string, row: string, when: string): Promise<void> =>
      runSql(
        project.database,
        project.database.kind === 'sqlite'
          ? `create trigger ${event}_${table} before ${event} on ${table} when ${when} begin select raise(ignore); end`
          : `create function ${event}_${table}() returns trigger language plpgsql as $$ begin if ${when} then return null; end if; return ${row}; end $$;
            create trigger silent_${event} before ${event} on ${table} for each row execute function ${event}_${table}()`,
      );
    for (const table of ['shelves', 'boxes', 'parts', 'tags']) {
      await silent('insert', table, 'new', 'new.size = 7');
      await silent('update', table, 'new', 'new.size = 7');
      await silent('delete', table, 'old', 'old.size = 7');
    }
  });
  afterAll(async () => {
    await service.close();
    await project.remove();
  });

  test.each<readonly [title: string, body: unknown, pointer: string | undefined]>([
    ['POST /api/tags', { size: 7 }, ''],
    ['POST /api/tags?include=', { id: 50, size: 7 }, ''],
    ['POST /api/tags', [{ size: 1 }, { size: 7 }, { size: 2 }], '/1'],
    ['POST /api/shelves', { size: 7, parts: [{}] }, ''],
    ['POST /api/shelves', { parts: [{}, { size: 7 }] }, '/parts/1'],
    ['PATCH /api/tags/1', { size: 7 }, ''],
    ['PUT /api/shelves/1', { parts: [{ id: 1, size: 7 }, { id: 2 }] }, '/parts/0'],
    ['PATCH /api/shelves/1', { boxes: [{ id: 1 }] }, ''],
    ['PATCH /api/shelves/1', { parts: [{ id: 1 }] }, undefined],
    ['DELETE /api/boxes/2', undefined, undefined],
    ['DELETE /api/boxes?_cnd[id][gt]=0', undefined, undefined],
  ])('%s %j', async (title, body, pointer) => {
    const contents = async (): Promise<unknown> =>
      Promise.all(['shelves', 'boxes', 'tags'].map(async (path) => (await send(`GET /api/${path}`)).body));
    const before = await contents();
    const prefer = title.startsWith('DELETE') && title.includes('?') ? { prefer: 'max-affected=9' } : {};
    expect(await ask(service.url, title, body, prefer)).toMatchObject({
      status: 422,
      body: {
        type: 'urn:problem:refused-by-database',
        detail: 'A trigger or rule of the database left the record out',
        ...(pointer === undefined ? {} : { errors: [{ code: 'refused', pointer }] }),
      },
    });
    expect(await contents()).toEqual(before);
  });

  test('a deletion in short transactions', async () => {
    await service.close();
    const { code, err } = await project.run('delete', 'Box', '2', '--chunked');
    expect([code, err.trim()]).toEqual([1, expect.stringContaining('left the record out')]);
    service = await serve({ ...readSettings(project.environment), shutdownTimeout: 1000 });
    expect(await send('GET /api/boxes/2')).toMatchObject({ status: 200 });
  });
});

describe('what an expression of others raises', () => {
  const RAISED: readonly (readonly [sql: string, size: number, says: string])[] =
    databaseKind === 'sqlite'
      ? [
          [`create index theirs on tags (json_extract(nullif('{' || size, '{1'), '$'))`, 2, 'malformed JSON'],
          [
            `create trigger theirs before insert on tags begin select json_extract('{' || new.size, '$'); end`,
            2,
            'malformed JSON',
          ],
          [
            `alter table tags add column theirs text as (json_extract(nullif('{' || size, '{1'), '$')) virtual`,
            2,
            'malformed JSON',
          ],
          [
            'create trigger theirs after insert on tags begin select abs(-9223372036854775807 - 1); end',
            2,
            'integer overflow',
          ],
          [
            'create trigger theirs before insert on tags begin select theirs(new.size); end',
            2,
            'no such function: theirs',
          ],
          [
            `create trigger theirs before insert on tags begin update tags set size = 'x'; end`,
            2,
            'cannot store TEXT value in INTEGER column tags.size',
          ],
        ]
      : [
          ['alter table tags add constraint theirs check (10 / size > 0)', 0, 'division by zero'],
          ['alter table tags add column theirs bigint generated always as (10 / size) stored', 0, 'division by zero'],
          ['create index theirs on tags ((10 / size))', 0, 'division by zero'],
          ['create index theirs on tags ((ln(size)))', 0, 'cannot take logarithm of zero'],
          [
            `alter table tags add constraint theirs check (('2030-01-0' || size)::date is not null)`,
            0,
            'date/time field value out of range: "2030-01-00"',
          ],
          [
            `alter table tags add constraint theirs check (('[' || repeat(']', (2 - size)::int))::json is not null)`,
            2,
            'invalid input syntax for type json',
          ],
          [
            'alter table tags replica identity nothing; create publication theirs for table tags',
            2,
            'cannot update table "tags" because it does not have a replica identity and publishes updates',
          ],
        ];

  test.each(RAISED)('%s', async (sql, size, says) => {
    const project = await createProject({ 'tag.yaml': 'type: Tag\nfields: { size: { type: integer } }\n' });
    await project.serving(async (url) => {
      expect(await ask(url, 'POST /api/tags', { id: 1, size: 1 })).toMatchObject({ status: 201 });
      await runSql(project.database, sql);
      const [title, body] = says.includes('update')
        ? ['PATCH /api/tags', [{ id: 1, size }]]
        : ['POST /api/tags', [{ size: 1 }, { size }]];
      expect(await ask(url, title, body)).toMatchObject({
        status: 422,
        body: { type: 'urn:problem:refused-by-database', detail: says, errors: [{ code: 'refused' }] },
      });
      expect((await ask(url, 'GET /api/tags')).body).toMatchObject([{ id: 1, size: 1 }]);
    });
    if (sql.includes('publication')) await runSql(project.database, 'drop publication theirs');
    await project.remove();
  });
});
