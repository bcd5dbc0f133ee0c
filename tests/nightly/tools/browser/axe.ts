/** Accessibility checks with axe. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = createRequire(`${process.cwd()}/tests/nightly/tools/package.json`).resolve('axe-core/axe.min.js');
const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Violations of WCAG 2.2 at levels A and AA, as "rule: element". */
export async function violations(page: Page): Promise<readonly string[]> {
  // What fades in has no contrast yet; what moves as long as it is there, such as the mark of a focused button, has no end.
  await page.evaluate(`Promise.all(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => undefined)))`);
  await page.evaluate(readFileSync(AXE, 'utf8'));
  return page.evaluate(
    `axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(LEVELS)} } }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`,
  );
}
