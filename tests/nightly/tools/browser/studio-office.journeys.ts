/** A day's work in a German office, at the width of a laptop. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { NumberText } from '../../../../studio/data/json.ts';
import { readTable, writeXlsx } from '../../../../studio/many/table.ts';
import { violations } from './axe.ts';
import { TASKS } from '../../../studio/tasks.ts';
import { countedActs, formsOf, runStudio, savedRecord } from './studio-page.ts';

const { server, visit } = runStudio({ schemaDirectory: 'tests/fixtures/coffee', settings: { title: 'Coffee' } });
const shop = formsOf(server);
const GERMAN = { locale: 'de-DE', timezoneId: 'Europe/Berlin' } as const;
const LAPTOP = { ...GERMAN, viewport: { width: 1366, height: 768 } };
const LONG = 'Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenauszahlungsstellenleiterinnenverein';

beforeAll(async () => {
  await shop.ask('POST', 'categories', { name: 'Beans' });
  for (const [index, name] of ['Yirgacheffe', 'Sidamo', 'Mocha'].entries())
    await shop.ask('POST', 'products', { name, sku: `CB-100${index}`, price: '7.90', stock: 9, category: { id: 1 } });
  for (let index = 1; index <= 40; index += 1)
    await shop.ask('POST', 'customers', { name: `Kunde ${index}`, email: `k${index}@example.com`, city: 'Kassell' });
  await shop.ask('POST', 'customers', { name: LONG, email: 'lang@example.com', city: LONG.slice(0, 60) });
  for (let index = 1; index <= 4; index += 1) {
    const lines = [1, 2].map((quantity) => ({ quantity, price: '2910.55', product: { id: index % 2 ? 1 : 2 } }));
    const order = { number: `2026-000${index}`, state: 'open', total: '1002910.55', customer: { id: 1 }, lines };
    await shop.ask('POST', 'orders', order);
  }
});

/** Whether a task took no more clicks and keys than it may. */
async function expectWithin(task: keyof typeof TASKS, acts: Awaited<ReturnType<typeof countedActs>>): Promise<void> {
  const { clicks, keys } = await acts();
  const { clicks: mostClicks, keys: mostKeys } = TASKS[task];
  expect({ task, clicks, keys, isWithin: clicks <= mostClicks && keys <= mostKeys }).toMatchObject({ isWithin: true });
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const saveButton = (page: Page) => button(page, 'Speichern');

test.each([1366, 1440])('amounts in the orders of a customer stay whole at %s px', async (width) => {
  const { page, complaints, close } = await visit({ ...GERMAN, viewport: { width, height: 900 } });
  await page.goto(`${server.url}/studio/customers/1`);
  const table = page.getByRole('region', { name: 'Orders' }).getByRole('region');
  const amounts = table.locator('td.amount');
  await amounts.first().waitFor();
  const edge = await table.boundingBox();
  for (const amount of await amounts.all()) {
    const box = await amount.boundingBox();
    expect(await amount.innerText()).toBe('1.002.910,55');
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual((edge?.x ?? 0) + (edge?.width ?? 0) + 1);
  }
  const isWhole = "[...document.querySelectorAll('td.amount')].every((cell) => cell.scrollWidth <= cell.clientWidth)";
  expect(await page.evaluate(isWhole)).toBe(true);
  expect(complaints).toEqual([]);
  await close();
});

test('a bulk change begins with no field, and shows what will be', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  const acts = await countedActs(page);
  await page.goto(`${server.url}/studio/customers?city=Kassell&$size=50`);
  await page.getByRole('checkbox', { name: 'Alle auf dieser Seite auswählen' }).check();
  await button(page, 'Ändern').click();
  const field = page.getByRole('combobox', { name: 'Feld' });
  await field.waitFor();
  await field.and(page.locator(':focus')).waitFor();
  expect(await button(page, 'Weiter').isDisabled()).toBe(true);
  await page.keyboard.press('Enter');
  await page.getByRole('option', { name: 'City' }).click();
  await shop.input(page, 'City').fill('Kassel');
  await page.keyboard.press('Enter');
  const sample = page.getByRole('region', { name: 'Einige der Datensätze, vorher und nachher' });
  await sample.getByText('Kassell → Kassel').first().waitFor();
  await page.getByText('35 weitere').waitFor();
  expect(await violations(page)).toEqual([]);
  await button(page, '40 Datensätze ändern').click();
  await page.getByText('40 Datensätze wurden geändert').waitFor();
  await expectWithin('correct a city in 40 records', acts);
  expect(complaints).toEqual([]);
  await close();
});

