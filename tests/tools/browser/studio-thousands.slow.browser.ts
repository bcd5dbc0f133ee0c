/** Far more records than one request may have: brought in, saved, changed and deleted in the studio, in parts. */
import { readFile } from 'node:fs/promises';
import { keep } from './chromium.ts';
import { runStudio } from './studio-page.ts';

const ROWS = 20_000;

const { server, visit } = runStudio();

test('20,000 records: imported and stopped in between, exported, changed, deleted', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  const count = async (query = ''): Promise<number> =>
    Number((await fetch(`${server().url}/api/tmp-vars?_cnd[limit]=0,1${query}`)).headers.get('X-Total-Count'));
  await page.goto(`${server().url}/studio#/tmp-vars`);
  await page.getByRole('button', { name: 'Import Temporary variables' }).click();
  const lines = Array.from({ length: ROWS }, (_, index) => `name${index},"=value ${index}"`);
  const buffer = Buffer.from(`name,value\n${lines.join('\n')}\n`);
  await page.setInputFiles('input[type=file]', { name: 'many.csv', mimeType: 'text/csv', buffer });
  await page.getByText('many.csv: 20,000 records').waitFor();
  await page.getByText('written in 20 parts').waitFor();
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByText('20,000 will be created, 0 changed').waitFor();
  expect(await count()).toBe(0);
  await page.getByRole('button', { name: 'Import 20,000 records' }).click();
  await page.getByText('What stands before line').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  const rest = page.getByRole('button', { name: /^Import [\d,]+ records/ });
  await rest.and(page.locator(':enabled')).waitFor();
  await keep(page, 'studio-import-stopped');
  const written = await count();
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(ROWS);
  expect(await rest.innerText()).toBe(`Import ${(ROWS - written).toLocaleString('en-US')} records`);
  await rest.click();
  await page.getByText('20,000 records were imported').waitFor();
  expect(await count()).toBe(ROWS);

  await page.getByRole('button', { name: 'Export Temporary variables' }).click();
  await page.getByLabel('Spreadsheets must not run any cell').check();
  await page.getByRole('combobox', { name: 'Columns' }).click();
  await page.getByRole('option', { name: 'All' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save' }).click(),
  ]);
  const saved = (await readFile(await download.path(), 'utf8')).trim().split('\n');
  expect(saved.length).toBe(ROWS + 1);
  expect(saved[ROWS]).toContain(`'=value ${ROWS - 1}`);

  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: /^Select all / }).click();
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByRole('textbox', { name: 'Value' }).fill('same');
  await page.getByRole('button', { name: 'Next', exact: true }).click();
  await page.getByRole('button', { name: 'Change 20,000 records' }).click();
  await page.getByText('20,000 records were changed').waitFor();
  expect(await count('&_cnd[value][like]=same')).toBe(ROWS);

  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: /^Select all / }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Delete 20,000 records?').waitFor();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('progressbar').waitFor();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await page.getByText(/of 20,000 were deleted/).waitFor();
  const left = await count();
  await keep(page, 'studio-delete-stopped');
  await page.getByText(`${(ROWS - left).toLocaleString('en-US')} of 20,000 were deleted`).waitFor();
  expect(left).toBeGreaterThan(0);
  expect(complaints).toEqual([]);
  await close();
});
