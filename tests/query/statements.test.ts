/** The statements that queries become, on both databases side by side: a change of a statement is a line of the diff. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { ALL_RIGHTS } from '../../engine/model/rights.ts';
import { createQueryResolver } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import type { Dialect } from '../../engine/storage/dialect.ts';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import { sqliteDialect } from '../../engine/storage/sqlite/dialect.ts';
import { compileList } from '../../engine/storage/read/lists.ts';
import { compileSummary } from '../../engine/storage/read/summaries.ts';
import { SHOWN_LIMITS } from '../../engine/storage/read/views.ts';
import { valuesOf } from '../../engine/storage/read/conditions.ts';
import { loadModel } from '../support/model.ts';

const FILES = {
  'author.yaml': `type: Author
order: [name]
fields:
  name: { type: string, required: true, caseless: true, index: true }
  born: { type: date }
relations:
  books: { kind: hasMany, type: Book, nested: write }
`,
  'book.yaml': `type: Book
fields:
  title: { type: string, required: true }
  isbn: { type: string, unique: true }
  price: { type: decimal }
  pages: { type: integer, index: true }
  sold: { type: timestamp }
  inPrint: { type: boolean }
relations:
  author: { kind: belongsTo, type: Author, inverse: books }
  tags: { kind: manyToMany, type: Tag, inverse: books }
`,
  'tag.yaml': `type: Tag
fields: { word: { type: string } }
relations: { books: { kind: manyToMany, type: Book, inverse: tags, shown: false } }
`,
};
const DIALECTS: readonly Dialect[] = [sqliteDialect, postgresDialect];

let model: Model;
beforeAll(() => {
  const directory = mkdtempSync(join(tmpdir(), 'statements-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text);
  model = loadModel(directory);
  rmSync(directory, { recursive: true });
});
const queriesOf = (type: string) =>
  createQueryResolver(readSettings({}))(model.types.get(type) as RecordType, ALL_RIGHTS);

/** A clause a line. */
const shown = (sql: string): string =>
  sql.replaceAll(/ (?=(?:from|where|group by|order by|left join|cross join|join|limit|union all|and|or) )/g, '\n    ');
const sideBySide = (...parts: readonly ((dialect: Dialect) => unknown)[]): string =>
  DIALECTS.map((dialect) => {
    const lines = parts.map((part) => part(dialect));
    return `${dialect.name}\n${lines.map((line) => `  ${typeof line === 'string' ? shown(line) : JSON.stringify(line)}`).join('\n')}`;
  }).join('\n');

const LISTS: readonly (readonly [type: string, search: string])[] = [
  ['Tag', ''],
  ['Tag', '_cnd[limit]=0,2'],
  ['Tag', '_cnd[limit]=4,2'],
  ['Tag', '_cnd[orderBy]=word'],
  ['Tag', '_cnd[orderBy]=word,desc&_cnd[limit]=0,2'],
  ['Tag', '_cnd[id]=3'],
  ['Tag', '_cnd[id][in]=1,2,3'],
  ['Tag', 'fields=word'],
  ['Tag', 'include=books&fields=id'],
  ['Author', 'include='],
  ['Author', '_cnd[name]=Ada&include='],
  ['Author', '_cnd[name][like]=Ad*&include='],
  ['Author', '_cnd[born][lt]=1900-01-01&include='],
  ['Author', '_cnd[born][null]=true&include='],
  ['Author', '_cnd[books][$some][0][title]=T&include='],
  ['Author', '_cnd[books][$none][0][pages][gt]=9&include='],
  ['Author', '_cnd[books][$every][0][inPrint]=true&include='],
  ['Author', '_cnd[books][$count][gte]=2&include='],
  ['Author', '_cnd[books][$some][0][tags][$some][0][word]=x&include='],
  ['Author', 'include=books'],
  ['Author', 'include=books.tags'],
  ['Book', 'include='],
  ['Book', '_cnd[isbn]=1&include='],
  ['Book', '_cnd[title][ne]=T&include='],
  ['Book', '_cnd[price][gte]=1.5&_cnd[price][lt]=9&include='],
  ['Book', '_cnd[pages][gt]=100&_cnd[orderBy]=pages&include='],
  ['Book', '_cnd[sold][gte]=2030-01-01T00:00:00Z&include='],
  ['Book', '_cnd[inPrint]=true&include='],
  ['Book', '_cnd[author]=1&include='],
  ['Book', '_cnd[author.name]=ada&include='],
  ['Book', '_cnd[orderBy]=author.name&include='],
  ['Book', '_cnd[$any][0][pages]=1&_cnd[$any][1][title]=T&include='],
  ['Book', '_cnd[$none][0][pages]=1&include='],
  ['Book', '_cnd[tags][$some][0][word]=x&include='],
  ['Book', 'include=author,tags'],
];

test.each(LISTS)('a list of %s ?%s', (type, search) => {
  const list = queriesOf(type).list(search);
  const page = sideBySide(
    (dialect) => compileList(list, dialect, SHOWN_LIMITS).page.query,
    (dialect) => compileList(list, dialect, SHOWN_LIMITS).count.query,
    (dialect) => compileList(list, dialect, SHOWN_LIMITS).values(list),
  );
  expect(page).toMatchSnapshot();
});

test.each([
  ['Book', 'by=author'],
  ['Book', 'by=author.name&measure=count,sum(price)'],
  ['Book', 'by=month(sold)&measure=max(pages)'],
  ['Book', 'measure=min(price)&_cnd[tags][$none][0][word]=x'],
  ['Author', 'by=name&_cnd[orderBy]=name,desc&_cnd[limit]=0,5'],
])('a summary of %s ?%s', (type, search) => {
  const query = queriesOf(type).summary(search);
  const compiled = sideBySide(
    (dialect) => compileSummary(query, dialect).page.query,
    (dialect) => compileSummary(query, dialect).count.query,
    (dialect) => valuesOf(query.filters, dialect),
  );
  expect(compiled).toMatchSnapshot();
});

test('the statements of SQLite look up the records of a set once', () => {
  const { page } = compileList(queriesOf('Author').list('_cnd[books][$some][0][title]=T'), sqliteDialect, SHOWN_LIMITS);
  expect(page.query).toMatch(/`id` in \(select/);
});

test.each(['=5', '[in]=5,6'])('but those of each record where a list has few: _cnd[id]%s', (few) => {
  const list = queriesOf('Author').list(`_cnd[id]${few}&_cnd[books][$some][title]=T&_cnd[books][$every][pages]=1`);
  expect(compileList(list, sqliteDialect, SHOWN_LIMITS).page.query).not.toMatch(/in \(select/);
});