test('two people who change two lines of an order are asked nothing, and one field of a line by its name', async () => {
  const { page, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/orders/1/edit`);
  const quantities = page.getByRole('textbox', { name: 'Quantity' });
  await quantities.nth(0).fill('7');
  const [first, second] = (await shop.ask('GET', 'orders/1?include=lines')).stored['lines'] as { id: number }[];
  await shop.ask('PUT', 'orders/1', { lines: [{ id: first?.id }, { id: second?.id, quantity: 8 }] });
  await saveButton(page).click();
  await savedRecord(page, 'orders');
  const quantitiesStored = async () =>
    ((await shop.ask('GET', 'orders/1?include=lines')).stored['lines'] as { quantity: number }[]).map(
      (one) => one.quantity,
    );
  expect(await quantitiesStored()).toEqual([7, 8]);
  await page.goto(`${server.url}/studio/orders/1/edit`);
  await quantities.nth(0).fill('5');
  await shop.ask('PUT', 'orders/1', { lines: [{ id: first?.id, quantity: 6 }, { id: second?.id }] });
  await saveButton(page).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/^Lines › .* › Quantity$/).waitFor();
  expect(await dialog.getByRole('group').count()).toBe(1);
  await dialog.getByText('Meins: 5').click();
  await button(page, 'Diese speichern').click();
  await savedRecord(page, 'orders');
  expect(await quantitiesStored()).toEqual([5, 8]);
  await close();
});

test('a refused deletion leads to the records that are in the way', async () => {
  const { page, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/customers/1`);
  await button(page, 'Löschen').click();
  const link = page.getByRole('dialog').getByRole('link');
  await link.first().waitFor();
  expect(await link.allInnerTexts()).toEqual(['4 Orders']);
  expect(await button(page, 'Erneut versuchen').count()).toBe(0);
  await link.click();
  await page.getByText('4 Datensätze').waitFor();
  expect(page.url()).toContain('/studio/orders?customer=1');
  await close();
});

test('a fault is shown where no bar covers it', async () => {
  const { page, close } = await visit({ ...GERMAN, viewport: { width: 1366, height: 500 } });
  await page.goto(`${server.url}/studio/orders/2/edit`);
  const last = page.getByRole('textbox', { name: 'Price *' }).last();
  await last.fill('x');
  await page.keyboard.press('Control+Home');
  await page.evaluate('scrollTo(0, 0)');
  await page.keyboard.press('Control+s');
  const fault = page.locator('.Mui-error.MuiFormHelperText-root').last();
  await fault.waitFor();
  await page.waitForTimeout(300);
  const [place, bar] = [await fault.boundingBox(), await saveButton(page).boundingBox()];
  expect((place?.y ?? 0) + (place?.height ?? 0)).toBeLessThan(bar?.y ?? 0);
  expect(place?.y).toBeGreaterThan(56);
  await close();
});

