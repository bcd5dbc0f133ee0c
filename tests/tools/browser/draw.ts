/** `npm run test:nightly -- pictures`: takes the pictures of the studio in README.md anew, from a real service. */
import { buildStudio } from '../../../deploy/studio.ts';
import { startTestServer } from '../../support/server.ts';
import { startBrowser, visit } from './chromium.ts';

const FIRST = ['Anna', 'Ben', 'Clara', 'David', 'Emma', 'Felix', 'Greta', 'Ida', 'Jonas', 'Klara'];
const LAST = ['Müller', 'Schmidt', 'Meyer', 'Fischer'];
const PRODUCTS = ['Yirgacheffe 250 g', 'Sidamo 500 g', 'House blend 1 kg', 'Earl Grey', 'Moka pot', 'Filter papers'];
const STATES = ['shipped', 'shipped', 'shipped', 'paid', 'returned'];
const COUNT = 600;
const DAY_MS = 86_400_000;
/** The last order. */
const LAST_MS = Date.UTC(2026, 10, 25, 18, 20);

/** Some more often than others, and always the same ones. */
const someOf = (index: number, step: number, count: number): number => ((index * step) % 97) % count;

function orderAt(index: number): object {
  const lines = Array.from({ length: 1 + (index % 3) }, (_, at) => ({
    position: at + 1,
    quantity: 1 + someOf(index, 5 + at, 3),
    price: `${7 + someOf(index, 11 + at, 18)}.90`,
    product: { id: 1 + someOf(index, 7 + at, PRODUCTS.length) },
  }));
  const total = lines.reduce((sum, { quantity, price }) => sum + quantity * Number(price), 0);
  return {
    number: `2026-${String(index + 1).padStart(4, '0')}`,
    placed: new Date(LAST_MS - (COUNT - 1 - index) * 0.53 * DAY_MS).toISOString(),
    state: index > COUNT - 9 ? 'open' : STATES[someOf(index, 13, STATES.length)],
    total: total.toFixed(2),
    gift: index % 9 === 0,
    customer: { id: 1 + someOf(index, 17, FIRST.length * LAST.length) },
    carrier: { id: 1 + someOf(index, 5, 3) },
    lines,
  };
}

async function draw(): Promise<void> {
  await buildStudio();
  const server = await startTestServer({
    schemaDirectory: 'tests/fixtures/coffee',
    settings: { title: 'Coffee & Co.' },
  });
  const browser = await startBrowser();
  const post = async (path: string, records: readonly object[]): Promise<void> => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${server.url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(records) });
    if (!answer.ok) throw new Error(await answer.text());
  };
  try {
    await post('categories', [{ name: 'Coffee' }, { name: 'Tea' }, { name: 'Equipment' }]);
    await post('suppliers', [{ name: 'Kaffa Cooperative' }, { name: 'Finca El Paraíso' }]);
    await post('carriers', [{ name: 'DHL' }, { name: 'DPD' }, { name: 'Pick-up' }]);
    const products = PRODUCTS.map((name, index) => ({
      name,
      sku: `CB-${1000 + index}`,
      price: `${7 + index}.90`,
      stock: 12 * index,
      category: { id: index < 3 ? 1 : index === 3 ? 2 : 3 },
    }));
    await post('products', products);
    const names = LAST.flatMap((last) => FIRST.map((first) => `${first} ${last}`));
    await post(
      'customers',
      names.map((name, index) => ({ name, email: `customer${index}@example.com`, city: 'Hamburg' })),
    );
    const orders = Array.from({ length: COUNT }, (_, index) => orderAt(index));
    for (let from = 0; from < COUNT; from += 100) await post('orders', orders.slice(from, from + 100));
    const look = { locale: 'en-GB', timezoneId: 'Europe/Berlin', viewport: { width: 1280, height: 800 } };
    const { page } = await visit(browser, look);
    const take = async (name: string): Promise<void> => {
      // Charts and totals come by themselves; Material UI fades buttons in.
      await page.waitForTimeout(1500);
      await page.screenshot({ path: `studio/pictures/${name}.png` });
    };
    await page.goto(`${server.url}/studio/orders`, { waitUntil: 'networkidle' });
    await page.locator('canvas').waitFor();
    await take('list');
    await page.locator('tbody tr:nth-child(3) a').first().click();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByRole('textbox', { name: 'Total', exact: true }).fill('19.905');
    await page.getByRole('textbox', { name: 'Number *' }).focus();
    await take('form');
  } finally {
    await browser.close();
    await server.close();
  }
}

void draw();
