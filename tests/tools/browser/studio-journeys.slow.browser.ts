/** Whole journeys through forms: each shipped type, and schemas that the studio has never seen, on desktops and phones. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { createToken, tokenLine } from '../../../engine/access/tokens.ts';
import { startTestServer } from '../../support/server.ts';
import { violations } from './axe.ts';
import { keep, READERS } from './chromium.ts';
import { formsOf, runStudio, savedRecord } from './studio-page.ts';

const { server, visit } = runStudio();
const { ask, open, input, save } = formsOf(server);
const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

type Act = (page: Page) => Promise<unknown>;
const fill =
  (label: string, text: string): Act =>
  (page) =>
    input(page, label).fill(text);

interface Journey {
  /** Undefined: the type has no create. */
  readonly create?: readonly Act[];
  /** What is stored then. */
  readonly stored: object;
  readonly edit: readonly Act[];
  /** What the edit sends. */
  readonly sent: object;
}

const JOURNEYS: Readonly<Record<string, Journey>> = {
  'tax-classes': {
    create: [fill('Position', '5')],
    stored: { position: 5, providerOneVATRate: null },
    edit: [fill('Provider one VAT rate', '19.00')],
    sent: { providerOneVATRate: '19.00' },
  },
  'shipping-markups': {
    create: [fill('Min weight', '1.5000'), (page) => press(page, 'New: Zone'), fill('Name', 'Alps')],
    stored: { min_weight: '1.5000', zone: { zone_name: 'Alps' } },
    edit: [(page) => press(page, 'Change Alps'), fill('Name', 'High Alps')],
    sent: { zone: { zone_id: 1, zone_name: 'High Alps' } },
  },
  'sales-tax-rates': {
    create: [
      fill('Value', '7.2500'),
      (page) => page.getByRole('combobox', { name: 'Zone' }).fill('lps'),
      (page) => page.getByRole('option', { name: 'High Alps' }).click(),
    ],
    stored: { value: '7.2500', type: 'p', zone: { zone_id: 1 }, tax: null },
    edit: [fill('Position', '30'), (page) => page.getByRole('combobox', { name: 'Zone' }).fill('')],
    sent: { position: 30, zone: null },
  },
  'content-images': {
    create: [fill('File name', 'a.jpg'), fill('Cloud icons', '[{"size": 64.0}]')],
    stored: { fileName: 'a.jpg', mime: 'application/octet-stream', cloudicons: [{ size: 64 }] },
    edit: [fill('Width', '1280')],
    sent: { width: 1280 },
  },
  'global-tabs': {
    create: [
      fill('Name', 'Specification'),
      (page) => press(page, 'New: Custom tab'),
      (page) => press(page, 'New: Tab provider'),
      fill('Code', 'Core'),
      (page) => press(page, 'New: Tab provider'),
      (page) => input(page, 'Code').nth(1).fill('Mod'),
    ],
    stored: { service_name: 'Specification', custom_tab: { id: 1 }, providers: [{ code: 'Core' }, { code: 'Mod' }] },
    edit: [(page) => press(page, 'Remove Core')],
    sent: { providers: [{ id: 2 }] },
  },
  'newsletter-subscribers': {
    create: [fill('Email *', 'ann@example.com')],
    stored: { email: 'ann@example.com', profile: false },
    edit: [(page) => page.getByLabel('Enabled').click()],
    sent: { profile: true },
  },
  'tmp-vars': {
    create: [fill('Name', 'state'), fill('Value', 'one\ntwo')],
    stored: { name: 'state', value: 'one\ntwo' },
    edit: [(page) => press(page, 'No value: Name')],
    sent: { name: null },
  },
  notifications: {
    stored: { templatesDirectory: 'order_created' },
    edit: [fill('Position', '7'), (page) => page.getByLabel('Enabled for admin').click()],
    sent: { enabledForAdmin: false, position: 7 },
  },
};

