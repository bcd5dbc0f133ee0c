/** Filters as the interface writes them: `_cnd[name][like]` and its values. */
export type Where = readonly (readonly [parameter: string, value: string])[];

/** The first of them. */
export const limited = (count: number): Where => [
  ['_cnd[limit]', '0'],
  ['_cnd[limit]', String(count)],
];

export const whereOf = (text: string): Where => [...new URLSearchParams(text)];
export const textOfWhere = (where: Where): string =>
  new URLSearchParams(where.map(([parameter, value]) => [parameter, value])).toString();
