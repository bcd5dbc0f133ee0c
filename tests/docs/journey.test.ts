/** All pages in one folder, one after the other: no page breaks the service of the next one. */
import { cpSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSchema } from '../../engine/validation/check-schema.ts';
import { matching, Reader, stepsOf } from './page.ts';
import { testAtNight } from '../support/whole.ts';

const START = ['first-type', 'two-types', 'express', 'package'].map((name) => `docs/start/${name}.md`);
const PAGES = [
  'README.md',
  ...START,
  ...globSync('docs/guides/*.md').toSorted(),
  ...globSync('docs/reference/*.md').toSorted(),
];

/** tests/docs/pages.test.ts runs them. */
const READS_ONLY = /^npx records (?:check|describe|diff|plan|suite|token)/;

let reader: Reader;
beforeAll(() => {
  reader = new Reader();
  cpSync('tests/fixtures/store', join(reader.folder, 'schema'), { recursive: true });
});
afterAll(() => reader.close());

testAtNight.each(PAGES)('%s', async (page) => {
  for (const step of stepsOf(readFileSync(page, 'utf8'))) {
    if (READS_ONLY.test(step.block.text)) continue;
    const { text, status = 200 } = await reader.follow(step);
    const { shown } = step;
    if (shown?.language === 'json') expect(JSON.parse(text)).toEqual(matching(JSON.parse(shown.text)));
    else if (shown === undefined) expect(status).toBeLessThan(400);
  }
  expect(checkSchema(join(reader.folder, 'schema')).diagnostics).toEqual([]);
});
