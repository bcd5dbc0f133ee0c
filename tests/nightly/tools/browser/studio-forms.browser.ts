/** Creates and changes records of an unknown schema in the studio: each fault shows at its input, and no input is lost. */
import type { Page } from 'playwright-core';
import { violations } from './axe.ts';
import { READERS } from './chromium.ts';
import { formsOf, runStudio, savedRecord, type Stored } from './studio-page.ts';

const { server, visit } = runStudio({ schemaDirectory: 'tests/fixtures/studio' });
const { ask, open, input, save, faultAt } = formsOf(server);
const saved = (page: Page): Promise<string> => savedRecord(page, 'folders');

test('a record is made with everything that belongs to it: digits are kept, null is not the empty text', async () => {
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await ask('POST', 'folders', { name: 'Root', tags: [{ word: 'old' }] });
  await open(page, '/folders');
  await page.getByRole('link', { name: /^New / }).click();
  await input(page, 'Name *').fill('First');
  await input(page, 'Amount').fill('1234567890.12340');
  await input(page, 'Ratio').fill('0.10000000000000000001');
  await input(page, '頁数').fill('9007199254740991');
  await input(page, 'Note').fill('one\ntwo');
  await input(page, 'Extra').fill('{"long": 12345678901234567890.0}');
  await page.getByRole('combobox', { name: 'Parent' }).fill('Roo');
  await page.getByRole('option', { name: 'Root' }).click();
  await page.getByRole('button', { name: 'New cover' }).click();
  await input(page, 'Colour *').fill('red');
  for (const [index, text] of ['a', 'b'].entries()) {
    await page.getByRole('button', { name: 'New line' }).click();
    await input(page, 'Text *').nth(index).fill(text);
  }
  await page.getByRole('button', { name: 'Move up' }).nth(1).click();
  await page.getByRole('combobox', { name: 'Add tag' }).fill('ol');
  await page.getByRole('option', { name: 'old' }).click();
  await page.getByRole('button', { name: 'New tag' }).click();
  await input(page, 'Word *').fill('new');
  await save(page);
  const id = await saved(page);
  const { text, stored } = await ask('GET', `folders/${id}?include=parent,cover,lines,tags`);
  expect(stored).toMatchObject({
    name: 'First',
    amount: '1234567890.12340',
    note: 'one\ntwo',
    state: 'draft',
    day: null,
    sure: null,
    parent: { name: 'Root' },
    cover: { colour: 'red' },
    tags: [{ word: 'old' }, { word: 'new' }],
  });
  expect(text).toContain('"long":12345678901234567890.0');
  expect(stored['lines']).toMatchObject([{ text: 'b' }, { text: 'a' }]);
  expect(complaints).toEqual([]);
  await close();
});

test('only what was changed is sent; a text is cleared to null or to the empty text', async () => {
  const { stored: parent } = await ask('POST', 'folders', { name: 'Above' });
  const { stored } = await ask('POST', 'folders', {
    name: 'Clear',
    parent: { id: parent['id'] },
    tags: [{ word: 'one' }],
    note: 'x',
    amount: '1.50',
    lines: [{ text: 'l', price: '1.10' }],
  });
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  const bodies: string[] = [];
  page.on('request', (request) => request.method() === 'PUT' && bodies.push(request.postData() ?? ''));
  const edit = async (change: () => Promise<unknown>): Promise<void> => {
    await open(page, `/folders/${String(stored['id'])}/edit`);
    await input(page, 'Name *').waitFor();
    await change();
    await save(page);
    await saved(page);
  };
  await edit(() => input(page, 'Note').fill(''));
  await edit(() => input(page, 'Amount').fill(''));
  await edit(() => input(page, 'Price').fill('1.20'));
  await edit(() => page.getByRole('button', { name: 'Remove l', exact: true }).click());
  // Records that are linked are changed in place, where the descriptor lets them.
  await edit(async () => {
    await page.getByRole('button', { name: 'Change Above' }).click();
    await page.getByRole('group', { name: 'Parent: Above' }).getByRole('textbox', { name: 'Note' }).fill('n');
  });
  await edit(async () => {
    await page.getByRole('button', { name: 'Change one', exact: true }).click();
    await input(page, 'Word *').fill('changed');
  });
  await edit(async () => {
    await page.getByRole('button', { name: 'Change Above' }).click();
    await page.getByRole('group', { name: 'Parent: Above' }).getByRole('textbox', { name: 'Note' }).fill('lost');
    await page.getByRole('button', { name: 'Undo the changes of Above' }).click();
  });
  const [tag] = stored['tags'] as readonly Stored[];
  const [line] = stored['lines'] as readonly Stored[];
  expect(bodies).toEqual(
    [
      { note: null },
      { amount: null },
      { lines: [{ id: line?.['id'], price: '1.20' }] },
      { lines: [] },
      { parent: { id: parent['id'], note: 'n' } },
      { tags: [{ id: tag?.['id'], word: 'changed' }] },
      {},
    ].map((body) => JSON.stringify(body)),
  );
  expect(complaints).toEqual([]);
  await close();
});

