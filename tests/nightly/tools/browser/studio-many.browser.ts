/** Exports, imports and bulk changes in the studio. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { violations } from './axe.ts';
import { READERS } from './chromium.ts';
import { runStudio } from './studio-page.ts';

const FORMULA = '=HYPERLINK("http://x.example","a, b")';

const { server, visit } = runStudio({ settings: { batchLimit: 10 } });
beforeAll(async () => {
  const values = [FORMULA, '-5', '+1 2', '@SUM(1)', 'two\nlines, "quoted"', ''];
  await post(
    'tmp-vars',
    'text/csv',
    `name,value\n${values.map((value, index) => `v${index},${quoted(value)}`).join('\n')}`,
  );
});

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

async function post(path: string, type: string, body: string): Promise<void> {
  const response = await fetch(`${server.url}/api/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': type },
    body,
  });
  expect(response.status).toBe(201);
}

const list = async (query: string): Promise<readonly Record<string, unknown>[]> =>
  (await fetch(`${server.url}/api/tmp-vars?${query}`)).json() as Promise<readonly Record<string, unknown>[]>;

/** Items of the menu at the end of a list. */
async function fromMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name }).click();
}

async function exported(
  page: Page,
  choose: () => Promise<void>,
  begin = () => fromMenu(page, 'Export Temporary variables'),
): Promise<readonly [name: string, text: string]> {
  await begin();
  await choose();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save' }).click(),
  ]);
  return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')];
}

const option = async (page: Page, label: string, name: string): Promise<void> => {
  await page.getByRole('combobox', { name: label }).click();
  await page.getByRole('option', { name }).click();
};

const asCsv = async (page: Page): Promise<void> => {
  await option(page, 'Format', 'CSV');
  await option(page, 'Columns', 'All');
};

const isHere = (page: Page): Promise<void> => page.getByRole('heading', { name: 'Temporary variables' }).waitFor();

describe('export', () => {
  test('is what the list finds, in its order', async () => {
    const { page, complaints, close } = await visit({ locale: 'en-US' });
    await page.goto(`${server.url}/studio/tmp-vars?name[gte]=v1&$sort=-name`);
    await isHere(page);
    const [name, text] = await exported(page, () => asCsv(page));
    expect(name).toBe('tmp-vars.csv');
    expect(text).toMatch(/^\uFEFFName,/);
    expect(text.match(/^v\d/gm)).toEqual(['v5', 'v4', 'v3', 'v2', 'v1']);
    expect(complaints).toEqual([]);
    await close();
  });

  test('runs nothing in a spreadsheet, and leaves numbers as they are', async () => {
    const { page, close } = await visit({ locale: 'en-US' });
    await page.goto(`${server.url}/studio/tmp-vars`);
    await isHere(page);
    const [, text] = await exported(page, () => asCsv(page));
    expect(text).toContain(quoted(`'${FORMULA}`));
    expect(text).toContain(quoted("'+1 2"));
    expect(text).toContain(quoted("'@SUM(1)"));
    expect(text).toMatch(/^v1,.*-5/m);
    await close();
  });
});

