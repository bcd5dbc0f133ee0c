/** Drives Chromium, and records its errors and warnings. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/**
 * The last two are suggestions of the address bar, which nobody sees here: two processes for each window, and a fifth of
 * what journeys cost. Of several lists Chromium takes the last, so this one begins with Playwright's.
 */
const WITHOUT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
];

const OPTIONS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${WITHOUT.join(',')}`,
];

/** Color scheme and width of those who look at a page. */
export const READERS = [
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
  ['dark', 360],
] as const;

const CHROMIUM = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`).find(existsSync);

/** On a busy machine, a browser needs more than the half minute that is usual. */
const PATIENCE_MS = Number(process.env['PATIENCE_MS'] ?? 600_000);

/** Titles are set after what is shown. */
export const hasTitle = (page: Page, title: string): Promise<unknown> =>
  page.waitForFunction(`document.title === ${JSON.stringify(title)}`);

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? CHROMIUM ?? '/usr/bin/chromium',
    args: OPTIONS,
    timeout: PATIENCE_MS,
  });

export interface Visit {
  readonly page: Page;
  /** Errors and warnings of the console, exceptions, and requests that failed. */
  readonly complaints: readonly string[];
  /** Origins of everything that was loaded. */
  readonly origins: ReadonlySet<string>;
  close(): Promise<void>;
}

export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText;
    // The page itself has left while it was waiting.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()} ${reason}`);
  });
  page.on('request', (request) => origins.add(new URL(request.url()).origin));
  const close = async (): Promise<void> => {
    // The page may still be loading what a test answers for it.
    if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  };
  return { page, complaints, origins, close };
}
