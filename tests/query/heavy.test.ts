/** Which lists may take long: those whose order and filters no one index serves. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { RecordType } from '../../engine/model/model.ts';
import { createIndex, defineTable, indexesOf } from '../../engine/storage/tables.ts';

import { compileList, isHeavy } from '../../engine/storage/read/lists.ts';
import { sqliteDialect } from '../../engine/storage/sqlite/dialect.ts';
import { list } from '../support/library.ts';
import { loadModel } from '../support/model.ts';

const SCHEMA = {
  Shelf: '{ type: Shelf, identifier: { name: id }, fields: { name: { type: string } } }',
  Book: `
type: Book
identifier: { name: id }
fields:
  title: { type: string }
  state: { type: string, index: true }
  code: { type: string, unique: true }
  price: { type: integer, index: true }
  name: { type: string, index: true, caseless: true }
indexes: [[state, price], [shelf, state, title]]
relations: { shelf: { kind: belongsTo, type: Shelf } }
`,
};

const folder = mkdtempSync(join(tmpdir(), 'heavy-'));
for (const [name, text] of Object.entries(SCHEMA)) writeFileSync(join(folder, `${name}.yaml`), text);
const { types } = loadModel(folder);
rmSync(folder, { recursive: true });
const database = new Database(':memory:');
for (const type of types.values()) {
  for (const sql of defineTable(type, sqliteDialect).create) database.exec(sql);
  for (const index of indexesOf(type, sqliteDialect)) database.exec(createIndex(index, sqliteDialect));
}

const ASC = '_cnd[orderBy]=';

test.each<[query: string, heavy: boolean]>([
  ['', false],
  ['_cnd[limit]=10000&_cnd[limit]=20', false],
  ['_cnd[limit]=10001&_cnd[limit]=20', true],
  [`${ASC}price`, false],
  [`${ASC}price&_cnd[orderBy]=desc`, false],
  [`${ASC}price&_cnd[orderBy]=id&_cnd[orderBy]=desc`, true],
  [`${ASC}title`, true],
  [`${ASC}name`, false],
  [`${ASC}state&_cnd[orderBy]=price`, false],
  [`${ASC}price&_cnd[orderBy]=state`, true],
  [`${ASC}shelf`, false],
  [`${ASC}shelf.name`, true],
  ['_cnd[id]=5&_cnd[title]=x', false],
  [`_cnd[id][in]=5,6&${ASC}title`, false],
  ['_cnd[code]=5', false],
  ['_cnd[code][in]=5&_cnd[code][in]=6', false],
  ['_cnd[id][gt]=5', false],
  ['_cnd[id][gte]=5&_cnd[id][lt]=9', false],
  ['_cnd[state]=a', false],
  ['_cnd[state][null]=true', false],
  ['_cnd[state][null]=false', true],
  ['_cnd[state][ne]=a', true],
  ['_cnd[state][in]=a&_cnd[state][in]=b', true],
  ['_cnd[state]=a&_cnd[price]=1', false],
  ['_cnd[state]=a&_cnd[title]=1', true],
  [`_cnd[state]=a&${ASC}price`, false],
  [`_cnd[state]=a&_cnd[price][gt]=3&${ASC}price`, false],
  [`_cnd[price][gt]=3&${ASC}price`, false],
  ['_cnd[price][gt]=3', true],
  [`_cnd[state]=a&${ASC}state`, false],
  ['_cnd[shelf]=1', false],
  [`_cnd[state]=a&_cnd[shelf]=1&${ASC}title`, false],
  ['_cnd[shelf.name]=x', true],
  ['_cnd[title]=x', true],
  ['_cnd[name]=x', false],
  ['_cnd[name][like]=x*', true],
  ['_cnd[title][like]=*x', true],
  ['_cnd[$any][0][state]=a&_cnd[$any][1][state]=b', true],
])('%s: heavy %s', (text, heavy) => {
  const query = list(text, types.get('Book') as RecordType);
  expect(isHeavy(query)).toBe(heavy);
  if (heavy) return;
  const { identifiers, values } = compileList(query, sqliteDialect);
  const bound = [...values(query), 20, 0];
  const plan = database.prepare<unknown[], { detail: string }>(`explain query plan ${identifiers.sql}`).all(...bound);
  const steps = plan.map(({ detail }) => detail).filter((step) => /^SCAN|TEMP B-TREE/.test(step));
  const isFew = /\[(id|code)\](\[in\])?=/.test(text);
  if (!isFew) expect(steps.filter((step) => query.filters.length > 0 || !step.startsWith('SCAN'))).toEqual([]);
});
