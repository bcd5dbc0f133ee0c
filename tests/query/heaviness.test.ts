/** Which reads of an SQLite file go to a search process: those that would hold up other requests, and no others. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadRoles, type Role } from '../../engine/access/roles.ts';
import { createBinder } from '../../engine/access/rules.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { ALL_RIGHTS, type Rights, seenModel } from '../../engine/model/rights.ts';
import { createQueryResolver } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { createLogReads } from '../../engine/storage/log/history.ts';
import { prepare } from '../../engine/storage/migrate/apply.ts';
import { createReads, type Reads } from '../../engine/storage/read/reads.ts';
import { openSqlite } from '../../engine/storage/sqlite/driver.ts';
import { loadModel } from '../support/model.ts';

const FILES = {
  'shelf.yaml': `type: Shelf
fields: { name: { type: string } }
relations:
  books: { kind: hasMany, type: Book }
  rooms: { kind: manyToMany, type: Room, inverse: shelves, shown: false }
  lamp: { kind: belongsTo, type: Lamp, shown: false }
`,
  'room.yaml': `type: Room
fields: { name: { type: string } }
relations:
  shelves: { kind: manyToMany, type: Shelf, inverse: rooms, shown: false }
  visits: { kind: hasMany, type: Visit, inverse: room, shown: false }
`,
  'visit.yaml': `type: Visit
fields: { name: { type: string } }
relations: { room: { kind: belongsTo, type: Room, inverse: visits } }
`,
  'lamp.yaml': `type: Lamp
relations: { switches: { kind: manyToMany, type: Switch, inverse: lamps, shown: false } }
`,
  'switch.yaml': `type: Switch
fields: { name: { type: string } }
relations: { lamps: { kind: manyToMany, type: Lamp, inverse: switches } }
`,
  'book.yaml': `type: Book
fields: { title: { type: string } }
relations:
  shelf: { kind: belongsTo, type: Shelf, inverse: books }
  loans: { kind: hasMany, type: Loan }
`,
  'loan.yaml': `type: Loan
relations: { book: { kind: belongsTo, type: Book, inverse: loans } }
`,
  'tree.yaml': `type: Tree
history: true
relations: { twigs: { kind: hasMany, type: Twig, owned: true } }
`,
  'twig.yaml': `type: Twig
relations: { buds: { kind: hasMany, type: Bud, owned: true } }
`,
  'bud.yaml': 'type: Bud\nhistory: true\n',
};
const numbers = (most: number): string =>
  `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${most})`;
/** Shelves with 3, 90, 900 and 1,100 books, one with a book that 1,100 borrowed, and one with long titles. */
const ROWS = [
  `insert into shelves (name) values ('few'), ('many'), ('more'), ('most'), ('lent'), ('long')`,
  ...[3, 90, 900, 1100, 1].map(
    (count, at) => `insert into books (title, shelf_id) ${numbers(count)} select 't', ${at + 1} from n`,
  ),
  `insert into visits (name, room_id) ${numbers(6000)} select 'v', null from n`,
  `insert into rooms (name) ${numbers(1000)} select 'r' from n`,
  'insert into rooms_shelves (room_id, shelf_id) select rooms.id, shelves.id from rooms, shelves',
  `insert into loans (book_id) ${numbers(1100)} select max(books.id) from n, books group by n.i`,
  `insert into books (title, shelf_id) ${numbers(20)} select printf('%.*c', 100000, 'x'), 6 from n`,
  `insert into trees ${numbers(2)} select i from n`,
  `insert into twigs (tree_twigs_id) ${numbers(1100)} select min(i, 2) from n`,
  `insert into buds (twig_buds_id) ${numbers(3000)} select 1 from n`,
  // They are there again.
  `delete from twigs where id > 100`,
  `insert into twigs (id, tree_twigs_id) ${numbers(1100)} select i, 2 from n where i > 100`,
  `delete from buds where id > 2900`,
];

