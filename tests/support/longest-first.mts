/** Jest's testSequencer: starts the longest files first, so that no worker is left alone with one of them at the end. */

/** From the longest on; then come all that are called slow, then all others. */
const LONGEST = [
  'oracle/oracle.',
  'suite/schemas.',
  'migration/',
  'versions/',
  'postgres/',
  'suite/command.',
  '.slow.',
];

interface TestFile {
  readonly path: string;
}

const rank = ({ path }: TestFile): number => {
  const found = LONGEST.findIndex((part) => path.includes(part));
  return found < 0 ? LONGEST.length : found;
};

export default class LongestFirst {
  sort<T extends TestFile>(tests: readonly T[]): readonly T[] {
    return tests.toSorted((a, b) => rank(a) - rank(b));
  }

  /** What earlier runs have shown decides nothing: every run starts them in the same order. */
  cacheResults(): void {}
}
