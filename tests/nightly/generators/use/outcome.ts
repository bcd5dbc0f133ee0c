/** The calls that each generated client makes to a running service. */
export interface Outcome {
  /** Positions of the records that a filter finds. */
  readonly filtered: readonly (number | null)[];
  /** Positions on the first page of two, from the highest, and on the page after it. */
  readonly first: readonly (number | null)[];
  readonly second: readonly (number | null)[];
  readonly total: string | null;
  readonly zone: string | null | undefined;
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

type Records = readonly { readonly position: number | null }[];

interface Answered {
  readonly status: number;
}

interface Answers extends Pick<Outcome, 'total' | 'zone'> {
  readonly filtered: Records;
  readonly first: Records;
  readonly second: Records;
  readonly updated: Answered;
  readonly outdated: Answered;
  readonly deleted: Answered;
  readonly gone: Answered;
}

const positionsOf = (records: Records): readonly (number | null)[] => records.map(({ position }) => position);

export const outcomeOf = (answers: Answers): Outcome => ({
  filtered: positionsOf(answers.filtered),
  first: positionsOf(answers.first),
  second: positionsOf(answers.second),
  total: answers.total,
  zone: answers.zone,
  updated: answers.updated.status,
  outdated: answers.outdated.status,
  deleted: answers.deleted.status,
  gone: answers.gone.status,
});

export function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the request failed');
  return value;
}
