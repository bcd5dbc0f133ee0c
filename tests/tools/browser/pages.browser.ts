/** The pages in a browser: nothing to complain about, light and dark, wide and narrow; and records made and read by hand. */
import type { Browser } from 'playwright-core';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { READERS, startBrowser, visit } from './chromium.ts';

let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  server = await startTestServer({ settings: { title: 'Records of <the> shop' } });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

const PAGES = [
  ['/', 'main h2'],
  ['/docs', '.opblock-tag'],
  ['/docs/clients', 'main h2'],
] as const;

const rgb = /rgb\((\d+), (\d+), (\d+)\)/;
const brightness = (color: string): number =>
  (rgb.exec(color)?.slice(1).map(Number) ?? []).reduce((sum, part) => sum + part, 0) / 3;

describe.each(READERS)('%s, %d pixels wide', (colorScheme, width) => {
  test.each(PAGES)('%s has nothing to complain about', async (path, shown) => {
    const { page, complaints, origins, close } = await visit(browser, {
      colorScheme,
      viewport: { width, height: 800 },
    });
    await page.goto(server.url + path, { waitUntil: 'networkidle' });
    await page.waitForSelector(shown);
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([server.url]);
    const body = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(brightness(body) > 128).toBe(colorScheme === 'light');
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    await close();
  });
});

test('the start page leads to lists, to the reference of each type, and shows the diagram', async () => {
  const { page, complaints, close } = await visit(browser);
  await page.goto(server.url);
  expect(await page.title()).toBe('Records of <the> shop');
  expect(await page.locator('.types > li').count()).toBe(8);
  expect(await page.locator('.diagram svg .node').count()).toBe(20);
  const links = await page.evaluate<readonly string[]>('[...document.links].map(({ href }) => href)');
  const own = [...new Set(links.map((link) => link.split('#')[0] ?? ''))];
  for (const link of own) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
  await page.click('a[aria-label="Reference of TaxClass"]');
  await page.waitForSelector('#operations-TaxClass-listTaxClasses');
  expect(complaints).toEqual([]);
  await close();
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
  const hidden = await startTestServer({ settings: { publicUrl: 'https://shop.example.com/records' } });
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

/** Pixels: it was four times as much. */
const SCREEN = 2600;

test('an operation fits on a screen: what is nested is folded', async () => {
  const { page, close } = await visit(browser, { viewport: { width: 1280, height: 800 } });
  for (const operation of ['createSalesTaxRate', 'getSalesTaxRate', 'createShippingMarkup', 'listShippingMarkups']) {
    const type = operation.replace(/^[a-z]+/, '').replace(/s$/, '');
    await page.goto(`${server.url}/docs?${operation}#/${type}/${operation}`);
    const block = page.locator(`#operations-${type}-${operation}`);
    await block.locator('.execute').waitFor();
    const { height } = (await block.boundingBox()) ?? { height: 0 };
    if (process.env['SCREENSHOTS']) await block.screenshot({ path: `${process.env['SCREENSHOTS']}/${operation}.png` });
    expect([operation, height < SCREEN]).toEqual([operation, true]);
  }
  await close();
});