test('a long unbroken name widens no page', async () => {
  const { page, close } = await visit(LAPTOP);
  for (const address of ['customers', 'customers/41', 'customers/41/edit', 'orders/new?customer=41']) {
    await page.goto(`${server.url}/studio/${address}`);
    await page.getByText(LONG.slice(0, 20)).or(page.locator('input[value^=Donau]')).first().waitFor();
    expect([address, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([address, 1366]);
  }
  await close();
});

test('a list shows fourteen records, and is left by few keys', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/customers`);
  const links = page.locator('tbody a.record');
  await links.nth(13).waitFor();
  const last = await page.locator('tbody tr').nth(13).boundingBox();
  expect((last?.y ?? 768) + (last?.height ?? 0)).toBeLessThanOrEqual(768);
  expect(await page.evaluate("getComputedStyle(document.querySelector('tbody a')).textDecorationLine")).toBe('none');
  await page.getByRole('textbox', { name: 'Diese Liste durchsuchen' }).focus();
  let tabs = 0;
  while ((await links.first().and(page.locator(':focus')).count()) === 0 && tabs < 20) {
    await page.keyboard.press('Tab');
    tabs += 1;
  }
  expect(tabs).toBeLessThanOrEqual(10);
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByText('1 ausgewählt').waitFor();
  expect(await page.getByRole('checkbox', { name: 'Kunde 1 auswählen', exact: true }).isChecked()).toBe(true);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(/customers\/1$/);
  expect(complaints).toEqual([]);
  await close();
});

test('columns are sorted by two keys, moved and hidden, and a view of them has a name and an address', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/orders`);
  const head = (name: string) => page.locator('th .head', { hasText: name });
  await head('Customer').click();
  await head('Number').click({ modifiers: ['Shift'] });
  await page.waitForURL(/\$sort=customer,number/);
  await head('Placed').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Ausblenden' }).click();
  await head('Total').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Nach vorn' }).click();
  const titles = async () =>
    (await page.getByRole('columnheader').allInnerTexts()).map((text) => text.split('\n')[0]?.trim());
  expect((await titles()).slice(0, 3)).toEqual(['Number', 'Total', 'State']);
  await button(page, 'Mehr').click();
  await page.getByRole('menuitem', { name: 'Ansicht speichern …' }).click();
  await page.getByRole('textbox', { name: 'Name der Ansicht' }).fill('Nach Kunden');
  await page.keyboard.press('Enter');
  const view = page.getByRole('navigation').getByRole('link', { name: 'Nach Kunden' });
  await view.waitFor();
  const address = page.url();
  expect(address).toContain('$sort=customer,number');
  await page.goto(`${server.url}/studio/orders`);
  await view.click();
  await page.waitForURL(address);
  // A colleague who opens it sees the same.
  const other = await visit(LAPTOP);
  await other.page.goto(address);
  await other.page.getByRole('columnheader').nth(2).waitFor();
  expect(
    (await other.page.getByRole('columnheader').allInnerTexts()).slice(0, 3).map((text) => text.split('\n')[0]?.trim()),
  ).toEqual(['Number', 'Total', 'State']);
  await other.close();
  expect(complaints).toEqual([]);
  await close();
});

