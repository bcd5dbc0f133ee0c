/** Many sets under a role whose conditions read sets themselves: filters are answered before the deadline. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadRoles, type Role } from '../../engine/access/roles.ts';
import { createBinder } from '../../engine/access/rules.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { createQueryResolver } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import { sqliteDialect } from '../../engine/storage/sqlite/dialect.ts';
import { createVisible } from '../../engine/storage/read/clause.ts';
import { compileList } from '../../engine/storage/read/lists.ts';
import { SHOWN_LIMITS } from '../../engine/storage/read/views.ts';
import { createDatabase } from '../support/databases.ts';
import { loadModel } from '../support/model.ts';
import { as, type Service, startService } from './service.ts';

const ROLE = `role: reader
read:
  Order: { where: { $any: [{ customer.orders: { $some: { lines: { $some: { amount: { gte: 0 } } } } } }, { branch.orders: { $every: { tags: { $none: { secret: true } } } } }] } }
  Branch: true
  Line: { where: { order.customer.orders: { $some: { tags: { $some: { secret: false } } } } } }
  Tag: { where: { orders: { $some: { customer.orders: { $count: { gte: 1 } } } } } }
  Customer: { where: { orders: { $some: { lines: { $some: { amount: { gte: 0 } } } } } } }
`;

let service: Service;
beforeAll(async () => {
  const access = mkdtempSync(join(tmpdir(), 'access-'));
  writeFileSync(join(access, 'reader.yaml'), ROLE);
  service = await startService('tests/fixtures/roles/schema', await createDatabase(), access);
});
afterAll(() => service.close());

test.each([
  ['a set', 20, (index: number) => `_cnd[lines][$some][${index}][amount][gte]=${index}`],
  ['sets of sets', 10, (index: number) => `_cnd[tags][$none][${index}][orders][$some][lines][$some][amount]=${index}`],
  ['a link', 10, (index: number) => `_cnd[$any][${index}][lines][$none][order.customer][gt]=${index}`],
])('filters by %s', async (_, count, filterAt) => {
  const query = Array.from({ length: count }, (__, index) => filterAt(index)).join('&');
  const { status, text } = await service.send(
    `GET /api/orders?${query}`,
    as({ name: 'x', role: 'reader', claims: {} }),
  );
  expect([status, text]).toEqual([200, '[]']);
});

// PostgreSQL's estimates of such statements are so high that it would compile them for minutes.
test('shows sets of sets of sets', async () => {
  const paths = ['tags', 'customer', 'branch'].flatMap((first) =>
    ['tags.orders', 'customer.orders', 'branch.orders', 'lines.order'].map((second) => `${first}.orders.${second}`),
  );
  const { status, text } = await service.send(
    `GET /api/orders?include=${paths.join(',')}`,
    as({ name: 'x', role: 'reader', claims: {} }),
  );
  expect([status, text]).toEqual([200, '[]']);
});

test('shows many sets without reading whole tables first', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sets-'));
  const sets = Array.from({ length: 9 }, (_, index) => `s${index}: { kind: hasMany, type: Part, inverse: o${index} }`);
  const owners = sets.map((_, index) => `o${index}: { kind: belongsTo, type: Whole, inverse: s${index} }`);
  writeFileSync(join(directory, 'whole.yaml'), `type: Whole\nrelations:\n  ${sets.join('\n  ')}\n`);
  writeFileSync(
    join(directory, 'part.yaml'),
    `type: Part\nfields: { a: { type: string } }\nrelations:\n  ${owners.join('\n  ')}\n`,
  );
  const access = mkdtempSync(join(tmpdir(), 'access-'));
  writeFileSync(join(access, 'reader.yaml'), 'role: reader\nread:\n  Whole: true\n  Part: { where: { a: b } }\n');
  const model = loadModel(directory);
  const role = loadRoles(access, model).roles.get('reader') as Role;
  const rights = createBinder(role, model, () => undefined)({});
  const query = createQueryResolver(readSettings({}))(model.types.get('Whole') as RecordType, rights).list('');
  const { page } = compileList(query, postgresDialect, SHOWN_LIMITS);
  const { sql } = createVisible(postgresDialect).bind(query.view.rights, page).statement;
  expect(sql.match(/exists \(select 1 from/g)).toHaveLength(9);
  expect(sql).toContain('"parts" as not materialized (');
});

test('one record is asked for its sets, and SQLite finds those of many at once', () => {
  const access = mkdtempSync(join(tmpdir(), 'access-'));
  writeFileSync(join(access, 'reader.yaml'), ROLE);
  const model = loadModel('tests/fixtures/roles/schema');
  const rights = createBinder(loadRoles(access, model).roles.get('reader') as Role, model, () => undefined)({});
  const order = { query: 'select 1 from `orders` where `id` = ?', reads: ['orders'] };
  const sqlOf = (readsMany: boolean) =>
    createVisible(sqliteDialect).bind(rights, { ...order, readsMany }).statement.sql;
  expect([false, true].map((readsMany) => / in \(select/.test(sqlOf(readsMany)))).toEqual([false, true]);
});