test('each fault stands at its input, nested ones too, and nothing that was typed is lost', async () => {
  const { page, close } = await visit({ locale: 'en-US' });
  await open(page, '/folders/new');
  await input(page, 'Name *').fill('x');
  await input(page, 'Count').fill('1.5');
  await page.getByRole('button', { name: 'New line' }).click();
  await input(page, 'Text *').fill('much too long for this');
  await page.getByRole('button', { name: 'New tag' }).click();
  await save(page);
  await page.getByText('4 inputs need a correction').waitFor();
  for (const label of ['Name *', 'Count', 'Text *', 'Word *'])
    expect(await faultAt(page, label).innerText()).toMatch(/must|missing|required/);
  expect(await input(page, 'Text *').inputValue()).toBe('much too long for this');
  expect(await page.evaluate('document.activeElement.value')).toBe('x');
  await input(page, 'Extra').fill('{');
  await save(page);
  await page.getByText('This is not JSON').waitFor();
  await close();
});

test('a conflict names the record that is in the way, with a link', async () => {
  const { stored } = await ask('POST', 'folders', { name: 'Taken' });
  const { page, close } = await visit({ locale: 'en-US' });
  await open(page, '/folders/new');
  await input(page, 'Name *').fill('Taken');
  await save(page);
  await faultAt(page, 'Name *').waitFor();
  const link = page.getByRole('link', {
    name: `Open the record that is in the way: Folder <b>of</b> papers ${String(stored['id'])}`,
  });
  expect(await link.getAttribute('href')).toBe(`/studio/folders/${String(stored['id'])}`);
  await close();
});

test('two people change one record: mine, theirs and what was there, field by field', async () => {
  const { stored } = await ask('POST', 'folders', { name: 'Both', note: 'was', count: 1 });
  const id = String(stored['id']);
  const [one, other] = [await visit({ locale: 'en-US' }), await visit({ locale: 'en-US' })];
  for (const { page } of [one, other]) {
    await open(page, `/folders/${id}/edit`);
    await input(page, 'Note').waitFor();
  }
  await input(one.page, 'Note').fill('theirs');
  await input(one.page, 'Count').fill('7');
  await save(one.page);
  await saved(one.page);
  await input(other.page, 'Note').fill('mine');
  await input(other.page, 'Amount').fill('5.50');
  await save(other.page);
  const dialog = other.page.getByRole('dialog');
  await dialog.getByText('It was: was').waitFor();
  await dialog.getByText('Mine: mine').waitFor();
  await dialog.getByText('Theirs: theirs').click();
  await dialog.getByRole('button', { name: 'Save these' }).click();
  await saved(other.page);
  const { stored: now } = await ask('GET', `folders/${id}`);
  expect(now).toMatchObject({ note: 'theirs', count: 7, amount: '5.50' });
  await one.close();
  await other.close();
});

test('leaving asks, while something is typed', async () => {
  const { page, close } = await visit({ locale: 'en-US' });
  await open(page, '/folders');
  await page.getByRole('link', { name: /^New / }).click();
  await input(page, 'Note').fill('typed');
  await page.getByRole('navigation').getByText('Things').click();
  await page.getByText('Leave without saving?').waitFor();
  await page.getByRole('button', { name: 'Stay' }).click();
  expect(await input(page, 'Note').inputValue()).toBe('typed');
  const [asked, closed] = [page.waitForEvent('dialog'), page.waitForEvent('close')];
  await page.close({ runBeforeUnload: true });
  expect((await asked).type()).toBe('beforeunload');
  await (await asked).accept();
  await closed;
  await close();
});

test.each(READERS)(
  '%s, %d pixels wide: forms and dialogs have nothing to complain about',
  async (colorScheme, width) => {
    const { page, complaints, close } = await visit({
      colorScheme,
      locale: 'en-US',
      viewport: { width, height: 800 },
    });
    await open(page, '/folders');
    await page.getByRole('link', { name: /^New / }).click();
    await page.getByRole('button', { name: 'New line' }).click();
    await save(page);
    await faultAt(page, 'Name *').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')).toBeLessThanOrEqual(
      0,
    );
    await page.getByRole('link', { name: /^(?:Cancel|Discard)$/ }).click();
    await page.getByText('Leave without saving?').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('button', { name: 'Add a filter' }).click();
    await page.getByRole('combobox', { name: 'Field' }).waitFor();
    expect(await violations(page)).toEqual([]);
    // The descriptor has texts that are scripts.
    expect(await page.evaluate('window.ran')).toBe(undefined);
    // Chromium logs each response that is a problem.
    expect(complaints.filter((text) => !text.includes('status of 422'))).toEqual([]);
    await close();
  },
);
