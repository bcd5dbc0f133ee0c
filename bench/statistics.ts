/** Few numbers, taken on a machine that does other things as well: medians, and how far the rounds lie apart. */
export interface Summary {
  readonly median: number;
  readonly least: number;
  readonly greatest: number;
}

/** The value below which this part of the values lies. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [below = Number.NaN, above = below] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (below + above) / 2;
}

export const summary = (values: readonly number[]): Summary => ({
  median: median(values),
  least: Math.min(...values),
  greatest: Math.max(...values),
});

/** Half of what lies between the extremes, as a part of the median. */
export const spread = ({ median: middle, least, greatest }: Summary): number => (greatest - least) / 2 / middle;
