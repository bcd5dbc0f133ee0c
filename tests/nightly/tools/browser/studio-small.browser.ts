/** Lists on a phone, and records that are used by parts without a list of their own. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formsOf, runStudio } from './studio-page.ts';

const SCHEMA = {
  product: `type: Product
list: { columns: [name, active, price, weight] }
fields:
  name: { type: string, maxLength: 200, required: true }
  active: { type: boolean }
  price: { type: decimal, precision: 8, scale: 2 }
  weight: { type: number }
`,
  order: `type: Order
fields: { number: { type: string, maxLength: 20, required: true } }
relations: { lines: { kind: hasMany, type: Line, owned: true } }
`,
  line: `type: Line
operations: []
fields: { quantity: { type: integer, default: 1 } }
relations: { product: { kind: belongsTo, type: Product, required: true } }
`,
};
const schemaDirectory = mkdtempSync(join(tmpdir(), 'schema-'));
for (const [name, text] of Object.entries(SCHEMA)) writeFileSync(join(schemaDirectory, `${name}.yaml`), text);
const { server, visit } = runStudio({ schemaDirectory });
const { ask, open } = formsOf(server);
const LONG = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';

beforeAll(async () => {
  await ask('POST', 'products', { name: LONG, active: false, price: '1.50', weight: 1 / 7 });
  await ask('POST', 'products', { name: 'Tea', active: null, price: '2.50', weight: 2 / 7 });
  await ask('POST', 'orders', { number: 'A-1', lines: [{ product: { id: 2 } }] });
});

test('on a phone, no column covers another, and a long name is cut at its end', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US', viewport: { width: 360, height: 740 } });
  await open(page, '/products');
  await page.locator('tbody tr').nth(1).waitFor();
  const onTop = (selector: string): Promise<boolean> =>
    page.evaluate(`(() => {
      const { x, y, width, height } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
      const found = document.elementFromPoint(Math.min(x + 40, innerWidth - 40), y + height / 2);
      return found !== null && document.querySelector(${JSON.stringify(selector)}).contains(found);
    })()`);
  expect(await onTop('tbody tr:first-child a.record')).toBe(true);
  await page.locator('tbody tr:first-child td:nth-child(2)').scrollIntoViewIfNeeded();
  expect(await onTop('tbody tr:first-child td:nth-child(2)')).toBe(true);
  const fits = `(({ right }, cell) => right <= cell.right)(
    document.querySelector('a.record').getBoundingClientRect(), document.querySelector('tbody td').getBoundingClientRect())`;
  expect(await page.evaluate(fits)).toBe(true);
  expect(await page.locator('tbody td:nth-child(2)').allInnerTexts()).toEqual(['No', '–\nempty']);
  expect(complaints).toEqual([]);
  await close();
});

test('a refused deletion leads to the records whose parts are in the way', async () => {
  const { page, close } = await visit({ locale: 'en-US' });
  await open(page, '/products/2');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('link', { name: '1 Order', exact: true }).click();
  await page.getByText('A-1').waitFor();
  await close();
});
