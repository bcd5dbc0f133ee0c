/** From values to places in a picture, and the round values that are written beside an axis. */
export type Scale = (value: number) => number;

export interface Range {
  readonly from: number;
  readonly to: number;
}

export const linear =
  (values: Range, places: Range): Scale =>
  (value) =>
    places.from + ((value - values.from) / (values.to - values.from)) * (places.to - places.from);

/** For values above 0. */
export function logarithmic(values: Range, places: Range): Scale {
  const scale = linear({ from: Math.log(values.from), to: Math.log(values.to) }, places);
  return (value) => scale(Math.log(value));
}

const ROUND = [1, 2, 5, 10] as const;

/** From 0 up to `greatest`: multiples of 1, 2 or 5 times a power of ten, about as many as wanted. */
export function ticks(greatest: number, wanted = 5): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(greatest / wanted));
  const step = power * (ROUND.find((factor) => factor * power * wanted >= greatest) ?? 10);
  return Array.from({ length: Math.floor(greatest / step + 1e-9) + 1 }, (_, index) => index * step);
}

/** The powers of ten within the range. */
export function decades({ from, to }: Range): readonly number[] {
  const first = Math.ceil(Math.log10(from) - 1e-9);
  const last = Math.floor(Math.log10(to) + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => 10 ** (first + index));
}
