/** Every alias in the SQL of requests, as the name of a field and of a table: the answers are those of other names. */
import { rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { stringify } from 'yaml';
import { nameFault, tableFault } from '../../engine/descriptor/texts.ts';
import { type Answer, ask } from '../support/ask.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** Of which there is one field each, in turns. */
const TYPES = [
  { field: { type: 'string', maxLength: 40, caseless: true }, value: (seed: number) => `Text ${seed}` },
  { field: { type: 'decimal', precision: 8, scale: 2 }, value: (seed: number) => `${seed}.50` },
  { field: { type: 'integer' }, value: (seed: number) => seed },
  { field: { type: 'timestamp' }, value: (seed: number) => `2024-01-0${(seed % 9) + 1}T00:00:00Z` },
] as const;

interface Schema {
  readonly words: readonly string[];
  /** The name of the field or table for a word. */
  readonly nameOf: (word: string) => string;
}

/** Of names that mean nothing to a database. */
const PREFIX = 'plain_';

const typeOf = (index: number): (typeof TYPES)[number] => TYPES[index % TYPES.length] ?? TYPES[0];

function writeSchema({ words, nameOf }: Schema): string {
  const fields = Object.fromEntries(words.map((word, index) => [nameOf(word), typeOf(index).field]));
  const folder = mkdtempSync(join(tmpdir(), 'schema-'));
  const write = (type: string, descriptor: object): void =>
    writeFileSync(join(folder, `${type}.yaml`), stringify({ type, identifier: { name: 'number_' }, ...descriptor }));
  write('Card', {
    path: 'cards',
    open: true,
    fields,
    relations: {
      box_: { kind: 'belongsTo', type: 'Box', inverse: 'cards_', nested: 'write' },
      parts_: { kind: 'hasMany', type: 'Part', owned: true, nested: 'write' },
      others_: { kind: 'manyToMany', type: 'Card' },
    },
  });
  write('Box', { path: 'boxes', fields, relations: { cards_: { kind: 'hasMany', type: 'Card', inverse: 'box_' } } });
  write('Part', { fields, operations: [] });
  for (const [index, word] of words.entries())
    write(`Tree${index}`, {
      path: `trees-${index}`,
      table: nameOf(word),
      fields: { [nameOf(word)]: { type: 'string', unique: true, maxLength: 40, caseless: true } },
      relations: {
        above_: { kind: 'belongsTo', type: `Tree${index}`, inverse: 'below_', acyclic: true, onDelete: 'cascade' },
        below_: { kind: 'hasMany', type: `Tree${index}`, inverse: 'above_', nested: 'write' },
      },
    });
  return folder;
}

/** Every answer, with the words for the names. */
async function answers({ words, nameOf }: Schema, server: TestServer): Promise<readonly unknown[]> {
  const given: unknown[] = [];
  const plain = (value: unknown): unknown => JSON.parse((JSON.stringify(value) ?? 'null').replaceAll(PREFIX, ''));
  async function send(title: string, body?: unknown): Promise<Answer> {
    const answer = await ask(server.url, title, body, title.startsWith('DELETE') ? { prefer: 'max-affected=9' } : {});
    const { status, headers } = answer;
    given.push([title.split('?')[0], status, headers.get('x-total-count'), plain(answer.body)]);
    if (status >= 500) throw new Error(`${title}: ${status} ${JSON.stringify(answer.body)}`);
    return answer;
  }
  const record = (seed: number): object =>
    Object.fromEntries(words.map((word, index) => [nameOf(word), typeOf(index).value(seed + (index % 3))]));

  for (const seed of [3, 1, 2])
    await send('POST /api/cards', {
      ...record(seed),
      open_: { a: 1 },
      box_: record(seed + 3),
      parts_: [record(seed), record(seed + 1)],
    });
  await send('PUT /api/cards/1', {
    ...record(4),
    open_: 2,
    others_: [{ number_: 2 }, { number_: 3 }],
    parts_: [{ number_: 1 }],
  });
  await send('PATCH /api/boxes/1', record(5));
  for (const [index, word] of words.entries()) {
    const name = encodeURIComponent(nameOf(word));
    const value = encodeURIComponent(String(typeOf(index).value(2 + (index % 3))));
    const pages = '_cnd[limit]=0&_cnd[limit]=2';
    const { headers } = await send(`GET /api/cards?_cnd[orderBy]=box_.${name}&_cnd[orderBy]=desc&${pages}`);
    const [, next = ''] = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
    await send(`GET ${next}`);
    await send(`GET /api/cards?_cnd[orderBy]=${name}&include=box_.cards_,others_,parts_&_cnd[limit]=2`);
    await send(`GET /api/cards?_cnd[${name}]=${value}&_cnd[box_.${name}][ne]=${value}&${pages}`);
    await send(`GET /api/boxes?_cnd[cards_][$some][${name}][gte]=${value}&${pages}`);
    await send(`GET /api/cards/$summary?by=${name},box_&measure=count,max(${name}),min(box_.${name})&_cnd[limit]=5`);
    if (index % TYPES.length === 0) await send(`GET /api/cards?_cnd[${name}][like]=*e*&${pages}`);

    const tree = `/api/trees-${index}`;
    const { body } = await send(`POST ${tree}`, { [nameOf(word)]: 'A', below_: [{ [nameOf(word)]: 'B' }] });
    expect(body).toHaveProperty('number_');
    await send(`POST ${tree}`, [{ [nameOf(word)]: 'C', above_: { number_: 2 } }, { [nameOf(word)]: 'D' }]);
    await send(`POST ${tree}`, { [nameOf(word)]: 'a' });
    await send(`PUT ${tree}?on=${name}`, { [nameOf(word)]: 'd', below_: [{ number_: 1 }] });
    await send(`PATCH ${tree}/1`, { above_: { number_: 3 } });
    await send(`GET ${tree}?_cnd[orderBy]=above_.${name}&include=above_.above_,below_.below_&_cnd[limit]=2`);
    await send(`GET ${tree}?_cnd[limit]=2&_cnd[above_][null]=true`);
    await send(`DELETE ${tree}?_cnd[${name}]=c`);
    await send(`DELETE ${tree}/1?dryRun=true`);
    await send(`DELETE ${tree}/1`);
  }
  await send('DELETE /api/cards?_cnd[number_][gte]=2');
  await send('DELETE /api/cards/1');
  return given;
}

async function run(schema: Schema): Promise<readonly unknown[]> {
  const schemaDirectory = writeSchema(schema);
  const server = await startTestServer({ schemaDirectory });
  try {
    return await answers(schema, server);
  } finally {
    await server.close();
    rmSync(schemaDirectory, { recursive: true });
  }
}

/** Texts and comments are left out. An alias is marked by its `$`; where that is forgotten, by the word before it. */
function aliasesIn(sql: string): readonly string[] {
  const bare = sql.replaceAll(/'(?:[^']|'')*'/g, ' ').replaceAll(/["`]([^"`]*)["`]/g, '$1');
  return [...bare.matchAll(/(?<=\b(?:as|with|recursive) )\w+\b|\b[a-z]\w*\$/g)].map(([word]) => word.replace('$', ''));
}

const found = new Set<string>();
const spied: { mockRestore(): void }[] = [];
beforeAll(() => {
  const note = (sql: unknown): void => {
    const text = typeof sql === 'string' ? sql : (sql as { readonly text?: string }).text;
    for (const word of aliasesIn(text ?? '')) found.add(word);
  };
  const { prepare } = Database.prototype;
  spied.push(
    jest.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, sql) {
      note(sql);
      return prepare.call(this, sql);
    }),
  );
  const { query } = Client.prototype;
  spied.push(
    jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...args: unknown[]) {
      note(args[0]);
      return Reflect.apply(query, this, args);
    } as typeof query),
  );
});
afterAll(() => {
  for (const spy of spied) spy.mockRestore();
});

test('names that are aliases in the SQL', async () => {
  await run({ words: ['one', 'two', 'three', 'four', 'five'], nameOf: (word) => PREFIX + word });
  expect(found.size).toBeGreaterThan(10);
  const words = [...found].filter((word) => !nameFault(word) && !tableFault(word) && !word.startsWith(PREFIX));
  const named = await run({ words, nameOf: (word) => word });
  const plain = await run({ words, nameOf: (word) => PREFIX + word });
  expect(named).toEqual(plain);
});
