/** People whose roles let them choose some fields when they create, and others when they change. */
import { createToken, tokenLine } from '../../../../engine/access/tokens.ts';
import { formsOf, runStudio } from './studio-page.ts';

const SHOP = 'docs/examples/access/shop';
const all = createToken();
const branch = createToken();
const tokens = [
  tokenLine({ name: 'all', role: 'head-office', claims: [] }, all),
  tokenLine({ name: 'anna', role: 'branch-manager', claims: ['branch=1'] }, branch),
].join(';');
const { server, visit } = runStudio({
  schemaDirectory: `${SHOP}/schema`,
  settings: { accessDirectory: `${SHOP}/access`, tokens },
});
const { ask, open, input, save } = formsOf(server, () => all);

beforeAll(async () => {
  await ask('POST', 'branches', { name: 'North' });
  await ask('POST', 'customers', { name: 'Ada' });
  await ask('POST', 'orders', { number: 'A-1', branch: { id: 1 }, customer: { id: 1 } });
});

test('each form has the inputs that the role may send, and what is saved is accepted', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await page.addInitScript(`sessionStorage.setItem('records-token', ${JSON.stringify(branch)})`);
  const labels = async (): Promise<readonly string[]> => {
    await page.locator('main form').waitFor();
    return page.locator('main form .MuiFormLabel-root').allInnerTexts();
  };
  await open(page, '/orders/1/edit');
  await input(page, 'Note').waitFor();
  expect(await labels()).toEqual(['State', 'Note', 'Customer']);
  await input(page, 'Note').fill('Ring twice');
  await save(page);
  await page.waitForURL(/\/orders\/1$/);
  await open(page, '/orders/new');
  await input(page, 'Number *').fill('A-2');
  expect((await labels()).map((label) => label.replace(/\W+$/, ''))).toEqual(['Number', 'Note', 'Customer']);
  await save(page);
  await page.waitForURL(/\/orders\/2$/);
  expect((await ask('GET', 'orders/2')).stored).toMatchObject({ number: 'A-2', state: 'open', branch: { id: 1 } });
  expect(complaints).toEqual([]);
  await close();
});

test('the page of a record offers what the role may do with that record', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await page.addInitScript(`sessionStorage.setItem('records-token', ${JSON.stringify(branch)})`);
  const edit = page.getByRole('link', { name: 'Edit', exact: true });
  await open(page, '/orders/1');
  await edit.click();
  await page.getByRole('combobox', { name: 'State' }).click();
  await page.getByRole('option', { name: 'Shipped' }).click();
  const told = page.waitForResponse((answer) => answer.request().method() === 'OPTIONS');
  await save(page);
  expect((await told).headers()['allow']).toBe('GET, HEAD, OPTIONS');
  await page.waitForURL(/\/orders\/1$/);
  await edit.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Duplicate' }).waitFor();
  // A key does what the button would.
  await page.keyboard.press('e');
  expect(page.url()).toMatch(/\/orders\/1$/);
  expect(complaints).toEqual([]);
  await close();
});