describe('import', () => {
  async function opened(): Promise<Awaited<ReturnType<typeof visit>>> {
    const visited = await visit({ locale: 'en-US' });
    await visited.page.goto(`${server.url}/studio/tmp-vars`);
    await fromMenu(visited.page, 'Import Temporary variables');
    return visited;
  }

  const choose = (page: Page, name: string, text: string | Buffer): Promise<void> =>
    page.setInputFiles('input[type=file]', { name, mimeType: 'text/csv', buffer: Buffer.from(text) });

  test('every fault is listed by its line before anything is written, and then all of it is written in parts', async () => {
    const { page, complaints, close } = await opened();
    const lines = Array.from({ length: 25 }, (_, index) => `new${index},"value\n${index}"`);
    const faulty = lines.map((line, index) =>
      index === 3 ? `${'n'.repeat(200)},x` : index === 21 ? 'v0,taken' : line,
    );
    await choose(page, 'many.csv', `\uFEFFname,value\r\n\r\n${faulty.join('\r\n')}\r\n`);
    await page.getByText('many.csv: 25 records').waitFor();
    await option(page, 'What to do', 'Create new records');
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('written in 3 parts').waitFor();
    await page.getByRole('alert').filter({ hasText: '2 faults' }).waitFor();
    const rows = await page.getByRole('dialog').locator('tbody tr').allInnerTexts();
    // As a spreadsheet numbers its rows; the first record stands on row 3.
    expect(rows).toEqual([expect.stringMatching(/^6\tName\t/), expect.stringMatching(/^24\tName\t/)]);
    expect(await list('_cnd[name][like]=new*')).toEqual([]);
    expect(await page.getByRole('button', { name: /^Import \d/ }).count()).toBe(0);

    await choose(page, 'mended.csv', `name,value\n${lines.join('\n')}`);
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('25 will be created, 0 changed').waitFor();
    expect(await list('_cnd[name][like]=new*')).toEqual([]);
    await page.getByRole('button', { name: 'Import 25 records' }).click();
    await page.getByText('25 records were imported').waitFor();
    expect((await list('_cnd[name][like]=new*')).map(({ value }) => value)).toEqual(
      lines.map((_, index) => `value\n${index}`),
    );
    await page.getByText('31 records').waitFor();
    // Chromium logs each response that is not a success.
    expect(complaints.filter((one) => !one.includes('status of 4'))).toEqual([]);
    await close();
  });

  test('a part that cannot be written any more ends it, says what is done, and goes on from there', async () => {
    const { page, close } = await opened();
    const records = Array.from({ length: 12 }, (_, index) => `late${index}`);
    await choose(page, 'late.csv', `name\n${records.join('\n')}`);
    await option(page, 'What to do', 'Create new records');
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('12 will be created').waitFor();
    await post('tmp-vars', 'application/json', '{"name": "late11"}');
    await page.getByRole('button', { name: 'Import 12 records' }).click();
    await page.getByText('What stands before line 12 has been written').waitFor();
    await page.getByRole('dialog').locator('tbody tr').first().waitFor();
    const rows = await page.getByRole('dialog').locator('tbody tr').allInnerTexts();
    expect(rows).toEqual([expect.stringMatching(/^13\tName\t/)]);
    expect((await list('_cnd[name][like]=late*')).length).toBe(11);
    const [{ id } = {}] = await list('_cnd[name]=late11');
    await fetch(`${server.url}/api/tmp-vars/${String(id)}`, { method: 'DELETE' });
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('2 will be created').waitFor();
    await page.getByRole('button', { name: /^Import/ }).click();
    await page.getByText('records were imported').waitFor();
    expect((await list('_cnd[name][like]=late*')).length).toBe(12);
    await close();
  });
});

test('several records are deleted at once, once it is said what goes with them', async () => {
  await post(
    'global-tabs',
    'application/json',
    '[{"service_name": "a", "providers": [{"code": "x"}, {"code": "y"}]}, {"service_name": "b"}, {"service_name": "c"}]',
  );
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await page.goto(`${server.url}/studio/global-tabs`);
  await page.getByLabel('Select a', { exact: true }).check();
  await page.getByLabel('Select c', { exact: true }).check();
  await page.getByText('2 selected').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Delete 2 records?').waitFor();
  await page.getByText('Also deleted: 2 × Tab providers').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('2 records were deleted').waitFor();
  await page.getByText('1 record', { exact: true }).waitFor();
  const left = (await (await fetch(`${server.url}/api/global-tabs`)).json()) as readonly { service_name: string }[];
  expect(left.map((tab) => tab.service_name)).toEqual(['b']);
  expect(complaints).toEqual([]);
  await close();
});