test('cells are edited in place by keys, and a cell filters by its value', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/products`);
  await page.locator('tbody a.record').nth(2).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('e');
  const input = page.locator('.cell input');
  await input.waitFor();
  await page.keyboard.press('Tab');
  await page.locator('.cell input[value^="CB-"]').and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Tab');
  await page.locator('.cell input[value="7,9"], .cell input[value="7,90"]').waitFor();
  await page.keyboard.type('1.234,50');
  await page.keyboard.press('Enter');
  await page
    .getByRole('cell', { name: '1.234,50' })
    .or(page.getByRole('cell', { name: '1.234,5' }))
    .waitFor();
  await input.waitFor();
  await page.keyboard.type('1.500');
  await page.keyboard.press('Enter');
  await page.getByText('Wählen Sie eine der beiden Zahlen').waitFor();
  expect((await page.locator('.cell').boundingBox())?.width).toBeLessThan(300);
  await page.keyboard.press('Escape');
  await input.waitFor({ state: 'detached' });
  const { stored } = await shop.ask('GET', 'products?fields=price');
  expect((stored as unknown as { price: string }[]).map(({ price }) => Number(price))).toEqual(
    [7.9, 7.9, 1234.5].toSorted(),
  );
  await page.getByRole('cell', { name: 'Beans' }).first().click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Nur diese' }).click();
  await page.waitForURL(/\?category=1/);
  expect(complaints).toEqual([]);
  await close();
});

/** A service that takes its time for what is asked of it with this method. */
const slow = (page: Page, methods: readonly string[], url = '**/api/**') =>
  page.route(url, async (route) => {
    if (methods.includes(route.request().method())) await new Promise((resolve) => setTimeout(resolve, 300));
    await route.continue();
  });

test('keys that are typed ahead of a slow machine and a slow service go where they were meant', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  const names = async (): Promise<unknown> =>
    ((await shop.ask('GET', 'carriers?fields=name')).stored as unknown as { name: string }[]).map(({ name }) => name);
  for (const name of ['Post', 'Rad', 'Schiff']) await shop.ask('POST', 'carriers', { name });
  await page.goto(`${server.url}/studio/carriers`);
  await page.locator('tbody a.record').nth(2).waitFor();
  const machine = await page.context().newCDPSession(page);
  await machine.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await slow(page, ['GET'], '**/*.js');
  await slow(page, ['GET', 'PUT', 'POST']);
  const type = async (...keys: readonly string[]) => {
    for (const key of keys)
      await (/^(?:Enter|Tab|Escape)$/.test(key) ? page.keyboard.press(key) : page.keyboard.type(key));
  };
  // The editor of cells is loaded, a value is saved, the list is read again, and the next cell opens.
  await type('j', 'e', 'Bote', 'Enter', 'Bahn', 'Enter', 'weg', 'Escape', 'x');
  await page.getByText('1 ausgewählt').waitFor();
  expect(await names()).toEqual(['Bote', 'Bahn', 'Schiff']);
  await type('x');
  // The form of a new record is loaded, and saved.
  await type('n', 'neun');
  await shop.input(page, 'Name *').and(page.locator('[value=neun]')).waitFor();
  await page.keyboard.press('Control+s');
  await savedRecord(page, 'carriers');
  expect(await names()).toEqual(['Bote', 'Bahn', 'Schiff', 'neun']);
  // A search is still running when its only result is chosen.
  await page.goto(`${server.url}/studio/products/new`);
  await shop.input(page, 'Name *').and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Tab');
  await type('bea', 'Enter', 'Tab', 'CB-9');
  await page.locator('[role=combobox][value=Beans]').waitFor();
  await shop.input(page, 'Sku *').and(page.locator('[value=CB-9]')).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('prices are changed in a workbook and read back, with a preview', async () => {
  const { page, complaints, close } = await visit({ ...LAPTOP, acceptDownloads: true });
  const acts = await countedActs(page);
  await page.goto(`${server.url}/studio/products`);
  await page.locator('tbody a.record').nth(2).waitFor();
  await button(page, 'Mehr').click();
  await page.getByRole('menuitem', { name: 'Products exportieren' }).click();
  const loading = page.waitForEvent('download');
  await saveButton(page).click();
  const file = await (await loading).path();
  const { head, rows } = await readTable('products.xlsx', new Uint8Array(readFileSync(file)).buffer);
  const [name, price] = ['Name', 'Price'].map((title) => head.indexOf(title));
  expect(rows.map(({ cells }) => cells[name ?? 0])).toEqual(['Mocha', 'Sidamo', 'Yirgacheffe']);
  const changed = [
    head,
    ...rows.map(({ cells }, index) => cells.with(price ?? 0, new NumberText(`${1500 + index}.5`))),
  ];
  const choose = async (as: string, blob: Blob) => {
    const buffer = Buffer.from(await blob.arrayBuffer());
    await page.setInputFiles('input[type=file]', { name: as, mimeType: 'application/octet-stream', buffer });
  };
  await button(page, 'Mehr').click();
  await page.getByRole('menuitem', { name: 'Products importieren' }).click();
  await choose('products.xlsx', await writeXlsx(changed, 'Products'));
  await button(page, 'Ausprobieren').click();
  const changes = page.getByRole('region', { name: 'Was sich ändert' });
  await changes.getByText('→ 1.500,5').waitFor();
  expect(await changes.getByRole('row').count()).toBe(3);
  expect(await violations(page)).toEqual([]);
  await button(page, '3 Datensätze importieren').click();
  await page.getByText('3 Datensätze wurden importiert').waitFor();
  await expectWithin('change three prices in a workbook', acts);
  const stored = (await shop.ask('GET', 'products?fields=price,name')).stored as unknown as { price: string }[];
  expect(stored.map((one) => Number(one.price))).toEqual([1500.5, 1501.5, 1502.5]);
  // CSV as Excel saves it; a number that can be read in two ways is asked about, and a name that nobody has is said.
  await button(page, 'Mehr').click();
  await page.getByRole('menuitem', { name: 'Products importieren' }).click();
  const csv = (category: string, stock: string) =>
    new Blob([Buffer.from(`Name;SKU;Price;Stock;Category\r\nCafé;CB-1000;1.600;${stock};${category}\r\n`, 'latin1')]);
  await choose('products.csv', csv('Nirgends', '1,5'));
  await button(page, 'Ausprobieren').click();
  await page.getByText('kein Datensatz heißt „Nirgends“').waitFor();
  await page.getByText('„1,5“ muss eine ganze Zahl sein').waitFor();
  await page.getByText('„1.600“ lässt sich auf zwei Arten lesen').waitFor();
  const faults = page.waitForEvent('download');
  await button(page, 'Zeilen mit Fehlern speichern').click();
  expect(readFileSync(await (await faults).path(), 'utf8')).toContain('Nirgends');
  await choose('products.csv', csv('Beans', '9'));
  await button(page, 'Ausprobieren').click();
  await page.getByRole('combobox', { name: 'Dezimalzeichen der Datei' }).click();
  await page.getByRole('option', { name: 'Komma: 1,5' }).click();
  await button(page, 'Ausprobieren').click();
  await changes.getByText('→ 1600').waitFor();
  await button(page, '1 Datensatz importieren').click();
  await page.getByText('1 Datensatz wurde importiert').waitFor();
  const one = (await shop.ask('GET', 'products/1')).stored;
  expect([one['name'], Number(one['price'])]).toEqual(['Café', 1600]);
  expect(complaints).toEqual([]);
  await close();
});

test('a number that is typed ahead, or after Enter in the row above, replaces the one that stands there', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/orders/new`);
  await button(page, 'Neu: Order line').click();
  await page.getByRole('combobox', { name: 'Product *' }).and(page.locator(':focus')).waitFor();
  await slow(page, ['GET']);
  const quantity = page.getByRole('textbox', { name: 'Quantity' });
  expect(await quantity.inputValue()).toBe('1');
  await page.keyboard.type('CB-1000');
  for (const key of ['Enter', 'Tab', '1', '2']) await page.keyboard.press(key);
  await page.locator('[role=combobox][value*=CB-1000], [role=combobox][value=Yirgacheffe]').waitFor();
  await quantity.and(page.locator('[value="12"]')).waitFor();
  await page.goto(`${server.url}/studio/orders/2/edit`);
  await quantity.nth(1).and(page.locator('[value="2"]')).waitFor();
  await quantity.nth(0).focus();
  for (const key of ['Enter', '3', '0']) await page.keyboard.press(key);
  await quantity.nth(1).and(page.locator('[value="30"]')).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('an order of three lines is taken by SKU with the keyboard alone', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  const acts = await countedActs(page);
  await page.goto(`${server.url}/studio/orders`);
  await page.locator('tbody a.record').first().waitFor();
  await page.keyboard.press('n');
  await shop.input(page, 'Number *').and(page.locator(':focus')).waitFor();
  const choose = async (text: string, name: RegExp) => {
    await page.keyboard.type(text);
    await page.getByRole('option', { name }).waitFor();
    await page.getByRole('option').filter({ hasNotText: 'Neu:' }).nth(1).waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.getByRole('option').first().waitFor({ state: 'detached' });
  };
  await page.keyboard.type('2026-1000');
  await page.keyboard.press('Tab');
  await choose('k7@example', /Kunde 7/);
  const add = button(page, 'Neu: Order line');
  for (let tabs = 0; tabs < 25 && (await add.and(page.locator(':focus')).count()) === 0; tabs += 1)
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  for (const [index, sku] of ['CB-1000', 'CB-1001', 'CB-1002'].entries()) {
    const product = page.getByRole('combobox', { name: 'Product *' }).nth(index);
    await product.and(page.locator(':focus')).waitFor();
    await choose(sku, [/Yirgacheffe|Café/, /Sidamo/, /Mocha/][index] ?? /./);
    await page.keyboard.press('Tab');
    await page.keyboard.type(`${index + 2}`);
    await page.keyboard.press('Tab');
    await page.keyboard.type('1.234,50');
    if (index < 2) await page.keyboard.press('Enter');
  }
  await page.getByRole('row', { name: /Summe/ }).getByText('3.703,50').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Control+s');
  const id = await savedRecord(page, 'orders');
  await expectWithin('take an order of three lines by SKU', acts);
  const { lines, customer } = (await shop.ask('GET', `orders/${id}?include=lines,lines.product,customer`)).stored as {
    lines: { quantity: number; price: string; product: { sku: string } }[];
    customer: { name: string };
  };
  expect(customer.name).toBe('Kunde 7');
  expect(lines.map(({ quantity, price, product }) => [quantity, Number(price), product.sku])).toEqual([
    [2, 1234.5, 'CB-1000'],
    [3, 1234.5, 'CB-1001'],
    [4, 1234.5, 'CB-1002'],
  ]);
  expect(complaints).toEqual([]);
  await close();
});