let directory: string;
let driver: Driver;
let reads: Reads;
let log: ReturnType<typeof createLogReads>;
let queriesOf: (type: string, rights?: Rights) => ReturnType<ReturnType<typeof createQueryResolver>>;
let rightsOf: (read: string) => Rights;
let searches = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'heaviness-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text);
  const model = loadModel(directory);
  const opened = openSqlite(join(directory, 'records.db'));
  await prepare(model, opened);
  await opened.define(ROWS);
  const counting: Driver['scan'] = (...asked) => {
    searches += 1;
    return opened.scan(...asked);
  };
  const snapshots: Driver['snapshot'] = (caller, heavy = true) => {
    searches += Number(heavy);
    return opened.snapshot(caller, heavy);
  };
  driver = { ...opened, scan: counting, snapshot: snapshots };
  reads = createReads(driver);
  log = createLogReads(driver, reads);
  queriesOf = (type, rights = ALL_RIGHTS) =>
    createQueryResolver(readSettings({}))(seenModel(model, rights).types.get(type) as RecordType, rights);
  rightsOf = (read) => {
    const access = mkdtempSync(join(directory, 'access-'));
    writeFileSync(join(access, 'reader.yaml'), `role: reader\nread:\n  '*': true\n  ${read}\n`);
    return createBinder(loadRoles(access, model).roles.get('reader') as Role, model, () => undefined)({});
  };
});
beforeEach(() => {
  searches = 0;
});
afterAll(async () => {
  await driver.close();
  rmSync(directory, { recursive: true });
});

test.each([
  [1, '', 3, 0],
  [3, '', 900, 0],
  [4, '', 1100, 1],
  [4, 'include=', 0, 0],
  [5, 'include=books', 1, 0],
  [5, 'include=books.loans', 1, 1],
  [6, '', 20, 1],
])('GET of shelf %d?%s, with %d books, asks %d search processes', async (identifier, search, books, expected) => {
  const text = await reads.get(queriesOf('Shelf').view(search), identifier);
  expect([JSON.parse(String(text)).books?.length ?? 0, searches]).toEqual([books, expected]);
});

test.each([
  ['_cnd[limit]=0,1', [3], 0],
  ['_cnd[limit]=0,2', [3, 90], 0],
  ['_cnd[limit]=0,3', [3, 90, 900], 1],
  ['_cnd[limit]=3,1&include=', [0], 0],
])('a page of shelves ?%s with %j books asks %d search processes', async (search, books, expected) => {
  const { records } = await reads.page(queriesOf('Shelf').list(search), 'exact');
  expect([records.map((text) => JSON.parse(text).books?.length ?? 0), searches]).toEqual([books, expected]);
});

test.each([
  ['Shelf', '_cnd[limit]=0,2&_cnd[name][like]=f*', 0],
  ['Shelf', '_cnd[limit]=0,2&_cnd[orderBy]=name', 0],
  ['Shelf', '_cnd[limit]=0,2&_cnd[books][$some][0][title]=t', 0],
  ['Shelf', '_cnd[limit]=0,2&_cnd[books][$some][0][loans][$count][gt]=2', 0],
  // There are few rooms and shelves, and many pairs of them.
  ['Shelf', '_cnd[limit]=0,2&_cnd[rooms][$some][0][name]=t', 1],
  ['Lamp', '_cnd[limit]=0,2&_cnd[switches][$some][0][name]=t', 0],
  ['Book', '_cnd[limit]=0,2&_cnd[shelf.name]=few', 0],
  ['Visit', '_cnd[limit]=0,2&_cnd[name]=v', 1],
  ['Visit', '_cnd[limit]=0,2&_cnd[orderBy]=name', 1],
  ['Visit', '_cnd[limit]=0,2&_cnd[room.name]=v', 1],
  ['Visit', '_cnd[limit]=0,2', 0],
])('a list of %s ?%s asks %d search processes', async (type, search, expected) => {
  await reads.page(queriesOf(type).list(search), 'exact');
  expect(searches).toBe(expected);
});

const VISITED = 'Room: { where: { visits: { $some: { name: v } } } }';
const UNVISITED = 'Room: { where: { $none: [{ visits: { $count: { gt: 0 } } }] } }';
const SHELVED = 'Room: { where: { shelves: { $some: { name: few } } } }';
const SWITCHED = 'Lamp: { where: { switches: { $some: { name: on } } } }';

