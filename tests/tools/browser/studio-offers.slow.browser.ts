/** What the studio makes of descriptors and tokens: views, what it offers, where each fault stands, texts that are scripts. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { buildStudio } from '../../../deploy/studio.ts';
import { createToken, tokenLine } from '../../../engine/access/tokens.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { keep, startBrowser, visit } from './chromium.ts';
import { formsOf, savedRecord } from './studio-page.ts';

const SCRIPT = '<img src=x onerror=window.ran=1><script>window.ran=1</script>';
const JOB = `type: Job
title: { one: 'Job ${SCRIPT}', many: 'Jobs ${SCRIPT}' }
description: 'About jobs ${SCRIPT}'
label: name
fields:
  name: { type: string, required: true, title: 'Name ${SCRIPT}', description: 'Help ${SCRIPT}', examples: ['${SCRIPT}'] }
  state:
    type: string
    enum: [new, done]
    titles: { new: 'New ${SCRIPT}' }
    default: new
  starts: { type: integer }
  ends: { type: integer }
  codes: { type: array, items: { type: string, maxLength: 3 } }
  flags: { type: array, items: { type: boolean } }
  secret: { type: string }
  hours: { type: integer, default: 8, readOnly: true }
checks:
  - must: { ends: { gte: { field: starts } } }
    message: 'It cannot end before it starts ${SCRIPT}'
    at: ends
variants:
  default: plain
  omit:
    plain: [secret]
    full: []
relations:
  made: { kind: manyToMany, type: Part, title: 'Parts ${SCRIPT}', description: 'More ${SCRIPT}', nested: write }
`;
const PART = `type: Part
open: true
title: { one: Part, many: Parts }
fields:
  kind: { type: string }
`;

const tokens = { full: createToken(), reader: createToken() };
const folder = mkdtempSync(join(tmpdir(), 'offers-'));
let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  await buildStudio();
  writeFileSync(join(folder, 'job.yaml'), JOB);
  writeFileSync(join(folder, 'part.yaml'), PART);
  const lines = [
    tokenLine({ name: 'full', read: 'all', write: 'all' }, tokens.full),
    tokenLine({ name: 'reader', read: 'all', write: new Set() }, tokens.reader),
  ];
  server = await startTestServer({ schemaDirectory: folder, settings: { tokens: lines.join(';') } });
  browser = await startBrowser();
  for (const name of ['One', 'Two'])
    await ask('POST', 'jobs?variant=full', {
      name,
      secret: `secret of ${name}`,
      codes: ['abc'],
      made: [{ kind: 'x' }],
    });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true });
});

const { ask, open, input, save, faultAt } = formsOf(
  () => server,
  () => tokens.full,
);

async function start(token: string) {
  const permissions = ['clipboard-read', 'clipboard-write'];
  const visited = await visit(browser, { locale: 'en-US', permissions });
  await visited.page.addInitScript(`sessionStorage.setItem('records-token', '${token}')`);
  return visited;
}

const heads = (page: Page): Promise<readonly string[]> => page.locator('thead th').allInnerTexts();
async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name: label }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

test('variants are views of lists and of records; forms have all fields', async () => {
  const { page, complaints, close } = await start(tokens.full);
  await open(page, '/jobs');
  await page.locator('tbody tr:nth-child(2) a').first().waitFor();
  expect((await heads(page)).join()).not.toContain('Secret');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Starts' }).click();
  await page.keyboard.press('Escape');
  await choose(page, 'View', 'full');
  // What one view lacks stays chosen in the other.
  await page.getByRole('cell', { name: 'secret of One' }).waitFor();
  await choose(page, 'View', 'plain');
  await page.getByRole('columnheader', { name: 'Secret' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Ends' }).click();
  await page.keyboard.press('Escape');
  // Columns are kept by this browser, for other tabs as well.
  const other = await page.context().newPage();
  await other.addInitScript(`sessionStorage.setItem('records-token', '${tokens.full}')`);
  await open(other, '/jobs?variant=full');
  const cell = other.getByRole('cell', { name: 'secret of One' });
  await cell.waitFor();
  // A record is opened in the view of the list.
  const asked: string[] = [];
  other.on('request', (request) => request.url().includes('/api/jobs/') && asked.push(request.url()));
  await cell.click();
  await other.locator('main dl').getByText('secret of One').waitFor();
  expect(asked.map((url) => new URL(url).searchParams.get('variant'))).toEqual(['full']);
  await other.goBack();
  await cell.waitFor();
  const shown = (await heads(other)).join();
  expect(shown).toContain('Secret');
  expect(shown).not.toMatch(/Starts|Ends/);
  await open(other, '/jobs/1');
  await other.waitForSelector('main dl');
  expect(await other.locator('main dl').first().innerText()).not.toContain('secret of One');
  await choose(other, 'View', 'full');
  await other.locator('main dl').getByText('secret of One').waitFor();
  await keep(other, 'studio-view-of-a-record');
  await open(other, '/jobs/1/edit');
  await input(other, 'Secret').fill('changed');
  await save(other);
  await savedRecord(other, 'jobs');
  expect((await ask('GET', 'jobs/1?variant=full')).stored['secret']).toBe('changed');
  // The tag of a view is that of its address.
  await ask('POST', 'jobs', { name: 'Three' });
  await open(other, '/jobs/3?variant=full');
  await other.getByRole('button', { name: 'Delete' }).click();
  await other.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await other.getByText('was deleted').waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test.each([
  ['full', 1],
  ['reader', 0],
] as const)('with the token %s, what changes records is offered %d times', async (name, count) => {
  const { page, complaints, close } = await start(tokens[name]);
  await open(page, '/jobs');
  await page.getByLabel('Select One', { exact: true }).check();
  await page.getByText('1 selected').waitFor();
  const main = page.getByRole('main');
  const found = [
    main.getByRole('link', { name: 'New', exact: true }),
    main.getByRole('button', { name: /^Import/ }),
    main.getByRole('button', { name: 'Change', exact: true }),
    main.getByRole('button', { name: 'Delete', exact: true }),
  ];
  for (const one of found) expect(await one.count()).toBe(count);
  expect(await main.getByRole('button', { name: /^Export/ }).count()).toBe(2);
  await open(page, '/jobs/1');
  await page.waitForSelector('main dl');
  expect(await main.getByRole('link', { name: 'Edit', exact: true }).count()).toBe(count);
  expect(await main.getByRole('button', { name: 'Delete', exact: true }).count()).toBe(count);
  expect(complaints).toEqual([]);
  await close();
});

test('the requests of lists and exports are copied for a shell', async () => {
  const { page, close } = await start(tokens.full);
  const copied = async (): Promise<string> => {
    await page.getByRole('button', { name: 'Copy as curl' }).last().click();
    await page.getByText('Copied.').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(command).not.toContain(tokens.full);
    const env = { ...process.env, TOKEN: tokens.full };
    return (await promisify(execFile)('bash', ['-c', `${command} --silent`], { env })).stdout;
  };
  const filter = encodeURIComponent(JSON.stringify({ where: `_cnd[name][in]=Two&_cnd[name][in]=it's` }));
  await open(page, `/jobs?filter=${filter}&variant=full&sort=name&order=DESC`);
  await page.locator('tbody tr a').first().waitFor();
  expect(JSON.parse(await copied())).toMatchObject([{ id: 2, name: 'Two' }]);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: /^Export/ }).click();
  await page.getByRole('heading', { name: /^Export/ }).waitFor();
  const lines = (await copied()).trim().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain('Two');
  await close();
});

test('faults of checks, of items and of open keys stand at their inputs; read-only fields are shown, not sent', async () => {
  const { page, close } = await start(tokens.full);
  const bodies: unknown[] = [];
  page.on('request', (request) => request.method() === 'PUT' && bodies.push(JSON.parse(request.postData() ?? '')));
  await open(page, '/jobs/2/edit');
  await input(page, 'Starts').fill('2');
  await input(page, 'Ends').fill('1');
  await page.getByText('Hours', { exact: true }).waitFor();
  expect(await input(page, 'Hours').count()).toBe(0);
  await save(page);
  expect(await faultAt(page, 'Ends').innerText()).toContain('It cannot end before it starts');
  await input(page, 'Ends').fill('3');
  await page.getByRole('button', { name: 'Add: Codes' }).click();
  await input(page, 'Codes 2').fill('much too long');
  await input(page, 'Flags').fill('[true, 1]');
  await save(page);
  await page.getByText('2 inputs need a correction').waitFor();
  await keep(page, 'studio-faults-of-items', true);
  expect(await faultAt(page, 'Codes 2').innerText()).toContain('3 characters');
  expect(await faultAt(page, 'Codes 1').count()).toBe(0);
  expect(await faultAt(page, 'Flags').innerText()).toMatch(/boolean|true/);
  await page.getByRole('button', { name: 'Remove Codes 2' }).click();
  expect(await page.locator('[aria-label^="Codes"][aria-invalid=true]').count()).toBe(0);
  await input(page, 'Flags').fill('[true]');
  await save(page);
  await savedRecord(page, 'jobs');
  expect(bodies.at(-1)).toEqual({ starts: 2, ends: 3, flags: [true] });
  await open(page, '/parts/new');
  for (const [typed, said] of [
    [String.raw`{"a": {"b": [1, "\u0000"]}}`, 'U+0000'],
    ['{"__proto__": 1}', 'reserved'],
  ] as const) {
    await input(page, 'Other keys').fill(typed);
    await save(page);
    await faultAt(page, 'Other keys').getByText(said).waitFor();
  }
  await input(page, 'Other keys').fill('{"constructor": 1}');
  await save(page);
  const id = await savedRecord(page, 'parts');
  await open(page, `/parts/${id}/edit`);
  await input(page, 'Other keys').fill('');
  await save(page);
  await savedRecord(page, 'parts');
  expect((await ask('GET', `parts/${id}`)).text).toBe(`{"id":${id},"kind":null}`);
  await close();
});

test('texts of descriptors that are scripts are texts', async () => {
  const { page, complaints, close } = await start(tokens.full);
  const seen = (text: string) => page.getByText(`${text} ${SCRIPT}`).first().waitFor();
  await open(page, '/');
  await seen('About jobs');
  await open(page, '/jobs');
  await seen('About jobs');
  await page.getByRole('cell', { name: 'New <img', exact: false }).first().waitFor();
  await page.getByRole('button', { name: 'Add a filter' }).click();
  await page.getByRole('combobox', { name: 'Field' }).fill('Name');
  await page.getByRole('option', { name: `Name ${SCRIPT}` }).waitFor();
  await open(page, '/jobs/1');
  await seen('Parts');
  await seen('More');
  await open(page, '/jobs/new');
  await seen('Help');
  await page.getByLabel('State').click();
  await page.getByRole('option', { name: `New ${SCRIPT}` }).click();
  await input(page, 'Starts').fill('2');
  await input(page, 'Ends').fill('1');
  await save(page);
  await page.locator('[aria-invalid=true]').first().waitFor();
  await keep(page, 'studio-scripts', true);
  expect(await page.evaluate('window.ran')).toBe(undefined);
  expect(complaints.filter((text) => !text.includes('status of 422'))).toEqual([]);
  await close();
});
