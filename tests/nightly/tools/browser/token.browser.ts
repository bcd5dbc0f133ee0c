/** The pages of a service with tokens: one is entered once, and start page and reference are its own. */
import type { Page } from 'playwright-core';
import { createToken, parseTypes, tokenLine } from '../../../../engine/access/tokens.ts';
import { READERS } from './chromium.ts';
import { runStudio } from './studio-page.ts';

const all = createToken();
const few = createToken();
const line = (name: string, read: string, write: string, token: string): string =>
  tokenLine({ name, read: read === '' ? new Set() : parseTypes(read), write: parseTypes(write) }, token);

const tokens = [line('all', '', '*', all), line('few', 'TmpVar', 'TaxClass', few)].join(';');
const { server, visit } = runStudio({ settings: { title: 'Records of <the> shop', tokens } });

async function enter(page: Page, token: string): Promise<void> {
  await page.fill('#token', token);
  await page.press('#token', 'Enter');
}

const said = (page: Page, text: string): Promise<void> => page.locator('#access-said', { hasText: text }).waitFor();

describe.each(READERS)('%s, %d pixels wide', (colorScheme, width) => {
  test('start page and reference show what the token may see, with nothing to complain about', async () => {
    const visiting = await visit({ colorScheme, viewport: { width, height: 800 } });
    const { page, complaints, origins } = visiting;
    const fits = async (): Promise<void> =>
      expect(
        await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth'),
      ).toBeLessThanOrEqual(0);
    await page.goto(`${server.url}/`, { waitUntil: 'networkidle' });
    expect(await page.locator('.types > li').count()).toBe(0);
    expect(await page.locator('body').innerText()).not.toContain('0 record types');
    await fits();
    await enter(page, few);
    await page.waitForSelector('.types > li');
    expect(await page.locator('.types h3').allInnerTexts()).toEqual(['TaxClass', 'TmpVar']);
    expect(await page.locator('#count').innerText()).toContain('2 record types');
    await fits();
    await page.click('nav a[href=docs]');
    await page.waitForSelector('.opblock-tag');
    expect(
      await page.locator('.opblock-tag').evaluateAll((tags) => tags.map((tag) => tag.getAttribute('data-tag'))),
    ).toEqual(['TaxClass', 'TmpVar']);
    expect(await page.locator('.auth-wrapper .authorize.locked').isVisible()).toBe(true);
    await fits();
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([server.url]);
    expect(page.url()).not.toContain(few);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate('JSON.stringify(localStorage)')).toBe('{}');
    await visiting.close();
  });
});

test('a wrong token says so, and one that works is kept for the tab alone', async () => {
  const { page, complaints, close } = await visit();
  await page.goto(server.url);
  for (const wrong of [createToken(), 'ä b']) {
    await enter(page, wrong);
    await said(page, 'This token cannot be used');
    expect(await page.locator('.types > li').count()).toBe(0);
  }
  await enter(page, all);
  await page.waitForSelector('.types > li');
  expect(await page.locator('.types > li').count()).toBe(8);
  await enter(page, createToken());
  await said(page, 'This token cannot be used');
  expect(await page.locator('.types > li').count()).toBe(8);
  await page.reload();
  await page.waitForSelector('.types > li');
  const other = await page.context().newPage();
  await other.goto(server.url, { waitUntil: 'networkidle' });
  expect(await other.locator('.types > li').count()).toBe(0);
  await page.click('#forget');
  await page.waitForSelector('main[data-locked]');
  await page.reload({ waitUntil: 'networkidle' });
  expect(await page.locator('.types > li').count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});
