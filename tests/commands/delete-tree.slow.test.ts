/** `delete --chunked`: a large tree is removed in steps, beside a service, and nothing else is. */
import { checkSchema } from '../../engine/validation/check-schema.ts';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { deleteTree } from '../../engine/commands/delete.ts';
import { ask } from '../support/ask.ts';
import { createProject, type Project } from '../support/project.ts';

const FILES = {
  'shop.yaml': `type: Shop
fields: { name: { type: string, maxLength: 20 } }
relations:
  departments: { kind: hasMany, type: Department, inverse: shop, owned: true, shown: false }
`,
  'department.yaml': `type: Department
fields: { name: { type: string, maxLength: 20 } }
relations:
  shop: { kind: belongsTo, type: Shop, inverse: departments, required: true }
  items: { kind: hasMany, type: Item, inverse: department, owned: true, shown: false }
  notes: { kind: hasMany, type: Note, inverse: department, nested: write, shown: false }
  labels: { kind: manyToMany, type: Label, nested: write, shown: false }
`,
  'item.yaml': `type: Item
fields: { name: { type: string, maxLength: 20 } }
relations:
  department: { kind: belongsTo, type: Department, inverse: items, required: true }
  model: { kind: belongsTo, type: Item }
  parts: { kind: hasMany, type: Part, owned: true, shown: false }
`,
  'part.yaml': `type: Part
fields: { name: { type: string, maxLength: 20 } }
relations:
  above: { kind: belongsTo, type: Part, onDelete: cascade }
`,
  'note.yaml': `type: Note
fields:
  text: { type: string, maxLength: 20 }
  changed: { type: timestamp, generated: updatedAt }
relations: { department: { kind: belongsTo, type: Department, inverse: notes, onDelete: setNull } }
`,
  'label.yaml': `type: Label
fields: { word: { type: string, maxLength: 20 } }
`,
  'order.yaml': `type: Order
fields: { number: { type: integer } }
relations: { item: { kind: belongsTo, type: Item } }
`,
};

const TYPES = ['shops', 'departments', 'items', 'parts', 'notes', 'labels', 'orders'];
/** More than one step takes. */
const MANY = 2100;

const many = (count: number, one: object): object[] => Array.from({ length: count }, () => one);

let project: Project;
let model: Model;
beforeAll(async () => {
  project = await createProject(FILES);
  const { model: checked } = checkSchema(project.directory);
  if (!checked) throw new Error('the schema is faulty');
  model = checked;
});
afterAll(() => project.remove());

const typeOf = (name: string): RecordType => {
  const type = model.types.get(name);
  if (!type) throw new Error(`no type ${name}`);
  return type;
};

async function fill(url: string): Promise<number> {
  const made = async (path: string, body: object): Promise<number> => {
    const answer = await ask(url, `POST /api/${path}`, body);
    expect(answer.status).toBe(201);
    return (answer.body as { id: number }).id;
  };
  const shops = [];
  for (const name of ['first', 'second']) {
    const shop = await made('shops', { name });
    shops.push(shop);
    for (const [items, parts] of [
      [MANY, 0],
      [1, MANY],
      [2, 3],
    ] as const) {
      const department = await made('departments', {
        shop: { id: shop },
        items: many(items, { parts: many(parts, {}) }),
        notes: many(items, {}),
        labels: many(items, {}),
      });
      const found = await ask(
        url,
        `GET /api/items?_cnd[department]=${department}&_cnd[limit]=0&_cnd[limit]=2&include=`,
      );
      const [prototype, twin] = found.body as { id: number }[];
      // An item that holds another one of the same tree, and parts that go with each other in a ring.
      if (twin) await ask(url, `PATCH /api/items/${twin.id}`, { model: { id: prototype?.id } });
      if (parts !== 3) continue;
      const ring = (await ask(url, `GET /api/parts?_cnd[limit]=0&_cnd[limit]=3&_cnd[orderBy]=id&_cnd[orderBy]=desc`))
        .body as { id: number }[];
      for (const [index, { id }] of ring.entries())
        await ask(url, `PATCH /api/parts/${id}`, { above: { id: ring[(index + 1) % 3]?.id } });
    }
  }
  return shops[0] ?? 0;
}

const counts = async (url: string): Promise<readonly number[]> =>
  Promise.all(
    TYPES.map(async (path) =>
      Number((await ask(url, `GET /api/${path}?_cnd[limit]=0&_cnd[limit]=0`)).headers.get('x-total-count')),
    ),
  );

const DEPARTMENTS = 3;
const ITEMS = MANY + 3;
const PARTS = MANY + 6;
const ONE = [1, DEPARTMENTS, ITEMS, PARTS, 2 * ITEMS, 2 * ITEMS, 0];

describe('delete --chunked', () => {
  test('deletes the record with its dependents, and nothing else', async () =>
    project.serving(async (url) => {
      const shop = await fill(url);
      expect(await counts(url)).toEqual(ONE.map((count, index) => (index < 4 ? 2 * count : count)));
      const [latest] = (
        await ask(url, 'GET /api/notes?_cnd[orderBy]=changed&_cnd[orderBy]=desc&_cnd[limit]=0&_cnd[limit]=1')
      ).body as { changed: string }[];
      const ran = await project.run('delete', 'Shop', String(shop), '--chunked');
      expect(ran).toMatchObject({ code: 0, out: expect.stringContaining(`Deleted Shop ${shop}`) });
      expect(await counts(url)).toEqual(ONE);
      const notes = await ask(
        url,
        `GET /api/notes?_cnd[department][null]=true&_cnd[changed][gte]=${latest?.changed}&_cnd[limit]=0&_cnd[limit]=0`,
      );
      expect(notes.headers.get('x-total-count')).toBe(String(ITEMS));
      expect((await ask(url, `GET /api/shops/${shop}`)).status).toBe(404);
      await project.run('delete', 'Shop', String(shop + 1), '--chunked');
    }));

  test('can be stopped at any point and run again', async () =>
    project.serving(async (url) => {
      const before = await counts(url);
      const shop = await fill(url);
      const driver = await databaseAt(project.database.url).open();
      const stop = new Error('stopped');
      try {
        for (let runs = 0, done = false; !done && runs < 100; runs += 1) {
          let rows = 0;
          const onRows = (more: number): void => {
            rows += more;
            if (rows > 1500) throw stop;
          };
          done = await deleteTree(model, driver, typeOf('Shop'), shop, onRows).catch((error: unknown) => {
            if (error === stop) return false;
            throw error;
          });
          const [shops = 0, , items = 0] = await counts(url);
          expect(items).toBeGreaterThanOrEqual((before[2] ?? 0) + ITEMS);
          expect(shops).toBe((before[0] ?? 0) + (done ? 1 : 2));
        }
      } finally {
        await driver.close();
      }
      expect(await counts(url)).toEqual(before.map((count, index) => count + (ONE[index] ?? 0)));
      await project.run('delete', 'Shop', String(shop + 1), '--chunked');
    }));

  test('deletes nothing where something else holds a record of the tree', async () =>
    project.serving(async (url) => {
      const shop = await fill(url);
      const [item] = (await ask(url, 'GET /api/items?_cnd[limit]=0&_cnd[limit]=1&include=')).body as { id: number }[];
      const order = await ask(url, 'POST /api/orders', { item: { id: item?.id } });
      const before = await counts(url);
      const ran = await project.run('delete', 'Shop', String(shop), '--chunked');
      expect(ran).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining(`Order ${(order.body as { id: number }).id} refers to Item`),
      });
      expect(await counts(url)).toEqual(before);
    }));
});
