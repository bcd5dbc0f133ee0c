/** Values that other programs have stored and that no type of field allows: responses are JSON all the same. */
import { type Answer, ask } from '../support/ask.ts';
import { databaseKind, runSql } from '../support/databases.ts';
import { useServer } from '../support/server.ts';

const NOTE = `type: Note
open: true
history: true
fields:
  any: { type: any }
  list: { type: array, items: { type: integer } }
  price: { type: decimal, precision: 8, scale: 2 }
  weight: { type: number }
  day: { type: date }
  at: { type: timestamp }
  key: { type: uuid }
relations:
  parent: { kind: belongsTo, type: Note, inverse: children }
  children: { kind: hasMany, type: Note, inverse: parent }
`;

const server = useServer({ files: { 'note.yaml': NOTE } });
const send = (title: string, body?: unknown): Promise<Answer> => ask(server.url, title, body);

beforeAll(async () => {
  const notes = [{ id: 1 }, { id: 2, parent: { id: 1 } }];
  for (const note of notes) expect((await send('POST /api/notes', note)).status).toBe(201);
});

const COLUMNS = ['any', 'list', 'price', 'weight', 'day', 'at', 'key', '_open'];
const TEXTS = ['no JSON', '', '"', '\\', '{"a":1', '{"a":1}{', '[1,]', '1 2', 'NaN', '{ }', '[1]', 'null', ' {"z": 1}'];
const REQUESTS: readonly (readonly [title: string, body?: unknown])[] = [
  ['GET /api/notes/1'],
  ['GET /api/notes?_cnd[orderBy]=price&_cnd[orderBy]=at&_cnd[limit]=0&_cnd[limit]=1'],
  ['GET /api/notes?include=children.parent'],
  ['GET /api/notes/$summary?by=month(at),price&measure=sum(price),avg(price),max(weight),min(key)'],
  ['PATCH /api/notes/2', { z: { a: 1 } }],
  ['PATCH /api/notes/2', { any: { a: 1 }, list: [1] }],
  ['GET /api/notes/2/$history'],
];

if (databaseKind === 'sqlite')
  test.each(TEXTS)('%j', async (text) => {
    const sets = COLUMNS.map((column) => `${column} = '${text}'`);
    await runSql(server.database, `update notes set ${sets.join(', ')}`);
    for (const [title, body] of REQUESTS) expect([title, (await send(title, body)).status]).toEqual([title, 200]);
    const { body } = await send('GET /api/notes/1?include=');
    const { any } = body as { any: unknown };
    const isJson = ['{ }', '[1]', 'null', ' {"z": 1}'].includes(text);
    expect(any).toEqual(isJson ? JSON.parse(text) : text);
    expect((await send('PUT /api/notes/1?include=', { any })).body).toEqual(body);
  });
else
  test.each(COLUMNS.filter((column) => column !== 'price'))(
    '%s, of a type that takes any text: 503, and never a response that is no JSON',
    async (column) => {
      const change = (type: string, value: string): Promise<void> =>
        runSql(server.database, `alter table notes alter column "${column}" type ${type} using ${value}`);
      const type = { any: 'json', list: 'json', weight: 'double precision', day: 'date' }[column];
      await change('text', `'no "JSON"'`);
      try {
        for (const [title, body] of REQUESTS)
          expect([title, [200, 503].includes((await send(title, body)).status)]).toEqual([title, true]);
      } finally {
        await change(
          type ?? { at: 'timestamptz', key: 'uuid' }[column] ?? 'json',
          column === '_open' ? `'{}'` : 'null',
        );
      }
      expect((await send('GET /api/notes/1')).status).toBe(200);
    },
  );