test('the palette finds by mail and SKU, counts what it does not show, and loses no key', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/orders`);
  await page.getByRole('heading', { name: 'Orders' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('k12@exam');
  await page.getByRole('option', { name: /Kunde 12/ }).waitFor();
  const input = page.getByRole('combobox', { name: 'Alles durchsuchen' });
  expect(await input.inputValue()).toBe('k12@exam');
  await input.fill('CB-1001');
  await page.getByRole('option', { name: /Sidamo/ }).waitFor();
  await input.fill('kunde');
  await page.getByRole('option', { name: '40 in Customers' }).waitFor();
  await input.fill('neu order');
  await page.getByRole('option', { name: 'Neu: Order', exact: true }).waitFor();
  await input.fill('dunkel');
  await page.getByRole('option', { name: 'Darstellung: Dunkel' }).waitFor();
  await input.fill('40 kunde');
  await page.getByRole('option', { name: /Kunde 40/ }).click();
  await page.waitForURL(/customers\/40$/);
  expect(complaints).toEqual([]);
  await close();
});

test('my open orders are one click away, once the view has a name', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  const acts = await countedActs(page);
  await page.goto(`${server.url}/studio/orders?state=open`);
  await page.locator('tbody a.record').first().waitFor();
  await button(page, 'Mehr').click();
  await page.getByRole('menuitem', { name: 'Ansicht speichern …' }).click();
  await page.getByRole('textbox', { name: 'Name der Ansicht' }).fill('Meine offenen');
  await page.keyboard.press('Enter');
  await page.getByRole('navigation').getByRole('link', { name: 'Meine offenen' }).waitFor();
  await page.goto(`${server.url}/studio`);
  await page.getByRole('navigation').getByRole('link', { name: 'Meine offenen' }).click();
  await button(page, 'Filter State ist Open ändern').waitFor();
  await expectWithin('open my open orders', acts);
  expect(complaints).toEqual([]);
  await close();
});

test('a customer whom nobody knows yet is made from within an order', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/orders/new`);
  await shop.input(page, 'Number *').fill('2026-2000');
  const customer = page.getByRole('combobox', { name: 'Customer *' });
  await customer.click();
  await page.keyboard.type('Neumann');
  await page.getByRole('option', { name: 'Nichts gefunden · Neu: Customer' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  const name = dialog.getByRole('textbox', { name: 'Name *' });
  await name.and(page.locator(':focus')).waitFor();
  expect(await name.inputValue()).toBe('Neumann');
  await page.keyboard.press('Control+s');
  await dialog.getByText('fehlt').first().waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole('textbox', { name: 'Email *' }).fill('neumann@example.com');
  await page.keyboard.press('Control+s');
  await dialog.waitFor({ state: 'detached' });
  expect([await customer.inputValue(), await shop.input(page, 'Number *').inputValue()]).toEqual([
    'Neumann',
    '2026-2000',
  ]);
  await page.keyboard.press('Control+s');
  const id = await savedRecord(page, 'orders');
  expect((await shop.ask('GET', `orders/${id}?include=customer`)).stored).toMatchObject({
    customer: { name: 'Neumann', email: 'neumann@example.com' },
  });
  // The first try was refused.
  expect(complaints).toEqual([expect.stringContaining('422')]);
  await close();
});

