/** Lists and records in the studio, with any texts: light and dark, wide and narrow. */
import type { Page, Request } from 'playwright-core';
import { createToken, parseTypes, tokenLine } from '../../../../engine/access/tokens.ts';
import { textOfWhere, whereOf } from '../../../../studio/data/where.ts';
import { readTree, writeTree } from '../../../../studio/data/filter-tree.ts';
import { startTestServer } from '../../../support/server.ts';
import { violations } from './axe.ts';
import { hasTitle, READERS } from './chromium.ts';
import { runStudio } from './studio-page.ts';

const SCRIPT = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';

const { server, visit } = runStudio({ settings: { title: 'Records of <the> shop' } });
beforeAll(async () => {
  const zones = ['Mainland', 'Islands', SCRIPT];
  for (let index = 0; index < 60; index++)
    await create('shipping-markups', {
      min_total: `${index}.10`,
      markup_flat: '12345678901.10',
      zone: index < zones.length ? { zone_name: zones[index] } : { zone_id: (index % zones.length) + 1 },
    });
  await create('tmp-vars', { name: SCRIPT, value: SCRIPT });
  await create('tmp-vars', { name: 'empty' });
});

async function create(path: string, body: object): Promise<string> {
  const response = await fetch(`${server.url}/api/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  return response.headers.get('Location')?.split('/').at(-1) ?? '';
}

const cells = (page: Page, column: number): Promise<readonly string[]> =>
  page.locator(`tbody tr td:nth-child(${column})`).allInnerTexts();

async function rows(page: Page, count: number): Promise<void> {
  await page.locator(`table:not(:has(.MuiSkeleton-root)) tbody tr:nth-child(${count}):last-child`).waitFor();
}

const firstIs = (page: Page, id: number): Promise<void> =>
  page.locator('tbody tr:first-child td:first-child', { hasText: new RegExp(`^${id}$`) }).waitFor();

describe.each(READERS)('%s, %d pixels wide', (colorScheme, width) => {
  test.each([
    ['/', 'main h1'],
    ['/shipping-markups', 'tbody tr'],
    ['/shipping-markups/3', 'main dl'],
  ])('%s has nothing to complain about', async (address, shown) => {
    const { page, complaints, origins, close } = await visit({
      colorScheme,
      locale: 'en-US',
      viewport: { width, height: 800 },
    });
    await page.goto(`${server.url}/studio${address}`, { waitUntil: 'networkidle' });
    await page.waitForSelector(shown);
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([server.url]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')).toBeLessThanOrEqual(
      0,
    );
    expect(await violations(page)).toEqual([]);
    await close();
  });
});

test('a list is paged, sorted and filtered through relations, and its address holds all of it', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await page.goto(`${server.url}/studio`);
  await page.click('nav >> text=Shipping markups');
  await rows(page, 25);
  await page.getByText('60 records').waitFor();
  await hasTitle(page, 'Shipping markups · Records of <the> shop');
  await page.click('[aria-label="Next page"]');
  await page.getByText('26–50').waitFor();
  await rows(page, 25);
  await firstIs(page, 26);
  await page.click('th >> text=Markup ID');
  await firstIs(page, 1);
  await page.click('th >> text=Markup ID');
  await firstIs(page, 60);
  await page.click('[aria-label="Add a filter"]');
  await page.getByRole('combobox', { name: 'Field' }).fill('Zone › Name');
  await page.getByRole('option', { name: 'Zone › Name', exact: true }).click();
  await page.getByLabel('Value').fill('Isl');
  await page.keyboard.press('Enter');
  await page.getByText('20 records').waitFor();
  await rows(page, 20);
  const seen = await cells(page, 1);
  await page.reload();
  await rows(page, 20);
  expect(await cells(page, 1)).toEqual(seen);
  await page.goBack();
  await page.getByText('60 records').waitFor();
  expect(complaints).toEqual([]);
  await close();
});

describe('groups of filters, and filters by the records of sets', () => {
  const names = async (query: string): Promise<readonly unknown[]> => {
    const response = await fetch(`${server.url}/api/global-tabs?${query}`);
    expect(response.status).toBe(200);
    return ((await response.json()) as readonly { service_name: string }[]).map((tab) => tab.service_name).toSorted();
  };
  beforeAll(async () => {
    const tabs = [['x', 'y'], ['x'], ['y'], []];
    for (const [index, codes] of tabs.entries())
      await create('global-tabs', {
        service_name: `tab${index}`,
        position: index,
        providers: codes.map((code) => ({ code })),
      });
  });

  test('they are put together by hand, read in words, and edited', async () => {
    const { page, complaints, close } = await visit({ locale: 'en-US' });
    const dialog = page.getByRole('dialog');
    const field = async (index: number, title: string): Promise<void> => {
      await dialog.getByRole('combobox', { name: 'Field' }).nth(index).fill(title);
      await page.getByRole('option', { name: title, exact: true }).click();
    };
    await page.goto(`${server.url}/studio/global-tabs`);
    await page.click('[aria-label="Add a filter"]');
    await field(0, 'Providers');
    await field(1, 'Code');
    await dialog.getByLabel('Value').fill('x');
    await page.keyboard.press('Enter');
    await page.getByText('Providers: at least one with (Code contains “x”)').waitFor();
    await rows(page, 2);
    await page
      .getByRole('button', { name: /^Change the filter/ })
      .first()
      .click();
    await dialog.getByRole('button', { name: 'Group' }).last().click();
    await field(2, 'Name');
    await dialog.getByLabel('Value').nth(1).fill('tab1');
    await field(3, 'Position');
    await dialog.getByLabel('Value').nth(2).fill('2');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('at least one of these is true (Name contains “tab1”; Position is “2”)').waitFor();
    await rows(page, 1);
    expect(decodeURIComponent(decodeURIComponent(page.url()))).toContain('$any[0][service_name][like]=*tab1*');
    await page.reload();
    await rows(page, 1);
    await page
      .getByRole('button', { name: /^Change the filter Providers/ })
      .locator('svg')
      .click();
    await rows(page, 2);
    await page
      .getByRole('button', { name: /^Change the filter/ })
      .first()
      .click();
    await dialog.getByRole('button', { name: 'Remove this filter' }).first().click();
    await page.getByRole('button', { name: 'Apply' }).click();
    await rows(page, 4);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(
    (
      '_cnd[position][gte]=1&_cnd[position][lt]=3 _cnd[position][in]=1&_cnd[position][in]=3 ' +
      '_cnd[$any][0][position]=0&_cnd[$any][1][service_name][like]=tab3 ' +
      '_cnd[$any][0][position][gte]=1&_cnd[$any][0][position][lt]=2&_cnd[$any][1][$none][0][position][lt]=3 ' +
      '_cnd[$none][0][position]=0&_cnd[$none][1][position]=3 ' +
      '_cnd[$all][0][$any][0][position]=0&_cnd[$all][0][$any][1][position]=1&_cnd[$all][1][$any][0][position]=1&_cnd[$all][1][$any][1][position]=2 ' +
      '_cnd[$all][0][service_name][like]=t*&_cnd[$all][1][service_name][like]=*1 ' +
      '_cnd[providers][$some][0][code]=x&_cnd[providers][$some][1][code]=y ' +
      '_cnd[providers][$none][0][code]=x _cnd[providers][$every][0][code]=x&_cnd[providers][$count][gte]=1 ' +
      '_cnd[providers][$count]=2 ' +
      '_cnd[providers][$some][0][$any][0][code]=x&_cnd[providers][$some][0][$any][1][id][gt]=2 ' +
      '_cnd[$any][position]=1&_cnd[$any][service_name]=tab2'
    ).split(' '),
  )('%s is written anew and finds the same', async (query) => {
    const written = textOfWhere(writeTree(readTree(whereOf(query))));
    expect(await names(written)).toEqual(await names(query));
    expect((await names(query)).length).toBeGreaterThan(0);
    expect(textOfWhere(writeTree(readTree(whereOf(written))))).toBe(written);
  });
});

test('a list does not wait for its total', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  /** Such requests wait until the function that is returned is called. */
  const hold = async (isHeld: (request: Request) => boolean): Promise<() => void> => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/api/shipping-markups?**', async (route) => {
      if (isHeld(route.request())) await released;
      await route.fallback();
    });
    return () => release();
  };
  const count = await hold((request) => request.headers()['prefer'] === 'count=estimated');
  await page.goto(`${server.url}/studio/shipping-markups`);
  await rows(page, 25);
  expect(await page.getByText(/\d+ records/).count()).toBe(0);
  count();
  await page.getByText(/^6\d records/).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('the menu asks for the total of each type once', async () => {
  const { page, close } = await visit({ locale: 'en-US' });
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.headers()['prefer']?.startsWith('count=') === true) asked.push(new URL(request.url()).pathname);
  });
  await page.goto(`${server.url}/studio`);
  await page.getByRole('link', { name: /^Shipping markups\s*\d+$/ }).waitFor();
  await page.waitForLoadState('networkidle');
  expect(asked.length).toBeGreaterThan(5);
  expect(asked.toSorted()).toEqual([...new Set(asked)].toSorted());
  await close();
});

test('texts that are scripts are texts', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  for (const address of ['/tmp-vars', '/tmp-vars/1', '/shipping-markups/3']) {
    await page.goto(`${server.url}/studio${address}`);
    await page.getByText('<script>', { exact: false }).first().waitFor();
  }
  expect(await page.evaluate('window.ran')).toBe(undefined);
  expect(complaints).toEqual([]);
  await close();
});

test('with a token, only what it may see; it is kept for the tab, and forgotten on request', async () => {
  const token = createToken();
  const tokens = tokenLine({ name: 'few', read: parseTypes('TaxClass,TmpVar'), write: new Set() }, token);
  await using guarded = await startTestServer({ settings: { tokens } });
  const { page, close } = await visit({ locale: 'de-DE' });
  await page.goto(`${guarded.url}/studio`);
  await page.fill('input[name=token]', createToken());
  await page.keyboard.press('Enter');
  await page.getByText('nimmt dieses Token nicht an').waitFor();
  await page.fill('input[name=token]', token);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation').getByText('Tax classes').waitFor();
  expect(await page.getByRole('navigation').getByRole('link').count()).toBe(3);
  await page.reload();
  await page.getByRole('navigation').getByText('Tax classes').waitFor();
  expect(page.url()).not.toContain(token);
  const tab = await page.context().newPage();
  await tab.goto(`${guarded.url}/studio/tax-classes`);
  // Tokens stay in the tab that they were entered in.
  await tab.waitForSelector('input[name=token]');
  await tab.close();
  await page.click('[aria-label="Einstellungen"]');
  await page.getByRole('menuitem', { name: /Token vergessen/ }).click();
  await page.waitForSelector('input[name=token]');
  expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain(token);
  await close();
});

test('what is not offered is not there; a related record without a list is found by its name', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await page.goto(`${server.url}/studio/notifications`);
  await page.waitForSelector('tbody tr');
  expect(await page.getByRole('link', { name: /^New / }).count()).toBe(0);
  await page.goto(`${server.url}/studio/shipping-markups/1/edit`);
  const zone = page.getByRole('combobox', { name: 'Zone' });
  await zone.waitFor();
  await hasTitle(page, 'Edit shipping markup 1 · Records of <the> shop');
  await zone.fill('slan');
  await page.getByRole('option', { name: 'Islands' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('main dl').getByText('Islands').first().waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('behind the prefix of a proxy it finds its own', async () => {
  const { page, complaints, origins, close } = await visit({ locale: 'en-US' });
  await page.route('http://shop.localhost/admin/**', async (route) => {
    const request = route.request();
    // Chromium sends it after the test has seen the request.
    const headers = { ...request.headers(), 'sec-fetch-site': 'same-origin' };
    const url = request.url().replace('http://shop.localhost/admin', server.url);
    const response = await route.fetch({ url, headers });
    await route.fulfill({ response });
  });
  await page.goto('http://shop.localhost/admin/studio/shipping-markups');
  await page.waitForSelector('tbody tr td a');
  expect([...origins]).toEqual(['http://shop.localhost']);
  expect(complaints).toEqual([]);
  await close();
});

test('addresses are short, and are shared by copying', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await page.goto(`${server.url}/studio/shipping-markups?min_total[lt]=3&$sort=-markup_id`);
  await page.locator('tbody tr td a').first().waitFor();
  const seen = await cells(page, 1);
  await page.click('th >> text=Markup ID');
  await page.waitForURL(/\/studio\/shipping-markups\?min_total\[lt\]=3&\$sort=markup_id$/);
  await page.goto(`${server.url}/studio/shipping-markups?min_total[lt]=3&$sort=-markup_id`);
  await page.locator('tbody tr td a').first().waitFor();
  expect(await cells(page, 1)).toEqual(seen);
  await page.locator('tbody tr td a').first().click();
  await page.waitForURL(/\/studio\/shipping-markups\/\d+$/);
  await page.reload();
  await page.waitForSelector('main dl');
  expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('min_total');
  expect(complaints).toEqual([]);
  await close();
});

test('a list is as it was left, also offline, and its table stays where it is when records are selected', async () => {
  const { page, close } = await visit({ locale: 'en-US', viewport: { width: 1280, height: 700 } });
  await page.goto(`${server.url}/studio/shipping-markups?$sort=-markup_id&$page=2`);
  await page.locator('tbody tr td a').first().waitFor();
  const seen = await cells(page, 1);
  const top = await page.locator('tbody tr').first().boundingBox();
  await page.locator('tbody input[type=checkbox]').first().check();
  await page.getByText('1 selected').waitFor();
  expect(await page.locator('tbody tr').first().boundingBox()).toEqual(top);
  await page.getByRole('button', { name: 'Select none' }).click();
  await page.getByRole('navigation').getByText('Tax classes').click();
  await page.waitForURL(/tax-classes$/);
  await page.getByRole('navigation').getByText('Shipping markups').click();
  await page.waitForURL(/shipping-markups\?\$sort=-markup_id&\$page=2$/);
  await page.locator('tbody tr td a').first().waitFor();
  expect(await cells(page, 1)).toEqual(seen);
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Refresh' }).click();
  await page.getByText('The service cannot be reached').waitFor();
  expect(await cells(page, 1)).toEqual(seen);
  await close();
});
