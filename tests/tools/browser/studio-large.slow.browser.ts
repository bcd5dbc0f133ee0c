/** The studio of a schema that is large: two hundred types, one with a hundred fields; used by keyboard alone. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { buildStudio } from '../../../deploy/studio.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { violations } from './axe.ts';
import { startBrowser, visit } from './chromium.ts';

const TYPES = 200;
const FIELDS = 100;

let folder: string;
let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'large-'));
  for (let type = 1; type < TYPES; type++)
    writeFileSync(join(folder, `part${type}.yaml`), `type: Part${type}\nfields:\n  name: { type: string }\n`);
  const fields = Array.from({ length: FIELDS }, (_, index) => `  field${index}: { type: string }`);
  writeFileSync(join(folder, 'whole.yaml'), `type: Whole\nlabel: field1\nfields:\n${fields.join('\n')}\n`);
  await buildStudio();
  server = await startTestServer({ schemaDirectory: folder });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true });
});

test('a type is found by typing, a record is made and found, without a mouse', async () => {
  const { page, complaints, close } = await visit(browser, { locale: 'en-US', viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.url}/studio`);
  await page.getByRole('searchbox', { name: 'Find a type' }).focus();
  await page.keyboard.type('whole');
  await page.getByRole('navigation').getByRole('link').nth(1).waitFor({ state: 'detached' });
  const press = async (key: string, role: 'link' | 'button' | 'textbox', name: string): Promise<void> => {
    const target = page.getByRole(role, { name, exact: true }).first();
    await target.waitFor();
    // It is reached by Tab, and shows that it is.
    for (let step = 0; step < 150; step++) {
      if (await target.evaluate((element) => element.matches(':focus'))) break;
      await page.keyboard.press('Tab');
    }
    expect(await target.evaluate((element) => element.matches(':focus-visible'))).toBe(true);
    await page.keyboard.press(key);
  };
  await press('Enter', 'link', 'Wholes');
  await press('Enter', 'link', 'New');
  await press('x', 'textbox', 'Field1');
  expect(await page.getByRole('textbox').count()).toBeGreaterThanOrEqual(FIELDS);
  await press('y', 'textbox', 'Field99');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'x', level: 1 }).waitFor();
  const stored: unknown = await (await fetch(`${server.url}/api/wholes/1`)).json();
  expect(stored).toMatchObject({ field0: null, field1: 'x', field99: 'y' });
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});