test.each([
  ['Room', '_cnd[limit]=0,2', VISITED, 1],
  ['Room', '_cnd[limit]=0,2', UNVISITED, 1],
  ['Room', '_cnd[limit]=0,2', SHELVED, 1],
  ['Lamp', '_cnd[limit]=0,2', SWITCHED, 0],
  ['Shelf', '_cnd[limit]=0,2', VISITED, 0],
  // Related types that a list shows or filters by have conditions of their own.
  ['Shelf', '_cnd[limit]=0,2&include=rooms', VISITED, 1],
  ['Shelf', '_cnd[limit]=0,2&_cnd[rooms][$some][0][name]=t', VISITED, 1],
  ['Shelf', '_cnd[limit]=0,2&include=lamp', SWITCHED, 0],
  // One record is asked for its own sets.
  ['Room', '_cnd[id]=1', VISITED, 0],
])('a list of %s ?%s of a role that reads %s asks %d search processes', async (type, search, read, expected) => {
  await reads.page(queriesOf(type, rightsOf(read)).list(search), 'exact');
  expect(searches).toBe(expected);
});

// To leave hidden rows out, they are read.
test.each([
  [3, '', 0],
  [4, '', 1],
  [5, 'include=books.loans', 1],
])(
  'GET of shelf %d?%s by a role that does not see its books asks %d search processes',
  async (id, search, expected) => {
    const text = await reads.get(queriesOf('Shelf', rightsOf('Book: { where: { title: hidden } }')).view(search), id);
    expect([JSON.parse(String(text)).books, searches]).toEqual([[], expected]);
  },
);

test.each([
  ['_cnd[limit]=0,2', 0],
  ['_cnd[limit]=0,3', 1],
  ['_cnd[limit]=0,3&include=', 0],
])(
  'a page of shelves ?%s by a role that does not see their books asks %d search processes',
  async (search, expected) => {
    const rights = rightsOf('Book: { where: { title: hidden } }');
    const { records } = await reads.page(queriesOf('Shelf', rights).list(search), 'exact');
    expect([records.flatMap((text) => JSON.parse(text).books ?? []), searches]).toEqual([[], expected]);
  },
);

test.each([
  ['Visit: { where: { name: hidden } }', 1],
  ['Shelf: { where: { name: hidden } }', 0],
  ['Shelf: true', 0],
])('the whole list of rooms and visits by a role that reads %s asks %d search processes', async (read, expected) => {
  const { records } = await reads.stream(queriesOf('Room', rightsOf(read)).list('include=visits'), 'none');
  for await (const _ of records) continue;
  expect(searches).toBe(expected);
});

test.each([
  ['Room', 'by=name', VISITED, 1],
  ['Lamp', 'by=id', SWITCHED, 0],
])('a summary of %s ?%s of a role that reads %s asks %d search processes', async (type, search, read, expected) => {
  await reads.summary(queriesOf(type, rightsOf(read)).summary(search), 'exact');
  expect(searches).toBe(expected);
});

test.each([
  ['Shelf', 'by=name', 0],
  ['Book', 'by=shelf.name&measure=count', 0],
  ['Visit', 'by=name', 1],
  ['Room', '_cnd[shelves][$some][0][name]=t&by=name', 1],
])('a summary of %s ?%s asks %d search processes', async (type, search, expected) => {
  await reads.summary(queriesOf(type).summary(search), 'exact');
  expect(searches).toBe(expected);
});

test.each([
  // One twig, with 3,000 buds of which 100 are gone.
  [1, 3102],
  // 1,099 twigs, of which 1,000 were deleted and are there again.
  [2, 3100],
])('the history of tree %d, with %d entries, asks a search process', async (identifier, entries) => {
  const page = await log.history({ ...queriesOf('Tree').log(''), limit: 5000 }, identifier);
  expect([page?.entries.length, searches]).toEqual([entries, 1]);
});

test.each([
  ['Bud', 100],
  ['Twig', 0],
])('the deleted records of %s, %d of them, ask a search process', async (type, deleted) => {
  const page = await log.deleted(queriesOf(type).log(''));
  expect([page.entries.length, searches]).toEqual([deleted, 1]);
});

test('what is read of a short log asks no search process', async () => {
  await driver.define(['delete from _records_log where position <= (select max(position) from _records_log) - 5000']);
  const page = await log.history(queriesOf('Tree').log(''), 1);
  const { entries: deleted } = await log.deleted(queriesOf('Bud').log(''));
  expect([page?.entries.length, deleted.length, searches]).toEqual([100, 100, 0]);
});
