/** Provokes each kind of problem while a form is filled in: it is explained, and no input is lost. */
import Database from 'better-sqlite3';
import type { Page } from 'playwright-core';
import { createToken, parseTypes, tokenLine } from '../../../../engine/access/tokens.ts';
import type { Share } from '../../../../engine/edge/budget.ts';
import { fileOf } from '../../../support/databases.ts';
import { startTestServer } from '../../../support/server.ts';
import type { Visit } from './chromium.ts';
import { formsOf, runStudio, savedRecord, type Stored } from './studio-page.ts';

const SCHEMA = 'tests/fixtures/studio';
const BODY_LIMIT = 20_000;
/** All pages of this file together stay below it. */
const RATE_LIMIT = 800;

const tokens = { full: createToken(), reader: createToken(), busy: createToken() };
const lines = [
  tokenLine({ name: 'full', read: 'all', write: 'all' }, tokens.full),
  tokenLine({ name: 'busy', read: 'all', write: 'all' }, tokens.busy),
  tokenLine({ name: 'reader', read: 'all', write: parseTypes('Thing') }, tokens.reader),
];
const { server, visit } = runStudio({
  schemaDirectory: SCHEMA,
  settings: { tokens: lines.join(';'), bodyLimit: BODY_LIMIT, rateLimit: RATE_LIMIT },
});

const { ask, open, input, save } = formsOf(server, () => tokens.full);

const useToken = (page: Page, token: string): Promise<unknown> =>
  page.evaluate(`sessionStorage.setItem('records-token', ${JSON.stringify(token)})`);

async function signedIn(): Promise<Visit> {
  const visited = await visit({ locale: 'en-US' });
  await visited.page.addInitScript(
    `sessionStorage.getItem('records-token') ?? sessionStorage.setItem('records-token', '${tokens.full}')`,
  );
  return visited;
}

/** A form in which something was typed. */
async function typing(address: string, label: string, text: string): Promise<Visit> {
  const visited = await signedIn();
  const { page } = visited;
  await open(page, address);
  await input(page, label).fill(text);
  return visited;
}

let names = 0;
async function makeFolder(body: object = {}): Promise<Stored> {
  names += 1;
  const { status, stored } = await ask('POST', 'folders', { name: `Folder ${names}`, ...body });
  expect(status).toBe(201);
  return stored;
}

const addressOf = (folder: Stored): string => `/folders/${String(folder['id'])}/edit`;
const storedNote = async (id: unknown): Promise<unknown> => (await ask('GET', `folders/${String(id)}`)).stored['note'];

type Undo = () => unknown;

/** A problem on saving a form, its explanation, and the next step. */
test.each<[title: string, provoke: (page: Page, folder: Stored) => Promise<Undo>, words: string]>([
  [
    '401',
    async (page) => {
      await useToken(page, createToken());
      return async () => {
        await page.getByLabel('Token').fill(tokens.full);
        await page.getByRole('button', { name: 'Open', exact: true }).first().click();
      };
    },
    'does not accept your token any more',
  ],
  [
    '403',
    async (page) => {
      await useToken(page, tokens.reader);
      return () => useToken(page, tokens.full);
    },
    'You may not do this',
  ],
  [
    '404',
    async (page, folder) => {
      await ask('DELETE', `folders/${String(folder['id'])}`);
      return () => page.getByRole('button', { name: 'Save as a new record' }).click();
    },
    'not there any more',
  ],
  [
    '413',
    async (page) => {
      await input(page, 'Extra').fill(JSON.stringify('x'.repeat(BODY_LIMIT)));
      return () => input(page, 'Extra').fill('1');
    },
    '20000 bytes',
  ],
  [
    '422, in an item of a set',
    async (page) => {
      await page.getByRole('button', { name: 'New line' }).click();
      await input(page, 'Text *').fill('longer than it may be');
      return () => input(page, 'Text *').fill('short');
    },
    'one input needs a correction',
  ],
  [
    '422, of a link to a record that was deleted meanwhile',
    async (page) => {
      const { stored } = await ask('POST', 'folders', { name: 'Soon gone' });
      await page.getByRole('combobox', { name: 'Parent' }).fill('Soon');
      await page.getByRole('option', { name: 'Soon gone' }).click();
      await ask('DELETE', `folders/${String(stored['id'])}`);
      return async () => {
        await page.getByText(`There is no Folder ${String(stored['id'])}`).waitFor();
        await page.getByRole('combobox', { name: 'Parent' }).fill('');
      };
    },
    'one input needs a correction',
  ],
  [
    '422, of a chip',
    async (page) => {
      await makeFolder({ tags: [{ word: 'rare' }] });
      await page.getByRole('combobox', { name: 'Add tag' }).fill('rare');
      await page.getByRole('option', { name: 'rare' }).click();
      await page.getByRole('button', { name: 'New tag' }).click();
      await input(page, 'Word *').fill('rare');
      return () => input(page, 'Word *').fill('rarer');
    },
    'has this value of "word" already',
  ],
  [
    '429',
    async (page) => {
      const headers = { Authorization: `Bearer ${tokens.busy}` };
      for (let sent = 0; sent < RATE_LIMIT; sent += 1) await fetch(`${server.url}/api/things/1`, { headers });
      await useToken(page, tokens.busy);
      return () => useToken(page, tokens.full);
    },
    'The service is busy',
  ],
  [
    '503 of memory',
    async () => {
      const shares: Share[] = [];
      while (server.budget.used < server.budget.limit)
        shares.push(server.budget.take(Math.min(65_536, server.budget.limit - server.budget.used)));
      return () => shares.forEach((share) => share.release());
    },
    'The service is busy. Nothing was changed. Try again in',
  ],
  [
    '503 of a database that another program holds',
    async () => {
      const other = new Database(fileOf(server.database));
      other.exec('begin immediate');
      return () => other.close();
    },
    'The service is busy. Nothing was changed. Try again in',
  ],
  [
    'a network that is gone',
    async (page) => {
      await page.context().setOffline(true);
      return () => page.context().setOffline(false);
    },
    'The connection broke before the service answered.',
  ],
])('%s', async (title, provoke, words) => {
  const folder = await makeFolder();
  const { page, close } = await typing(addressOf(folder), 'Note', `typed before ${title}`);
  const undo = await provoke(page, folder);
  await save(page);
  await page.getByRole('main').getByText(words).first().waitFor();
  expect(await input(page, 'Note').inputValue()).toBe(`typed before ${title}`);
  await undo();
  if (title !== '401' && title !== '404') await save(page);
  const id = await savedRecord(page, 'folders');
  expect(await storedNote(id)).toBe(`typed before ${title}`);
  await close();
});

