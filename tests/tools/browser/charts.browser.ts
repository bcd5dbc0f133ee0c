/** The pictures of the benchmarks in a browser: they are XML, and their words can be read on light and on dark ground. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { latencyChart } from '../../../bench/latency/chart.ts';
import { handWritten, peers } from '../../../bench/contenders.ts';
import { comparisonChart } from '../../../bench/report/comparison-chart.ts';
import { growthChart } from '../../../bench/scale/chart.ts';
import { typesWork } from '../../../bench/scale/types-work.ts';
import { rowsWork } from '../../../bench/scale/rows-work.ts';
import { work } from '../../../bench/work.ts';
import { startBrowser, visit } from './chromium.ts';

const some = (index: number): number => 10 * 3 ** (index % 9);
const names = (all: readonly { readonly name: string }[]): readonly string[] => all.map(({ name }) => name);

const measured = [1, 16, 64].flatMap((connections) =>
  names(work).flatMap((name) =>
    ['engine', ...names(handWritten), ...names(peers)].map((contender, index) => {
      const summary = { median: some(index), least: some(index), greatest: some(index) };
      return {
        contender,
        work: name,
        connections,
        cpu: summary,
        databaseCpu: undefined,
        rate: summary,
        p50: 1,
        p99: 2,
      };
    }),
  ),
);
const axis = (of: string, sizes: readonly number[], works: readonly string[]) => ({
  title: `More ${of}`,
  of,
  sizes,
  growths: works.map((name, index) => ({ name, unit: 'µs' as const, values: sizes.map((_, at) => some(index + at)) })),
  targets: {},
});
const waited = ['one core', 'all cores'].flatMap((cores) =>
  ['alone', 'whole list streams', '16 connections create'].map((situation, index) => {
    const p99 = some(index);
    return { contender: 'engine', situation, cores, beside: '-', p50: 1, p99, max: 2 * p99 };
  }),
);

const pictures = {
  comparison: comparisonChart(measured),
  growth: growthChart([
    axis('rows', [10_000, 100_000, 1_000_000], names(rowsWork)),
    axis('types', [8, 100, 500], [...names(typesWork), 'a name with <, > and &']),
  ]),
  latency: latencyChart(waited),
};

interface Word {
  readonly words: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly fill: string;
}

const WORDS = `[...document.querySelectorAll('text')].map((text) => {
  const { left, right, top, bottom } = text.getBoundingClientRect();
  return { words: text.textContent, left, right, top, bottom, fill: getComputedStyle(text).fill };
})`;
const GROUND = `getComputedStyle(document.querySelector('.ground')).fill`;

const brightness = (color: string): number =>
  (/rgb\((\d+), (\d+), (\d+)\)/.exec(color)?.slice(1).map(Number) ?? []).reduce((sum, part) => sum + part, 0) / 3;

/** Letters stand within a box that is higher than they are. */
const AIR = 3;
const overlap = (one: Word, other: Word): boolean =>
  one.left + AIR < other.right &&
  other.left + AIR < one.right &&
  one.top + AIR < other.bottom &&
  other.top + AIR < one.bottom;

let browser: Browser;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'charts-'));
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

describe.each(['light', 'dark'] as const)('on %s ground', (colorScheme) => {
  test.each(Object.entries(pictures))('%s', async (name, svg) => {
    const file = join(folder, `${name}.svg`);
    writeFileSync(file, svg);
    const { page, complaints, close } = await visit(browser, { colorScheme });
    await page.goto(`file://${file}`);
    expect(complaints).toEqual([]);
    expect(await page.evaluate('document.documentElement.nodeName')).toBe('svg');
    expect(await page.evaluate("document.getElementsByTagName('parsererror').length")).toBe(0);

    const words = await page.evaluate<readonly Word[]>(WORDS);
    const [, width = 0, height = 0] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)?.map(Number) ?? [];
    expect(words.length).toBeGreaterThan(10);
    expect(words.filter(({ left, right, bottom }) => left < 0 || right > width || bottom > height)).toEqual([]);
    const ground = brightness(await page.evaluate<string>(GROUND));
    expect(ground > 128).toBe(colorScheme === 'light');
    expect(words.filter(({ fill }) => Math.abs(brightness(fill) - ground) < 100)).toEqual([]);
    const pairs = words.flatMap((one, at) =>
      words
        .slice(at + 1)
        .filter((other) => overlap(one, other))
        .map((other) => [one.words, other.words]),
    );
    expect(pairs).toEqual([]);
    await close();
  });
});