test('an order of two hundred lines opens with few inputs, and the others come when they are near', async () => {
  const lines = Array.from({ length: 200 }, (_, position) => ({ position, price: '1.00', product: { id: 1 } }));
  const order = { number: '2026-3000', total: '200.00', customer: { id: 1 }, lines };
  const { stored } = await shop.ask('POST', 'orders', order);
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/orders/${String(stored['id'])}/edit`);
  const rows = page.locator('form tbody tr');
  await rows.nth(199).waitFor();
  const inputs = page.getByRole('textbox', { name: 'Price *' });
  expect(await inputs.count()).toBeLessThan(40);
  await rows.nth(199).scrollIntoViewIfNeeded();
  await rows.nth(199).getByRole('textbox', { name: 'Price *' }).fill('2,50');
  await page.getByRole('row', { name: /Summe/ }).getByText('201,50').waitFor();
  await page.keyboard.press('Control+s');
  await savedRecord(page, 'orders');
  const { stored: saved } = await shop.ask('GET', `orders/${String(stored['id'])}?include=lines`);
  expect((saved['lines'] as { price: string }[]).map(({ price }) => Number(price))).toEqual([
    ...Array.from({ length: 199 }, () => 1),
    2.5,
  ]);
  expect(complaints).toEqual([]);
  await close();
});
