/** Eight everyday tasks, with a budget of clicks and keys, and their surroundings. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { TASKS } from '../../../studio/tasks.ts';
import { startTestServer, useServer } from '../../../support/server.ts';
import { violations } from './axe.ts';
import { READERS } from './chromium.ts';
import { formsOf, runStudio, savedRecord } from './studio-page.ts';

const { server, visit } = runStudio({ schemaDirectory: 'tests/fixtures/coffee', settings: { title: 'Coffee' } });
const shop = formsOf(server);
const store = useServer();
const inStore = formsOf(store);

const ORDERS = [
  ['2026-0001', '2026-10-03T10:00:00Z', 'shipped', '10.00', 1],
  ['2026-0002', '2026-10-20T10:00:00Z', 'shipped', '20.50', 2],
  ['2026-0003', '2026-11-02T10:00:00Z', 'open', '99.00', 2],
  ['2026-0004', '2026-11-05T10:00:00Z', 'paid', '5.00', 3],
] as const;

beforeAll(async () => {
  await shop.ask('POST', 'categories', { name: 'Beans' });
  for (const [index, name] of ['Yirgacheffe', 'Sidamo', 'Mocha'].entries())
    await shop.ask('POST', 'products', { name, sku: `CB-100${index}`, price: '7.90', category: { id: 1 } });
  for (const name of ['Anna Müller', 'Ben Schmidt', 'Clara Meyer'])
    await shop.ask('POST', 'customers', { name, email: `${name.slice(0, 3)}@example.com` });
  for (const [number, placed, state, total, customer] of ORDERS) {
    const lines = [{ quantity: 1, price: total, product: { id: 1 } }];
    await shop.ask('POST', 'orders', { number, placed, state, total, customer: { id: customer }, lines });
  }
  const zone = { zone_name: 'Alps', zone_elements: [{ country: 'AT' }] };
  await inStore.ask('POST', 'shipping-markups', { markup_flat: '4.90', zone });
  await inStore.ask('POST', 'shipping-markups', { markup_flat: '5.90', zone: { zone_name: 'Islands' } });
});

/** A person, whose clicks and keys are counted. Texts that have to be typed anyway are filled in. */
function personAt(page: Page, task: keyof typeof TASKS) {
  let [clicks, keys] = [0, 0];
  return {
    click: async (target: Locator): Promise<void> => {
      clicks += 1;
      await target.click();
    },
    type: async (text: string): Promise<void> => {
      keys += text.length;
      await page.keyboard.type(text);
    },
    press: async (key: string): Promise<void> => {
      keys += 1;
      await page.keyboard.press(key);
    },
    isDone: (): void => {
      const { clicks: mostClicks, keys: mostKeys } = TASKS[task];
      expect([task, clicks <= mostClicks, keys <= mostKeys]).toEqual([task, true, true]);
    },
  };
}

const LOOK = { locale: 'en-GB', timezoneId: 'Europe/Berlin' } as const;
const DESK = { ...LOOK, viewport: { width: 1280, height: 800 } };
const PHONE = { ...LOOK, viewport: { width: 360, height: 740 }, hasTouch: true };

test('find a record by half a word', async () => {
  const { page, complaints, close } = await visit(DESK);
  const person = personAt(page, 'find a record by half a word');
  await page.goto(`${server.url}/studio/products`);
  await page.getByRole('heading', { name: 'Products' }).waitFor();
  await person.press('Control+k');
  await page.getByRole('dialog').waitFor();
  await person.type('schm');
  await page.getByRole('option', { name: /Ben Schmidt/ }).waitFor();
  expect(await violations(page)).toEqual([]);
  await person.press('Enter');
  await page.getByRole('heading', { name: 'Ben Schmidt' }).waitFor();
  person.isDone();
  expect(complaints).toEqual([]);
  await close();
});

