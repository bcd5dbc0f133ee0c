/** Many filters over sets, of a role whose conditions read sets themselves: they are answered before the deadline. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../support/databases.ts';
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