describe('all that a filter finds, on other pages too', () => {
  interface TaxClass {
    readonly id: number;
    readonly position: number;
    readonly providerTwoVATRate: number | null;
  }
  const taxClasses = async (query: string): Promise<readonly TaxClass[]> =>
    (await fetch(`${server.url}/api/tax-classes?${query}`)).json() as Promise<readonly TaxClass[]>;

  beforeAll(async () => {
    for (let part = 0; part < 13; part += 1) {
      const records = Array.from({ length: 10 }, (_, index) => ({ position: part * 10 + index }));
      await post('tax-classes', 'application/json', JSON.stringify(records));
    }
  });

  test('what someone else changes meanwhile is left as it is, and named', async () => {
    const { page, close } = await visit({ locale: 'en-US' });
    const [first, second, third] = await taxClasses('_cnd[limit]=0,3');
    await page.goto(`${server.url}/studio/tax-classes`);
    for (const one of [first, second, third])
      await page.getByLabel(`Select Tax class ${one?.id}`, { exact: true }).check();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await option(page, 'Field', 'Provider two VAT rate');
    await page.getByRole('textbox', { name: 'Provider two VAT rate' }).fill('8');
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await page.getByText('that record is left as it is').waitFor();
    const body = JSON.stringify([
      { id: second?.id, providerTwoVATRate: 99 },
      { id: third?.id, position: -1 },
    ]);
    const headers = { 'Content-Type': 'application/json' };
    await fetch(`${server.url}/api/tax-classes`, { method: 'PATCH', headers, body });
    await page.getByRole('button', { name: 'Change 3 records' }).click();
    await page.getByText('2 of 3 were changed').waitFor();
    expect(await page.getByRole('dialog').locator('tbody tr').allInnerTexts()).toEqual([
      expect.stringContaining(`Tax class ${second?.id}`),
    ]);
    expect(await violations(page)).toEqual([]);
    // Another field of a record may change: it stays as the other person has set it.
    const found = await taxClasses(`_cnd[id][in]=${first?.id},${second?.id},${third?.id}&_cnd[orderBy]=id`);
    expect(found.map((one) => one.providerTwoVATRate)).toEqual([8, 99, 8]);
    expect(found[2]?.position).toBe(-1);
    await close();
  });
});

test.each(READERS)('the dialogs have nothing to complain about: %s, %d pixels wide', async (colorScheme, width) => {
  const { page, close } = await visit({ colorScheme, locale: 'en-US', viewport: { width, height: 800 } });
  await page.goto(`${server.url}/studio/tmp-vars`);
  await fromMenu(page, 'Export Temporary variables');
  await page.getByRole('heading', { name: 'Export Temporary variables' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await fromMenu(page, 'Import Temporary variables');
  await page.setInputFiles('input[type=file]', {
    name: 'a.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('name,value\nv0,1\n'),
  });
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByRole('dialog').locator('tbody tr').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Cancel' }).click();
  // By keyboard alone.
  await page
    .getByRole('checkbox', { name: /^Select/ })
    .first()
    .focus();
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Change', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /^Change \d+ record/ }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('This cannot be undone.').waitFor();
  // The safe answer is chosen first; the other one is reached by Tab.
  expect(await page.getByRole('button', { name: 'Cancel' }).evaluate((one) => one.matches(':focus'))).toBe(true);
  await page.keyboard.press('Tab');
  expect(
    await page
      .getByRole('dialog')
      .getByRole('button', { name: 'Delete' })
      .evaluate((one) => one.matches(':focus')),
  ).toBe(true);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.goto(`${server.url}/studio/global-tabs?providers[$some][0][code][like]=b&$any[0][position]=0`);
  await page
    .getByRole('button', { name: /^Change the filter/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Value').first().waitFor();
  expect(await violations(page)).toEqual([]);
  const fits = 'document.querySelector(".MuiDialogContent-root")';
  expect(await page.evaluate(`${fits}.scrollWidth - ${fits}.clientWidth`)).toBe(0);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  // What only screen readers see makes no page wider: these have no rates.
  await post('tax-classes', 'application/json', '{"position": 1000}');
  await page.goto(`${server.url}/studio/tax-classes`);
  await page.locator('tbody tr a, main li a').first().waitFor();
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
  expect(wide).toBeLessThanOrEqual(0);
  await close();
});