test.each([
  ['after', true],
  ['before', false],
])('Enter %s the answers opens the first record found, whichever type answers first', async (_, isLate) => {
  const { page, complaints, close } = await visit(DESK);
  await page.goto(`${server.url}/studio/products`);
  await page.getByRole('heading', { name: 'Products' }).waitFor();
  const orders = page.waitForResponse((response) => response.url().includes('/api/orders?'));
  await page.route('**/api/customers?*', async (route) => {
    await (await orders).finished();
    // The studio shows what it was answered.
    await sleep(200);
    await route.continue();
  });
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('schm');
  if (isLate) await page.getByRole('option', { name: /Ben Schmidt/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Ben Schmidt' }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('Enter opens what was typed, not what an earlier part of it has found', async () => {
  const { page, complaints, close } = await visit(DESK);
  await page.goto(`${server.url}/studio/products`);
  await page.getByRole('heading', { name: 'Products' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('s');
  await page.getByRole('option', { name: /Beans/ }).waitFor();
  await page.keyboard.type('chm');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Ben Schmidt' }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('see who buys most', async () => {
  const { page, complaints, close } = await visit(DESK);
  const person = personAt(page, 'see who buys most');
  await page.goto(`${server.url}/studio`);
  await person.click(page.getByRole('navigation').getByText('Orders'));
  await person.click(page.getByRole('button', { name: 'Show charts' }));
  const bars = page.getByRole('region', { name: 'Customer' }).getByRole('button');
  await bars.first().waitFor();
  expect(await bars.first().innerText()).toMatch(/Ben Schmidt\s+119\.50/);
  person.isDone();
  // A click filters; the same click again takes the filter away.
  await bars.first().click();
  await page.getByRole('button', { name: 'Change the filter Customer is “Ben Schmidt”' }).waitFor();
  await page.getByText('2 records').waitFor();
  expect(decodeURIComponent(page.url())).toContain('?customer=2');
  await bars.first().click();
  await page.getByText('4 records').waitFor();
  // Months have keys of their own.
  await page.getByRole('button', { name: 'November 2026: 104.00' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Change the filter Placed in November 2026' }).waitFor();
  await page.getByText('2 records').waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('correct the countries of a zone', async () => {
  const { page, complaints, close } = await visit(DESK);
  const person = personAt(page, 'correct the countries of a zone');
  await page.goto(`${store.url}/studio/shipping-markups`);
  await person.click(page.locator('tbody tr td a').first());
  await person.click(page.getByRole('link', { name: 'Edit zone' }));
  const country = page.getByRole('textbox', { name: 'Other keys' });
  await person.click(country);
  await country.fill('{ "country": "CH" }');
  expect(await violations(page)).toEqual([]);
  await person.click(page.getByRole('button', { name: 'Save', exact: true }));
  await page.locator('main section', { hasText: 'CH' }).first().waitFor();
  person.isDone();
  expect(complaints).toEqual([]);
  await close();
});

test('change the product of an order line', async () => {
  const { page, complaints, close } = await visit(DESK);
  const person = personAt(page, 'change the product of an order line');
  await page.goto(`${server.url}/studio/orders`);
  await person.click(page.getByRole('link', { name: /2026-0004/ }));
  await person.click(page.getByRole('link', { name: 'Edit', exact: true }));
  await person.click(page.getByRole('row').getByRole('combobox', { name: 'Product *' }));
  // Enter sends no form while the text stands for no record.
  const form = page.url();
  await page.keyboard.type('nothing');
  await page.getByText('Nothing found').waitFor();
  await page.keyboard.press('Enter');
  expect(page.url()).toBe(form);
  await page.keyboard.press('Control+a');
  await person.type('mocha'.slice(0, 4));
  await person.click(page.getByRole('option', { name: /Mocha/ }));
  await page.getByText('1 change', { exact: true }).waitFor();
  expect(await violations(page)).toEqual([]);
  await person.click(page.getByRole('button', { name: 'Save', exact: true }));
  const id = await savedRecord(page, 'orders');
  person.isDone();
  const { stored } = await shop.ask('GET', `orders/${id}?include=lines.product`);
  expect(stored['lines']).toMatchObject([{ price: '5.00', product: { name: 'Mocha' } }]);
  expect(complaints).toEqual([]);
  await close();
});

test('duplicate a markup for another zone', async () => {
  const { page, complaints, close } = await visit(DESK);
  const person = personAt(page, 'duplicate a markup for another zone');
  await page.goto(`${store.url}/studio/shipping-markups`);
  await person.click(page.locator('tbody tr td a').first());
  await person.click(page.getByRole('link', { name: 'Duplicate' }));
  await person.click(page.getByRole('combobox', { name: 'Zone' }));
  await person.click(page.getByRole('option', { name: 'Islands' }));
  await person.click(page.getByRole('button', { name: 'Save', exact: true }));
  const id = await savedRecord(page, 'shipping-markups');
  person.isDone();
  expect((await inStore.ask('GET', `shipping-markups/${id}?include=zone`)).stored).toMatchObject({
    markup_flat: '4.90',
    zone: { zone_name: 'Islands' },
  });
  expect(complaints).toEqual([]);
  await close();
});

test('compare two months', async () => {
  const { page, complaints, close } = await visit(DESK);
  const person = personAt(page, 'compare two months');
  await page.goto(`${server.url}/studio`);
  await page.getByText('Oct 2026 30.50 · Nov 2026 104.00').waitFor();
  await page.locator('.column').first().waitFor();
  person.isDone();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('answer a conflict', async () => {
  const { page, close } = await visit(DESK);
  const person = personAt(page, 'answer a conflict');
  await page.goto(`${server.url}/studio/customers/3/edit`);
  await shop.input(page, 'City').fill('Wien');
  await shop.ask('PUT', 'customers/3', { city: 'Berlin', note: 'theirs' });
  await person.click(page.getByRole('button', { name: 'Save', exact: true }));
  const dialog = page.getByRole('dialog');
  await person.click(dialog.getByText('Theirs: Berlin'));
  await person.click(dialog.getByRole('button', { name: 'Save these' }));
  await savedRecord(page, 'customers');
  person.isDone();
  expect((await shop.ask('GET', 'customers/3')).stored).toMatchObject({ city: 'Berlin', note: 'theirs' });
  await close();
});

test('find a record by half a word, on a phone', async () => {
  const { page, complaints, close } = await visit(PHONE);
  const person = personAt(page, 'find a record by half a word, on a phone');
  await page.goto(`${server.url}/studio/orders`);
  await page.getByRole('link', { name: '2026-0004' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await person.click(page.getByRole('button', { name: 'Search everything' }));
  await page.getByRole('dialog').waitFor();
  await person.type('schm');
  await person.click(page.getByRole('option', { name: /Ben Schmidt/ }));
  await page.getByRole('heading', { name: 'Ben Schmidt' }).waitFor();
  person.isDone();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test('words in any order find records by what is seen of them, and by those that they belong to', async () => {
  const { page, complaints, close } = await visit(DESK);
  await page.goto(`${server.url}/studio/orders`);
  await page.getByText('4 records').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('schmidt ship');
  await page.getByText('1 record', { exact: true }).waitFor();
  await page.getByRole('link', { name: /2026-0002/ }).waitFor();
  expect(page.url()).toContain('$q=schmidt');
  await page.reload();
  await page.getByText('1 record', { exact: true }).waitFor();
  // Charts and exports follow the search.
  await page.getByRole('button', { name: 'Show charts' }).click();
  await page.getByRole('button', { name: 'October 2026: 20.50' }).waitFor();
  await page.getByRole('button', { name: 'Clear the search' }).click();
  await page.getByText('4 records').waitFor();
  await page
    .getByRole('textbox', { name: 'Search this list' })
    .fill(Array.from('abcdefghijklmnopqrstuvwxyz').join(' '));
  await page.getByText(/There was no room to look for: .* z$/).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('a point in time is picked, and filtered by its day', async () => {
  const { page, complaints, close } = await visit(DESK);
  await page.goto(`${server.url}/studio/orders/1/edit`);
  await page.getByLabel('Placed').fill('2026-10-04T08:30');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await savedRecord(page, 'orders');
  expect((await shop.ask('GET', 'orders/1')).stored['placed']).toMatch(/^2026-10-04T06:30:00(?:\.000)?Z$/);
  await page.goto(`${server.url}/studio/orders`);
  await page.getByRole('button', { name: 'Add a filter' }).click();
  await page.getByRole('combobox', { name: 'Field' }).fill('Placed');
  await page.getByRole('option', { name: 'Placed', exact: true }).click();
  await page.getByLabel('Value').fill('2026-10-04');
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('1 record', { exact: true }).waitFor();
  await page.getByRole('link', { name: /2026-0001/ }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('from the page of a customer: a new order, and the keys', async () => {
  const { page, complaints, close } = await visit(DESK);
  await page.goto(`${server.url}/studio/customers`);
  await page.getByRole('link', { name: /Anna Müller/ }).click();
  await page.getByRole('link', { name: 'New order' }).click();
  const customer = page.getByRole('combobox', { name: 'Customer *' });
  await customer.waitFor();
  expect(await customer.inputValue()).toBe('Anna Müller');
  await shop.input(page, 'Number *').fill('2026-0100');
  await page.getByRole('combobox', { name: 'Carrier' }).click();
  await page.getByText('Nothing found').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'New order line' }).click();
  await page.keyboard.type('sid');
  await page.getByRole('option', { name: /Yirgacheffe/ }).waitFor({ state: 'detached' });
  expect(await violations(page)).toEqual([]);
  await page.getByRole('option', { name: /Sidamo/ }).click();
  await shop.input(page, 'Price *').fill('7.90');
  await page.keyboard.press('Control+s');
  const id = await savedRecord(page, 'orders');
  expect((await shop.ask('GET', `orders/${id}?include=customer,lines.product`)).stored).toMatchObject({
    customer: { name: 'Anna Müller' },
    lines: [{ product: { name: 'Sidamo' } }],
  });
  await page.goto(`${server.url}/studio/orders?$size=2`);
  await page.getByRole('link', { name: /2026-0004/ }).click();
  await page.getByRole('heading', { name: '2026-0004' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('e');
  await page.waitForURL(/\/edit$/);
  expect(complaints).toEqual([]);
  await close();
});

test('an empty database says that it is empty', async () => {
  await using empty = await startTestServer({
    schemaDirectory: 'tests/fixtures/coffee',
    settings: { title: 'Coffee' },
  });
  const { page, complaints, close } = await visit(DESK);
  await page.goto(`${empty.url}/studio`);
  await page.getByText('Nothing is here yet').waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test.each(READERS)(
  '%s, %d pixels wide: charts, records and forms have nothing to complain about',
  async (scheme, width) => {
    const { page, complaints, close } = await visit({ ...LOOK, colorScheme: scheme, viewport: { width, height: 800 } });
    for (const [address, shown] of [
      ['', '.column'],
      ['/orders', 'tbody tr'],
      ['/orders/1', 'main dl'],
      ['/customers/2', 'main table'],
      ['/orders/1/edit', 'main form fieldset'],
    ] as const) {
      await page.goto(`${server.url}/studio${address}`, { waitUntil: 'networkidle' });
      await page.locator(shown).first().waitFor();
      expect(await violations(page)).toEqual([]);
      expect(
        await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth'),
      ).toBeLessThanOrEqual(0);
    }
    expect(complaints).toEqual([]);
    await close();
  },
);
