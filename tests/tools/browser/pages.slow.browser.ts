/** The reference in a browser: requests made in it, also where others know the service by another address; how much of a screen an operation takes. */
import type { Browser } from 'playwright-core';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { keep, startBrowser, visit } from './chromium.ts';

let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  server = await startTestServer();
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

test('try it out makes a record, and reads it', async () => {
  const { page, complaints, close } = await visit(browser);
  const answered = async (operation: string): Promise<string> => {
    await page.goto(`${server.url}/docs?${operation}#/TaxClass/${operation}`);
    const block = page.locator(`#operations-TaxClass-${operation}`);
    await block.locator('.execute').click();
    const status = block.locator('.live-responses-table tbody .response-col_status').first();
    await status.waitFor();
    const body = block.locator('.live-responses-table .highlight-code code').first();
    return `${(await status.innerText()).trim()} ${(await body.innerText()).replaceAll(/\s/g, '')}`;
  };
  expect(await answered('createTaxClass')).toContain('201 {"id":1,"position":10');
  expect(await answered('getTaxClass')).toContain('200 {"id":1,"position":10');
  expect(await answered('listTaxClasses')).toContain('200 [{"id":1,"position":10');
  expect(complaints).toEqual([]);
  await close();
});

test('behind PUBLIC_URL, try it out works at the internal address too', async () => {
  const hidden = await startTestServer({ settings: { publicUrl: 'https://shop.localhost/records' } });
  const { page, complaints, origins, close } = await visit(browser);
  await page.goto(`${hidden.url}/docs#/TaxClass/createTaxClass`);
  const block = page.locator('#operations-TaxClass-createTaxClass');
  await block.locator('.execute').click();
  const status = block.locator('.live-responses-table tbody .response-col_status').first();
  await status.waitFor();
  expect((await status.innerText()).trim()).toBe('201');
  expect(complaints).toEqual([]);
  expect([...origins]).toEqual([hidden.url]);
  await close();
  await hidden.close();
});

const SCREEN = { width: 1280, height: 800 };

test('an operation fits on a screen; what few readers need is folded, and unfolds with the keyboard', async () => {
  const { page, complaints, close } = await visit(browser, { viewport: SCREEN });
  for (const operation of ['updateShippingMarkup', 'listShippingMarkups', 'summarizeShippingMarkups', 'putGlobalTab']) {
    const type = operation.replace(/^[a-z]+/, '').replace(/s$/, '');
    await page.goto(`${server.url}/docs?${operation}#/${type}/${operation}`);
    const block = page.locator(`#operations-${type}-${operation}`);
    await block.locator('.execute').waitFor();
    await block.locator('.unfold').nth(1).waitFor();
    await keep(page, operation);
    const { height } = (await block.boundingBox()) ?? { height: 0 };
    expect([operation, height <= SCREEN.height]).toEqual([operation, true]);
  }
  const block = page.locator('#operations-GlobalTab-putGlobalTab');
  const [filters, errors] = [block.locator('[data-param-name="fields"]'), block.locator('.response[data-code="422"]')];
  expect([await filters.isVisible(), await errors.isVisible()]).toEqual([false, false]);
  for (const name of ['Show all parameters', 'Show all responses']) {
    await block.getByRole('button', { name }).press('Enter');
    await block.getByRole('button', { name: name.replace('Show', 'Hide'), expanded: true }).waitFor();
  }
  expect([await filters.isVisible(), await errors.isVisible()]).toEqual([true, true]);
  expect(complaints).toEqual([]);
  await close();
});
