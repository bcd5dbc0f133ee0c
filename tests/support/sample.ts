/** How many values are drawn for a property: with SAMPLE=1 all, else a third. `RUNS=1000` draws as many. */
const { SAMPLE, RUNS } = process.env;

export const isWhole = SAMPLE === '1';

export const drawn = (whole: number): number => Number(RUNS ?? (isWhole ? whole : Math.ceil(whole / 3)));