test('a write whose answer is lost may have been saved; trying again saves it once', async () => {
  const { page, close } = await signedIn();
  await open(page, '/folders/new');
  await input(page, 'Name *').fill('Once only');
  let lost = 0;
  await page.route('**/api/folders?*', async (route) => {
    if (route.request().method() !== 'POST' || (lost += 1) > 1) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await save(page);
  await page.getByText('This may have been saved').waitFor();
  await save(page);
  await savedRecord(page, 'folders');
  expect((await ask('GET', 'folders?_cnd[name]=Once%20only')).stored).toHaveLength(1);
  await close();
});

test('what is typed while the record is saved stays', async () => {
  const folder = await makeFolder();
  const { page, close } = await typing(addressOf(folder), 'Note', 'sent');
  let answer: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route('**/api/folders/*', async (route) => {
    if (route.request().method() === 'PUT') await held;
    return route.continue();
  });
  await save(page);
  await input(page, 'Note').fill('typed meanwhile');
  answer();
  await page.getByText('What you typed meanwhile is not saved yet.').waitFor();
  expect(await input(page, 'Note').inputValue()).toBe('typed meanwhile');
  await save(page);
  expect(await storedNote(await savedRecord(page, 'folders'))).toBe('typed meanwhile');
  await close();
});

test('a type that requires tags is changed and deleted; a deletion asks again if the record has changed', async () => {
  await using pages = await startTestServer({ schemaDirectory: 'tests/fixtures/schemas/preconditions-required' });
  const forms = formsOf(pages);
  const { stored } = await forms.ask('POST', 'pages', { title: 'One', blocks: [{ text: 'b' }] });
  const { page, close } = await visit({ locale: 'en-US' });
  await forms.open(page, `/pages/${String(stored['id'])}/edit`);
  await input(page, 'Title').fill('Two');
  await save(page);
  await savedRecord(page, 'pages');
  const { headers } = await fetch(`${pages.url}/api/pages/1`);
  await fetch(`${pages.url}/api/pages/1`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'If-Match': headers.get('ETag') ?? '' },
    body: '{"title":"Three"}',
  });
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Someone else has changed this record').waitFor();
  await page.getByRole('dialog').getByText('Delete “Three”?').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('“Three” was deleted').waitFor();
  expect((await forms.ask('GET', 'pages/1')).status).toBe(404);
  await close();
});

test('what prevents a deletion is said before it is tried, with links', async () => {
  await using shop = await startTestServer();
  const forms = formsOf(shop);
  await forms.ask('POST', 'sales-tax-rates', { value: '7' });
  await forms.ask('POST', 'tax-classes', { id: 5 });
  await forms.ask('PUT', 'sales-tax-rates/1', { taxClass: { id: 5 } });
  const { page, close } = await visit({ locale: 'en-US' });
  await forms.open(page, '/tax-classes/5');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('link', { name: '1 Sales tax rate', exact: true }).click();
  await page.getByText('Tax class').first().waitFor();
  await close();
});
