/** The pages in a browser, without errors or violations: light and dark, wide and narrow. */
import { violations } from './axe.ts';
import { READERS } from './chromium.ts';
import { runStudio } from './studio-page.ts';

const { server, visit } = runStudio({ settings: { title: 'Records of <the> shop' } });

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
    const { page, complaints, origins, close } = await visit({
      colorScheme,
      viewport: { width, height: 800 },
    });
    await page.goto(server.url + path, { waitUntil: 'networkidle' });
    await page.waitForSelector(shown);
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([server.url]);
    const body = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(brightness(body) > 128).toBe(colorScheme === 'light');
    expect(await violations(page)).toEqual([]);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    await close();
  });
});

test('the start page leads to lists, and to the reference of each type', async () => {
  const { page, complaints, close } = await visit();
  await page.goto(server.url);
  expect(await page.title()).toBe('Records of <the> shop');
  expect(await page.locator('.types > li').count()).toBe(8);
  const links = await page.evaluate<readonly string[]>('[...document.links].map(({ href }) => href)');
  const own = [...new Set(links.map((link) => link.split('#')[0] ?? ''))];
  for (const link of own) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
  await page.click('a[aria-label="Reference of TaxClass"]');
  await page.waitForSelector('#operations-TaxClass-listTaxClasses');
  expect(complaints).toEqual([]);
  await close();
});
