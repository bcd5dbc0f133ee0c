/** What a client does with the live service, whichever generator it comes from. */
export interface Outcome {
  /** Positions of the records that a filter finds. */
  readonly filtered: readonly (number | null)[];
  /** Positions on the first page of two, from the highest, and on the page after it. */
  readonly first: readonly (number | null)[];
  readonly second: readonly (number | null)[];
  readonly total: string | null;
  /** The name of a zone that was created inside a markup. */
  readonly zone: string | null | undefined;
  /** The status of an update with the current tag, and of the next one with the same. */
  readonly updated: number;
  readonly outdated: number;
  readonly deleted: number;
  readonly gone: number;
}

export const POSITIONS = [1, 2, 3] as const;

/** The cursor of the next page, as the `Link` header has it. */
export function nextCursor(link: string | null): string {
  const [, address = ''] = /<([^>]+)>; rel="next"/.exec(link ?? '') ?? [];
  return new URL(address, 'http://anywhere').searchParams.get('after') ?? '';
}

export const positionsOf = (records: readonly { readonly position: number | null }[]): readonly (number | null)[] =>
  records.map(({ position }) => position);

export function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the request failed');
  return value;
}
