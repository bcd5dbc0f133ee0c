/** `npm run test:nightly -- pictures`: takes the pictures of the studio in README.md anew, from a real service. */
import { buildStudio } from '../../../deploy/studio.ts';
import { startTestServer } from '../../support/server.ts';
import { startBrowser, visit } from './chromium.ts';

const ZONES = ['Mainland', 'Islands', 'Alps', 'Abroad'];
const METHODS = ['Parcel', 'Express', 'Freight'];
const COUNT = 36;

/** Names are linked where a record has them already. */
const named = (key: string, identifier: string, names: readonly string[], index: number) => {
  const at = index % names.length;
  return index < names.length ? { [key]: names[at] } : { [identifier]: at + 1 };
};

async function draw(): Promise<void> {
  await buildStudio();
  const server = await startTestServer({ schemaDirectory: 'schema', settings: { title: 'Store administration' } });
  const browser = await startBrowser();
  try {
    for (let index = 0; index < COUNT; index += 1) {
      const body = {
        min_weight: `${(index % 6) * 5}`,
        max_weight: `${(index % 6) * 5 + 5}`,
        min_total: '0.00',
        max_total: `${100 + 50 * (index % 4)}.00`,
        markup_flat: `${3 + (index % 9)}.90`,
        zone: named('zone_name', 'zone_id', ZONES, index),
        shipping_method: named('code', 'method_id', METHODS, index),
      };
      const answer = await fetch(`${server.url}/api/shipping-markups`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (answer.status !== 201) throw new Error(await answer.text());
    }
    const look = { locale: 'en-US', viewport: { width: 1280, height: 720 } };
    const { page } = await visit(browser, look);
    await page.goto(`${server.url}/studio#/shipping-markups`, { waitUntil: 'networkidle' });
    await page.locator('tbody tr:nth-child(10)').waitFor();
    await page.screenshot({ path: 'studio/pictures/list.png' });
    await page.goto(`${server.url}/studio#/shipping-markups/7/edit`, { waitUntil: 'networkidle' });
    await page.getByLabel('Max weight').fill('-5');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[aria-invalid=true]').first().waitFor();
    // Material UI fades buttons in.
    await page.waitForTimeout(1000);
    await page.screenshot({ path: 'studio/pictures/form.png' });
  } finally {
    await browser.close();
    await server.close();
  }
}

void draw();
