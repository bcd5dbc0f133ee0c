/** How costs grow with one thing of which there is more and more. */
export interface Growth {
  readonly name: string;
  readonly unit: 'µs' | 's' | 'MiB';
  /** One for each size. */
  readonly values: readonly number[];
}

/** What a cost may be at most: at the greatest size, or as a multiple of what it is at the smallest. */
export interface Target {
  readonly of: 'greatest' | 'growth';
  readonly limit: number;
}

export interface Axis {
  readonly title: string;
  /** What there is more and more of. */
  readonly of: string;
  readonly sizes: readonly number[];
  readonly growths: readonly Growth[];
  /** By the name of the growth. */
  readonly targets: Readonly<Record<string, Target>>;
}

const greatest = ({ values }: Growth): number => values.at(-1) ?? Number.NaN;
export const factor = (growth: Growth): number => greatest(growth) / (growth.values[0] ?? Number.NaN);

/** undefined where a single size shows no growth. */
export function isMet(growth: Growth, { of, limit }: Target): boolean | undefined {
  if (of === 'greatest') return greatest(growth) <= limit;
  return growth.values.length < 2 ? undefined : factor(growth) <= limit;
}
