/** Lists and charts at every width: nothing is cut, and what is clicked is large enough. */
import { violations } from './axe.ts';
import { formsOf, runStudio, savedRecord } from './studio-page.ts';

const SELLER = `type: Seller
label: name
identifier: { name: key, type: uuid }
fields: { name: { type: string, required: true }, city: { type: string } }
`;
const SALE = `type: Sale
fields:
  number: { type: string, required: true, unique: true }
  state: { type: string, enum: [negotiated, delivered, complained], required: true }
  sold: { type: date, required: true }
  price: { type: decimal, precision: 8, scale: 2, shows: { money: unit } }
  unit: { type: string, enum: [EUR, USD], required: true }
relations:
  parts: { kind: hasMany, type: Part, inverse: sale, owned: true }
  bill: { kind: hasOne, type: Bill, inverse: sale, owned: true }
`;
const PART = `type: Part
operations: []
fields: { word: { type: string, required: true } }
relations: { sale: { kind: belongsTo, type: Sale, inverse: parts, required: true } }
`;
const BILL = PART.replace('Part', 'Bill').replace('parts', 'bill');
const { server, visit } = runStudio({
  files: { 'seller.yaml': SELLER, 'sale.yaml': SALE, 'part.yaml': PART, 'bill.yaml': BILL },
});
const { ask, open } = formsOf(server);

const STATES = ['negotiated', 'delivered', 'complained'];

beforeAll(async () => {
  await ask('POST', 'sellers', { name: 'Ada', city: 'Ulm' });
  const sales = Array.from({ length: 30 }, (_, index) => ({
    number: `S-${index}`,
    state: STATES[index % STATES.length],
    sold: `20${28 + Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}-01`,
    price: '1500',
    unit: index < 20 ? 'EUR' : 'USD',
  }));
  await ask('POST', 'sales', sales);
});

const WIDTHS = [320, 360, 768, 1280, 1920];

test.each(WIDTHS)('at %d pixels, the columns of charts are large enough to be clicked', async (width) => {
  const { page, complaints, close } = await visit({ locale: 'en-US', viewport: { width, height: 900 } });
  await open(page, '/');
  const columns = page.getByRole('region', { name: /by month/ }).getByRole('button');
  await columns.last().waitFor();
  expect(await columns.count()).toBe(width < 360 ? 9 : width < 1920 ? 12 : 24);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test.each(WIDTHS.filter((width) => width >= 768))('at %d pixels, figures above a list are whole', async (width) => {
  const { page, close } = await visit({ locale: 'en-US', viewport: { width, height: 900 } });
  await open(page, '/sales');
  const chips = page.getByRole('group', { name: 'State' }).getByRole('button');
  await chips.first().waitFor({ state: 'attached' });
  const cut = await chips.evaluateAll(
    (all) =>
      all.filter((chip) => {
        const own = chip.getBoundingClientRect();
        const group = chip.parentElement?.getBoundingClientRect() ?? own;
        const isSeen = own.top < group.bottom && own.left < group.right;
        const label = chip.querySelector('span') ?? chip;
        return isSeen && (own.right > group.right + 1 || label.scrollWidth > label.clientWidth);
      }).length,
  );
  expect(cut).toBe(0);
  await close();
});

test('amounts of several currencies have no sum until a filter leaves one', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US', viewport: { width: 1280, height: 900 } });
  await open(page, '/sales');
  await page.getByRole('button', { name: 'Show charts' }).click();
  const charts = page.getByRole('region', { name: 'State' });
  await charts.getByRole('button', { name: 'Delivered' }).waitFor();
  expect(await charts.innerText()).not.toMatch(/,/);
  await open(page, '/sales?unit=USD');
  await charts.getByText('$6,000.00').waitFor();
  await open(page, '/');
  await page.getByRole('region', { name: 'Sales by month' }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('a list shows names and no uuids', async () => {
  const { page, close } = await visit({ locale: 'en-US', viewport: { width: 360, height: 700 } });
  await open(page, '/sellers');
  await page.getByText('Ulm').waitFor();
  expect(await page.getByRole('table').innerText()).not.toMatch(/[\da-f]{8}-/);
  await close();
});

test.each([360, 1280])('at %d pixels, what is typed goes into the part that was added', async (width) => {
  const { page, complaints, close } = await visit({ locale: 'en-US', viewport: { width, height: 900 } });
  await open(page, '/sales/1/edit');
  for (const [name, text] of [
    ['New part', 'one'],
    ['New part', 'two'],
    ['New bill', 'three'],
  ] as const) {
    await page.getByRole('button', { name }).click();
    await page.keyboard.type(text);
  }
  await page.keyboard.press('Control+s');
  await savedRecord(page, 'sales');
  const { stored } = await ask('GET', 'sales/1');
  expect(stored).toMatchObject({ bill: { word: 'three' } });
  expect((stored['parts'] as readonly { word: string }[]).slice(-2).map(({ word }) => word)).toEqual(['one', 'two']);
  await ask('PATCH', 'sales/1', { parts: [], bill: null });
  expect(complaints).toEqual([]);
  await close();
});
