/** What a person does with forms of the studio, and what is stored afterwards. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { buildStudio } from '../../../deploy/studio.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { startBrowser, visit, type Visit } from './chromium.ts';

interface RunningStudio {
  readonly server: () => TestServer;
  visit(options?: BrowserContextOptions): Promise<Visit>;
}

/** A service with the studio, and a browser, while the tests of a file run. */
export function runStudio(options?: Parameters<typeof startTestServer>[0]): RunningStudio {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    await buildStudio();
    server = await startTestServer(options);
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  return { server: () => server, visit: (context) => visit(browser, context) };
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
  /** What stands at an input. */
  faultAt(page: Page, label: string): Locator;
}

/** `token`: what requests beside the studio are sent with. */
export function formsOf(server: () => TestServer, token: () => string | undefined = () => undefined): Forms {
  const input = (page: Page, label: string): Locator => page.getByRole('textbox', { name: label, exact: true });
  return {
    async ask(method, path, body) {
      const response = await fetch(`${server().url}/api/${path}`, {
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
    open: (page, address) => page.goto(`${server().url}/studio#${address}`),
    input,
    save: (page) => page.getByRole('button', { name: 'Save', exact: true }).click(),
    faultAt: (page, label) =>
      page.locator('.MuiFormControl-root', { has: input(page, label) }).locator('.Mui-error.MuiFormHelperText-root'),
  };
}

/** Waits until a record of the path was saved and is shown; its identifier. */
export async function savedRecord(page: Page, path: string): Promise<string> {
  await page.waitForURL(new RegExp(`/${path}/\\d+$`));
  await page.waitForSelector('main dl');
  return new RegExp(`/${path}/(\\d+)`).exec(page.url())?.[1] ?? '';
}
