/** What was changed is seen and put back; what was deleted is restored. */
import { violations } from './axe.ts';
import { formsOf, runStudio, savedRecord } from './studio-page.ts';

const SHELF = `type: Shelf
title: { one: Shelf, many: Shelves }
label: name
fields: { name: { type: string, required: true } }
`;
const TOOL = `type: Tool
label: name
history: true
fields:
  name: { type: string, required: true, unique: true }
  price: { type: decimal, precision: 8, scale: 2 }
  updated: { type: timestamp, generated: updatedAt }
relations:
  shelf: { kind: belongsTo, type: Shelf }
  parts: { kind: hasMany, type: Part, inverse: tool, owned: true }
`;
const PART = `type: Part
operations: []
fields: { word: { type: string, required: true } }
relations: { tool: { kind: belongsTo, type: Tool, inverse: parts, required: true } }
`;
const { server, visit } = runStudio({ files: { 'shelf.yaml': SHELF, 'tool.yaml': TOOL, 'part.yaml': PART } });
const { ask, input } = formsOf(server);
const LAPTOP = { locale: 'de-DE', timezoneId: 'Europe/Berlin', viewport: { width: 1366, height: 768 } } as const;

beforeAll(async () => {
  for (const name of ['Links', 'Rechts']) await ask('POST', 'shelves', { name });
  await ask('POST', 'tools', { name: 'Hammer', price: '7.50', shelf: { id: 1 }, parts: [{ word: 'Stiel' }] });
});

test('a change is seen and put back; a record is deleted, and the deletion undone', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await page.goto(`${server.url}/studio/tools/1/edit`);
  await input(page, 'Price').fill('8,25');
  await page.getByRole('combobox', { name: 'Shelf' }).fill('Rechts');
  await page.getByRole('option', { name: /Rechts/ }).click();
  await page.keyboard.press('Control+s');
  await savedRecord(page, 'tools');
  await page.getByRole('tab', { name: 'Verlauf' }).click();
  await page.getByText('7,5 → 8,25').or(page.getByText('7,50 → 8,25')).waitFor();
  await page.getByText('Links → Rechts').waitFor();
  await page.getByText('Part 1: angelegt').waitFor();
  expect(await violations(page)).toEqual([]);
  await button('Zurücknehmen').first().click();
  await page.getByText('Die Werte von vorher sind wieder da').waitFor();
  const { stored } = await ask('GET', 'tools/1?include=shelf,parts');
  expect(stored).toMatchObject({ price: '7.50', shelf: { name: 'Links' }, parts: [{ word: 'Stiel' }] });
  await button('Löschen').click();
  await page.getByRole('dialog').getByText('Das kann wiederhergestellt werden').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Löschen' }).click();
  await page.getByText('wurde gelöscht').waitFor();
  expect((await ask('GET', 'tools/1')).status).toBe(404);
  await button('Rückgängig').click();
  await page.getByText('„Hammer“ ist wieder da').waitFor();
  expect((await ask('GET', 'tools/1?include=shelf,parts')).stored).toEqual({ ...stored, updated: expect.any(String) });
  await page.getByRole('link', { name: 'Hammer' }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('what was deleted is listed; what stands in the way of a restore is said', async () => {
  const { page, close } = await visit(LAPTOP);
  await ask('POST', 'tools', { name: 'Zange' });
  await ask('DELETE', 'tools/2');
  await ask('POST', 'tools', { name: 'Zange' });
  await page.goto(`${server.url}/studio/tools`);
  await page.getByRole('link', { name: 'Zange' }).waitFor();
  await page.getByRole('button', { name: 'Mehr', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Gelöschte …' }).click();
  const dialog = page.getByRole('dialog');
  const row = dialog.getByRole('row', { name: /Zange/ });
  await row.getByRole('button', { name: 'Wiederherstellen' }).click();
  await dialog.getByRole('alert').waitFor();
  expect(await violations(page)).toEqual([]);
  expect(await dialog.getByRole('link').innerText()).toContain('Tool 3');
  await ask('DELETE', 'tools/3');
  await row.first().getByRole('button', { name: 'Wiederherstellen' }).click();
  await page.getByText('„Zange“ ist wieder da').waitFor();
  expect((await ask('GET', 'tools/2')).stored).toMatchObject({ name: 'Zange' });
  await close();
});

test('the deletion of several records is undone at once', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  for (const name of ['Bohrer 1', 'Bohrer 2']) await ask('POST', 'tools', { name });
  await page.goto(`${server.url}/studio/tools?name[like]=Bohrer*`);
  await page.getByRole('checkbox', { name: 'Alle auf dieser Seite auswählen' }).check();
  await page.getByRole('button', { name: 'Löschen' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Löschen' }).click();
  await page.getByText('2 Datensätze wurden gelöscht').waitFor();
  await page.getByRole('button', { name: 'Rückgängig' }).click();
  await page.getByText('2 Datensätze sind wieder da').waitFor();
  await page.getByRole('link', { name: 'Bohrer 2' }).waitFor();
  expect((await ask('GET', 'tools?_cnd[name][like]=Bohrer*&fields=name')).stored).toHaveLength(2);
  expect(complaints).toEqual([]);
  await close();
});

test('types without a history have no word of it', async () => {
  const { page, complaints, close } = await visit(LAPTOP);
  await page.goto(`${server.url}/studio/shelves/1`);
  await page.getByRole('heading', { name: 'Links' }).waitFor();
  expect(await page.getByRole('tab').count()).toBe(0);
  await page.goto(`${server.url}/studio/shelves`);
  await page.getByRole('button', { name: 'Mehr', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Aktualisieren' }).waitFor();
  expect(await page.getByRole('menuitem', { name: 'Gelöschte …' }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});
