/**
 * react-admin with ra-data-json-server and with ra-data-simple-rest, and refine with its provider: each lists, filters, sorts,
 * pages, creates, edits and deletes records of every type in Chromium, from another origin, without an adapter.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildSync } from 'esbuild';
import { keyedSchema, type Kind } from '../../support/keyed.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { startBrowser, visit, type Visit } from '../tools/browser/chromium.ts';

type Browser = Awaited<ReturnType<typeof startBrowser>>;
type Page = Visit['page'];
type Locator = ReturnType<Page['locator']>;

interface TypeUnderTest {
  readonly path: string;
  readonly field: string;
  readonly values: readonly string[];
  /** Its records come with the descriptor: there is no create. */
  readonly isSeeded?: boolean;
}

const all = JSON.parse(readFileSync('tests/nightly/admin/types.json', 'utf8')) as readonly TypeUnderTest[];

/** The application as a page of its own: nothing of it comes from the service. */
async function serveApp(name: string): Promise<{ readonly origin: string; close(): void }> {
  const { outputFiles } = buildSync({
    entryPoints: [`tests/nightly/admin/apps/${name}.jsx`],
    bundle: true,
    write: false,
    format: 'iife',
    jsx: 'automatic',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const script = outputFiles[0]?.text ?? '';
  const page =
    '<!doctype html><meta charset="utf-8"><title>Admin</title><div id="app"></div><script src="app.js"></script>';
  const server: Server = createServer(({ url = '' }, response) => {
    const isScript = url.startsWith('/app.js');
    response.setHeader('content-type', isScript ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8');
    response.end(isScript ? script : page);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, close: () => void server.close() };
}

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

/** Responses of the service that are not successes. */
function refusalsIn({ page }: Visit): readonly string[] {
  const refused: string[] = [];
  page.on('response', (response) => {
    if (response.status() >= 400 && !response.url().endsWith('/favicon.ico'))
      refused.push(`${response.request().method()} ${response.url()} ${response.status()}`);
  });
  return refused;
}

type App = Awaited<ReturnType<typeof serveApp>>;

const STORE = 'tests/fixtures/store';

type Keys = 'integer' | Kind;

interface Opened {
  readonly app: App;
  readonly server: TestServer;
  readonly page: Page;
  readonly refused: readonly string[];
  close(): Promise<void>;
}

async function open(name: string, keys: Keys): Promise<Opened> {
  const app = await serveApp(name);
  const schemaDirectory = keys === 'integer' ? STORE : keyedSchema(STORE, keys);
  const server = await startTestServer({ schemaDirectory, settings: { corsOrigins: [app.origin] } });
  const visiting = await visit(browser);
  const close = async (): Promise<void> => {
    await visiting.close();
    await server.close();
    app.close();
  };
  return { app, server, page: visiting.page, refused: refusalsIn(visiting), close };
}

type Row = Readonly<Record<string, unknown>>;

async function stored({ url }: TestServer, { path }: TypeUnderTest, query = ''): Promise<readonly Row[]> {
  return (await (await fetch(`${url}/api/${path}?${query}`)).json()) as readonly Row[];
}

const valuesOf = async (server: TestServer, type: TypeUnderTest, query = ''): Promise<readonly string[]> =>
  (await stored(server, type, query)).map((row) => String(row[type.field]));

/** Waits until the texts are these: an application may show the old ones for a while. */
async function untilTexts(found: Locator, expected: readonly string[]): Promise<void> {
  const texts = async (): Promise<readonly string[]> => (await found.allInnerTexts()).map((text) => text.trim());
  for (const until = Date.now() + 30_000; Date.now() < until && String(await texts()) !== String(expected);)
    await new Promise((done) => setTimeout(done, 50));
  expect(await texts()).toEqual(expected);
}

const cases = (['integer', 'uuid', 'string'] as const).flatMap((keys) =>
  (['json-server', 'simple-rest'] as const).map((provider) => [provider, keys] as const),
);

describe.each(cases)('react-admin with ra-data-%s, and keys of type %s', (provider, keys) => {
  let app: App;
  let server: TestServer;
  let page: Page;
  let refused: readonly string[];
  let close: Opened['close'];

  beforeAll(async () => {
    ({ app, server, page, refused, close } = await open('react-admin', keys));
  });
  afterAll(() => close?.());

  const go = (place: string): Promise<unknown> =>
    page.goto(`${app.origin}/?${new URLSearchParams({ provider, keys, url: `${server.url}/${provider}` })}#/${place}`);
  const cells = ({ field }: TypeUnderTest): Locator => page.locator(`td.column-${field}`);
  const places = (): Locator => page.locator('.MuiTablePagination-displayedRows');
  const fill = async (name: string, value: string): Promise<void> => {
    const input = page.locator(`.RaSimpleFormConfigurable-root, form`).locator(`input[name="${name}"]`).first();
    await input.waitFor();
    await input.fill(value);
  };

  test.each(all)('$path', async (type) => {
    const { path, values, isSeeded } = type;
    for (const [index, value] of isSeeded ? [] : values.entries()) {
      await go(`${path}/create`);
      if (keys === 'string') await fill('id', `${index} ü`);
      await fill(type.field, value);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL(new RegExp(`#/${path}(?:\\?|$)`));
    }
    const count = (await stored(server, type)).length;
    if (!isSeeded) expect(await valuesOf(server, type, '_cnd[orderBy]=' + idOf(type))).toEqual(values);

    await go(path);
    const byId = await valuesOf(server, type, `_cnd[orderBy]=${idOf(type)}`);
    await untilTexts(cells(type), byId.slice(0, 2));
    await untilTexts(places(), [`1-2 of ${count}`]);
    await page.getByRole('button', { name: 'Go to next page' }).click();
    await untilTexts(cells(type), byId.slice(2, 4));

    const header = page
      .locator(`th.column-${type.field} [role="button"], th.column-${type.field} span[data-field]`)
      .first();
    await header.click();
    await untilTexts(cells(type), (await valuesOf(server, type, `_cnd[orderBy]=${type.field}`)).slice(0, 2));
    await header.click();
    await untilTexts(cells(type), (await valuesOf(server, type, `_cnd[orderBy]=${type.field},desc`)).slice(0, 2));
    // The tooltip of the header can cover the first record.
    await page.mouse.move(0, 0);

    const wanted = byId[1] ?? '';
    await page.locator(`.filter-field input[name="${type.field}"]`).fill(wanted);
    await untilTexts(cells(type), [wanted]);
    await untilTexts(places(), ['1-1 of 1']);

    await cells(type).first().click();
    const changed =
      path === 'newsletter-subscribers' ? 'changed@example.com' : path === 'shipping-markups' ? '9.5' : 'changed';
    await fill(type.field, changed);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(new RegExp(`#/${path}(?:\\?|$)`));
    expect((await stored(server, type, `_cnd[${type.field}]=${changed}`)).length).toBe(1);

    const [last] = (await stored(server, type, `_cnd[orderBy]=${idOf(type)},desc`)) as readonly Row[];
    await go(`${path}/${encodeURIComponent(String(last?.[idOf(type)]))}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.waitForURL(new RegExp(`#/${path}(?:\\?|$)`));
    expect(await stored(server, type)).toHaveLength(count - 1);
    expect(refused).toEqual([]);
  });
});

const idOf = ({ path }: TypeUnderTest): string => (path === 'shipping-markups' ? 'markup_id' : 'id');
