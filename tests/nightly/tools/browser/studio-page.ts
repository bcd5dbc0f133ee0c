/** Steps of people in forms of the studio, and the records that are stored afterwards. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { buildStudio } from '../../../../deploy/studio.ts';
import { type TestServer, useServer } from '../../../support/server.ts';
import { startBrowser, visit, type Visit } from './chromium.ts';

/** A service with the studio, and a browser, while the tests of a file run. The browser goes first. */
export function runStudio(options?: Parameters<typeof useServer>[0]) {
  let browser: Browser;
  afterAll(() => browser?.close());
  beforeAll(async () => void (await buildStudio()));
  const server = useServer(options);
  beforeAll(async () => void (browser = await startBrowser()));
  return { server, visit: (context?: BrowserContextOptions): Promise<Visit> => visit(browser, context) };
}

export interface Stored {
  readonly [key: string]: unknown;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly stored: Stored;
}

interface Forms {
  /** A request beside the studio. */
  ask(method: string, path: string, body?: object): Promise<Answer>;
  open(page: Page, address: string): Promise<unknown>;
  input(page: Page, label: string): Locator;
  save(page: Page): Promise<void>;
  /** The message at an input. */
  faultAt(page: Page, label: string): Locator;
}

/** `token`: what requests beside the studio are sent with. */
export function formsOf(server: Pick<TestServer, 'url'>, token: () => string | undefined = () => undefined): Forms {
  const input = (page: Page, label: string): Locator => page.getByRole('textbox', { name: label, exact: true });
  return {
    async ask(method, path, body) {
      const response = await fetch(`${server.url}/api/${path}`, {
        method,
        headers: {
          'Content-Type': 'application/json',
          ...(token() === undefined ? {} : { Authorization: `Bearer ${token()}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, text, stored: JSON.parse(text) as Stored };
    },
    open: (page, address) => page.goto(`${server.url}/studio${address}`),
    input,
    save: (page) => page.getByRole('button', { name: 'Save', exact: true }).click(),
    faultAt: (page, label) =>
      page.locator('.MuiFormControl-root', { has: input(page, label) }).locator('.Mui-error.MuiFormHelperText-root'),
  };
}

/** Counts the clicks and keys of a page from its next load on. Texts that are filled in cost no keys. */
export async function countedActs(
  page: Page,
): Promise<() => Promise<{ readonly clicks: number; readonly keys: number }>> {
  await page.addInitScript(`
    window.acts = { clicks: 0, keys: 0 };
    addEventListener('pointerdown', () => (acts.clicks += 1), true);
    addEventListener('keydown', ({ key }) => (acts.keys += ['Control', 'Shift'].includes(key) ? 0 : 1), true);`);
  return () => page.evaluate('window.acts');
}

/** Waits until a record of the path was saved and is shown; its identifier. */
export async function savedRecord(page: Page, path: string): Promise<string> {
  await page.waitForURL(new RegExp(`/${path}/\\d+$`));
  await page.waitForSelector('main dl');
  return new RegExp(`/${path}/(\\d+)`).exec(page.url())?.[1] ?? '';
}
