/** Numbers as people type them, in a German browser: none is stored that was not meant. */
import type { Page } from 'playwright-core';
import { formsOf, runStudio, savedRecord } from './studio-page.ts';

const { server, visit } = runStudio({ schemaDirectory: 'tests/fixtures/coffee', settings: { title: 'Coffee' } });
const shop = formsOf(server);
const GERMAN = { locale: 'de-DE', timezoneId: 'Europe/Berlin', viewport: { width: 1366, height: 768 } } as const;

beforeAll(async () => {
  await shop.ask('POST', 'categories', { name: 'Beans' });
  for (const [index, price] of ['1500.00', '1.50', '7.90'].entries())
    await shop.ask('POST', 'products', {
      name: `P${index}`,
      sku: `CB-100${index}`,
      price,
      stock: 9,
      category: { id: 1 },
    });
});

const saveButton = (page: Page) => page.getByRole('button', { name: 'Speichern', exact: true });

test.each([
  ['Stock', '3.000', { stock: 3000 }],
  ['Stock', "1'000", { stock: 1000 }],
  ['Stock', '12.345.678', { stock: 12345678 }],
  ['Price *', '1.234,56', { price: '1234.56' }],
  ['Price *', '12,5', { price: expect.stringMatching(/^12\.50?$/) }],
  ['Price *', '12.5', { price: expect.stringMatching(/^12\.50?$/) }],
])('%s typed key by key as %s is that number', async (label, typed, stored) => {
  const { page, complaints, close } = await visit(GERMAN);
  await page.goto(`${server.url}/studio/products/3/edit`);
  const input = shop.input(page, label);
  await input.click();
  await page.keyboard.press('Control+a');
  for (const key of typed) {
    await page.keyboard.type(key);
    expect(await input.inputValue()).toBe(typed.slice(0, (await input.inputValue()).length));
  }
  expect(await input.inputValue()).toBe(typed);
  // Enter sends the form from within the input.
  await page.keyboard.press('Enter');
  await savedRecord(page, 'products');
  expect((await shop.ask('GET', 'products/3')).stored).toMatchObject(stored);
  expect(complaints).toEqual([]);
  await close();
});

test('a decimal that can be read in two ways is stored as the one that is chosen', async () => {
  const { page, complaints, close } = await visit(GERMAN);
  await page.goto(`${server.url}/studio/products/3/edit`);
  const input = shop.input(page, 'Price *');
  for (const [choice, price] of [
    ['1.600,00', 1600],
    ['1,60', 1.6],
  ] as const) {
    await input.fill('1.600');
    await saveButton(page).click();
    await page.getByText('Es wurde nichts gespeichert').waitFor();
    expect(await input.inputValue()).toBe('1.600');
    await page.getByRole('button', { name: choice, exact: true }).click();
    await saveButton(page).click();
    await savedRecord(page, 'products');
    expect(Number((await shop.ask('GET', 'products/3')).stored['price'])).toBe(price);
    await page.goto(`${server.url}/studio/products/3/edit`);
  }
  expect(complaints).toEqual([]);
  await close();
});

test('what was understood stands beside the input', async () => {
  const { page, close } = await visit(GERMAN);
  await page.goto(`${server.url}/studio/products/3/edit`);
  await shop.input(page, 'Stock').fill('3.000');
  await shop.input(page, 'Price *').fill('1234,5');
  await page.getByText('= 1.234,50', { exact: true }).waitFor();
  expect(await shop.input(page, 'Stock').inputValue()).toBe('3000');
  await page.getByText('= 3.000', { exact: true }).waitFor();
  await close();
});

test('nothing moves under the mouse when an amount is left', async () => {
  const { page, close } = await visit(GERMAN);
  await page.goto(`${server.url}/studio/products/3/edit`);
  await shop.input(page, 'Price *').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('1.234,56');
  const height = () => page.locator('main form').evaluate((form) => form.scrollHeight);
  const before = await height();
  await page.keyboard.press('Tab');
  await page.getByText('= 1.234,56', { exact: true }).waitFor();
  expect(await height()).toBe(before);
  await close();
});

test('a filter reads numbers in the same way, also several of them', async () => {
  const { page, complaints, close } = await visit(GERMAN);
  await page.goto(`${server.url}/studio/products?price[gte]=9`);
  await page.getByRole('button', { name: /^Filter .* ändern$/ }).click();
  const value = page.getByRole('textbox', { name: 'Wert' });
  await value.fill('1.500');
  await page.getByRole('button', { name: 'Anwenden' }).click();
  await page.getByRole('button', { name: '1,50', exact: true }).click();
  await page.getByRole('button', { name: 'Anwenden' }).click();
  await page.getByText('3 Datensätze').waitFor();
  expect(decodeURIComponent(page.url())).toContain('price[gte]=1.50');
  await page.goto(`${server.url}/studio/products?price[in]=7.90`);
  await page.getByRole('button', { name: /^Filter .* ändern$/ }).click();
  const values = page.getByRole('textbox', { name: /Werte/ });
  expect(await values.inputValue()).toBe('7,90');
  await values.fill('1,50\n1.500,00');
  await page.getByRole('button', { name: 'Anwenden' }).click();
  await page.getByText('2 Datensätze').waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('a bulk change writes no number that was not chosen', async () => {
  const { page, close } = await visit(GERMAN);
  await page.goto(`${server.url}/studio/products`);
  await page.getByRole('checkbox', { name: /P0/ }).check();
  await page.getByRole('button', { name: 'Ändern', exact: true }).click();
  await page.getByRole('combobox', { name: 'Feld' }).click();
  await page.getByRole('option', { name: 'Price' }).click();
  await shop.input(page, 'Price *').fill('2.500');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: '2.500,00', exact: true }).click();
  await page.getByRole('button', { name: 'Weiter' }).click();
  await page.getByRole('button', { name: /1 .*ändern/i }).click();
  await page.getByText('1 Datensatz wurde geändert').waitFor();
  expect((await shop.ask('GET', 'products/1')).stored).toMatchObject({ price: expect.stringMatching(/^2500/) });
  await close();
});