test.each(Object.entries(JOURNEYS))('%s: made, changed, deleted', async (path, { create, stored, edit, sent }) => {
  const { page, complaints, close } = await visit({ locale: 'en-US', viewport: { width: 1280, height: 800 } });
  const bodies: unknown[] = [];
  page.on('request', (request) => request.method() === 'PUT' && bodies.push(JSON.parse(request.postData() ?? '')));
  await open(page, `/${path}`);
  let id = '1';
  if (create === undefined) expect(await page.getByRole('link', { name: 'New', exact: true }).count()).toBe(0);
  else {
    await page.getByRole('link', { name: 'New', exact: true }).click();
    for (const act of create) await act(page);
    await keep(page, `studio-journey-${path}-new`);
    await save(page);
    id = await savedRecord(page, path);
  }
  expect((await ask('GET', `${path}/${id}`)).stored).toMatchObject(stored);
  await open(page, `/${path}/${id}/edit`);
  await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
  for (const act of edit) await act(page);
  await keep(page, `studio-journey-${path}-edit`);
  await save(page);
  await savedRecord(page, path);
  expect(bodies).toEqual([sent]);
  if (path !== 'shipping-markups') {
    await press(page, 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('was deleted').waitFor();
    expect((await ask('GET', `${path}/${id}`)).status).toBe(404);
  }
  expect(complaints).toEqual([]);
  await close();
});

test.each([
  ['every-field-type', 'samples'],
  ['unicode-names', 'groessen'],
  ['self-reference', 'nodes'],
  ['has-one', 'lockers'],
  ['many-to-many-with-itself', 'people'],
  ['open-types', 'shops'],
  ['owned-by-its-own-type', ''],
  ['sql-keywords', ''],
])('forms of the schema %s have nothing to complain about', async (schema, known) => {
  const other = await startTestServer({ schemaDirectory: `tests/fixtures/schemas/${schema}` });
  const answer = await fetch(`${other.url}/studio/model.json`);
  const { types } = (await answer.json()) as { types: readonly { path: string; operations: readonly string[] }[] };
  const paths = types.filter(({ operations }) => operations.includes('create')).map(({ path }) => path);
  expect(paths).toContain(known === '' ? paths[0] : known);
  for (const [colorScheme, width] of READERS)
    for (const path of paths) {
      const { page, complaints, close } = await visit({
        colorScheme,
        locale: 'en-US',
        viewport: { width, height: 800 },
      });
      await page.goto(`${other.url}/studio#/${path}/new`);
      await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
      await keep(page, `studio-form-${schema}-${path}-${colorScheme}-${width}`, true);
      expect(await violations(page)).toEqual([]);
      expect(
        await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth'),
      ).toBeLessThanOrEqual(0);
      expect(complaints).toEqual([]);
      await close();
    }
  await other.close();
});

test('each field type has its input; only what was typed is sent', async () => {
  const other = await startTestServer({ schemaDirectory: 'tests/fixtures/schemas/every-field-type' });
  const forms = formsOf(() => other);
  const { page, complaints, close } = await visit({ locale: 'en-US' });
  await forms.open(page, '/samples/new');
  for (const [label, text] of [
    ['String required *', 'r'],
    ['String email', 'ann@example.org'],
    ['Integer bounded', '12'],
    ['Number plain', '1e3'],
    ['Decimal scaled', '1.2300'],
    ['Date plain', '2024-02-29'],
    ['Timestamp plain', '2024-02-29T12:00:00Z'],
    ['Any plain', '{"b": 1.0}'],
    ['Array strings 1', 'abc'],
  ] as const)
    await page.getByLabel(label, { exact: true }).fill(text);
  await press(page, 'No value: String required nullable');
  await press(page, 'Add: Array strings');
  await page.getByLabel('Array strings 2', { exact: true }).fill('de');
  await press(page, 'Add: Array decimals');
  await page.getByLabel('Array decimals 1', { exact: true }).fill('1.50');
  await page.getByLabel('String enum').click();
  await page.getByRole('option', { name: 'empty text' }).click();
  await page.getByLabel('Integer enum').click();
  await page.getByRole('option', { name: '3' }).click();
  await page.getByLabel('Boolean required *').click();
  await page.getByRole('option', { name: 'No' }).click();
  await page.getByLabel('Boolean default').click();
  await keep(page, 'studio-form-field-types', true);
  await forms.save(page);
  const id = await savedRecord(page, 'samples');
  const { stored, text } = await forms.ask('GET', `samples/${id}`);
  expect(stored).toMatchObject({
    string_required: 'r',
    string_default: 'é "quoted" \\ text',
    string_enum: '',
    string_plain: null,
    string_email: 'ann@example.org',
    integer_bounded: 12,
    integer_enum: 3,
    number_plain: 1000,
    decimal_scaled: '1.2300',
    decimal_bounded: '1.50',
    boolean_plain: null,
    boolean_default: false,
    boolean_required: false,
    date_plain: '2024-02-29',
    timestamp_plain: '2024-02-29T12:00:00Z',
    array_strings: ['abc', 'de'],
    array_decimals: ['1.50'],
  });
  expect(text).toContain('"any_plain":{"b":1.0}');
  expect(complaints).toEqual([]);
  await close();
  await other.close();
});

test('what a form would send is copied for a shell, quoted, with the token as a variable', async () => {
  const token = createToken();
  const tokens = tokenLine({ name: 'all', read: 'all', write: 'all' }, token);
  const guarded = await startTestServer({ settings: { tokens } });
  const { page, close } = await visit({ locale: 'en-US', permissions: ['clipboard-read', 'clipboard-write'] });
  await page.addInitScript(`sessionStorage.setItem('records-token', '${token}')`);
  await page.goto(`${guarded.url}/studio#/tmp-vars/new`);
  const value = `it's "quoted" $HOME \`id\` \\n !! %20\nsecond line é`;
  await input(page, 'Value').fill(value);
  await press(page, 'Copy as curl');
  await page.getByText('Copied.').waitFor();
  const command = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(command).toContain('"Authorization: Bearer $TOKEN"');
  expect(command).not.toContain(token);
  const { stdout } = await promisify(execFile)('bash', ['-c', `${command} --silent`], {
    env: { ...process.env, TOKEN: token },
  });
  expect(JSON.parse(stdout)).toMatchObject({ id: 1, value });
  await close();
  await guarded.close();
});

test.each([1280, 360])('titles from right to left mirror the layout, %d pixels wide', async (width) => {
  const folder = mkdtempSync(join(tmpdir(), 'mirrored-'));
  writeFileSync(
    join(folder, 'book.yaml'),
    `type: Book
title: { one: ספר, many: ספרים }
label: name
fields:
  name: { type: string, title: שם, required: true, description: שם הספר }
  price: { type: decimal, title: מחיר, scale: 2 }
  sold: { type: boolean, title: נמכר, default: false }
  note: { type: string, title: הערה, multiline: true }
`,
  );
  const other = await startTestServer({ schemaDirectory: folder });
  const forms = formsOf(() => other);
  await forms.ask('POST', 'books', { name: 'שלום עולם', price: '12.50' });
  await forms.ask('POST', 'books', { name: 'Left to right', price: '-1.00' });
  const { page, complaints, close } = await visit({ locale: 'en-US', viewport: { width, height: 800 } });
  await forms.open(page, '/books');
  await page.locator('tbody tr:nth-child(2)').waitFor();
  expect(await page.evaluate('document.documentElement.dir')).toBe('rtl');
  await keep(page, `studio-mirrored-list-${width}`);
  expect(await violations(page)).toEqual([]);
  await page.getByRole('link', { name: 'New', exact: true }).click();
  await input(page, 'הערה').fill('מימין');
  await forms.save(page);
  await page.locator('[aria-invalid=true]').first().waitFor();
  await keep(page, `studio-mirrored-form-${width}`);
  // Labels and buttons begin at the right.
  const [label, frame] = await Promise.all(
    ['label >> text=שם', 'main form'].map((selector) => page.locator(selector).first().boundingBox()),
  );
  const middle = (frame?.x ?? 0) + (frame?.width ?? 0) / 2;
  expect(label?.x ?? 0).toBeGreaterThan(middle);
  if (width > 1000) expect((await page.getByRole('navigation').boundingBox())?.x).toBeGreaterThan(width / 2);
  expect(await violations(page)).toEqual([]);
  expect(await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')).toBeLessThanOrEqual(
    0,
  );
  expect(complaints.filter((text) => !text.includes('status of 422'))).toEqual([]);
  await close();
  await other.close();
  rmSync(folder, { recursive: true });
});
