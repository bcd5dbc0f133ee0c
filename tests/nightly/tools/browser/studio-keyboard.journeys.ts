/** A journey by keyboard alone: a nested record is created, found, changed and deleted. */
import type { Locator } from 'playwright-core';
import { violations } from './axe.ts';
import { formsOf, runStudio, savedRecord } from './studio-page.ts';

const { server, visit } = runStudio({ schemaDirectory: 'tests/fixtures/studio' });
const { ask, open, input } = formsOf(server);
/** Key presses after which an element counts as out of reach. */
const MAX_STEPS = 120;

test('a nested form, its pickers and sets, and a deletion, by Tab, Enter and arrows', async () => {
  await ask('POST', 'folders', { name: 'Root', tags: [{ word: 'old' }] });
  const { page, complaints, close } = await visit({ locale: 'en-US', viewport: { width: 1280, height: 800 } });
  const isFocused = (target: Locator): Promise<boolean> => target.evaluate((element) => element.matches(':focus'));
  const reach = async (target: Locator): Promise<void> => {
    await target.waitFor();
    for (let step = 0; step < MAX_STEPS && !(await isFocused(target)); step++) await page.keyboard.press('Tab');
    // It is seen where one is.
    expect([String(target), await target.evaluate((element) => element.matches(':focus-visible'))]).toEqual([
      String(target),
      true,
    ]);
  };
  const press = async (role: 'link' | 'button', name: string, index = 0): Promise<void> => {
    await reach(page.getByRole(role, { name, exact: true }).nth(index));
    await page.keyboard.press('Enter');
  };
  const type = async (name: string, text: string, index = 0): Promise<void> => {
    await reach(input(page, name).nth(index));
    await page.keyboard.type(text);
  };
  const pick = async (name: string, text: string): Promise<void> => {
    await reach(page.getByRole('combobox', { name }));
    await page.keyboard.type(text.slice(0, 2));
    await page.getByRole('option', { name: text }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
  };
  await open(page, '/folders');
  await press('link', 'New folder <b>of</b> papers');
  await type('Name *', 'Keys');
  await pick('Parent', 'Root');
  for (const [index, text] of ['a', 'b'].entries()) {
    await press('button', 'New line');
    await type('Text *', text, index);
  }
  await press('button', 'Move up', 1);
  await pick('Add tag', 'old');
  await press('button', 'New tag');
  await type('Word *', 'new');
  expect(await violations(page)).toEqual([]);
  await press('button', 'Save');
  const id = await savedRecord(page, 'folders');
  expect((await ask('GET', `folders/${id}?include=parent,lines,tags`)).stored).toMatchObject({
    name: 'Keys',
    parent: { name: 'Root' },
    lines: [{ text: 'b' }, { text: 'a' }],
    tags: [{ word: 'old' }, { word: 'new' }],
  });
  await press('link', 'Edit');
  await press('button', 'Remove b');
  await press('button', 'Change Root');
  await type('Note', 'by keys', 1);
  await press('button', 'Save');
  await savedRecord(page, 'folders');
  expect((await ask('GET', `folders/${id}?include=parent,lines`)).stored).toMatchObject({
    parent: { name: 'Root', note: 'by keys' },
    lines: [{ text: 'a' }],
  });
  await press('button', 'Delete');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  // Enter alone deletes nothing.
  expect(await isFocused(dialog.getByRole('button', { name: 'Cancel' }))).toBe(true);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await isFocused(page.getByRole('button', { name: 'Delete', exact: true }))).toBe(true);
  await page.keyboard.press('Enter');
  await reach(dialog.getByRole('button', { name: 'Delete', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByText('was deleted').waitFor();
  expect((await ask('GET', `folders/${id}`)).status).toBe(404);
  expect(complaints).toEqual([]);
  await close();
});
