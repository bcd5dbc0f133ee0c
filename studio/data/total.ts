/** How many records a list has. */
import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { limited, textOfWhere, type Where } from './where.ts';
import type { TypeInfo } from './model.ts';
import { send } from './request.ts';

export interface Total {
  readonly count: number;
  readonly isEstimate: boolean;
}

/** So many records are counted as fast as they are estimated. */
const FEW = 10_000;

/** Of a long list it may be an estimate, unless it has to be exact. Undefined where the service does not count. */
async function readTotal(
  type: TypeInfo,
  where: Where,
  isExact: boolean,
  signal?: AbortSignal,
): Promise<Total | undefined> {
  const total = await ask(type, where, isExact, signal);
  return total?.isEstimate === true && total.count < FEW ? ask(type, where, true, signal) : total;
}

async function ask(
  { path }: TypeInfo,
  where: Where,
  isExact: boolean,
  signal?: AbortSignal,
): Promise<Total | undefined> {
  const query = textOfWhere([['fields', ''], ['include', ''], ...where, ...limited(1)]);
  const headers = { Prefer: `count=${isExact ? 'exact' : 'estimated'}` };
  const answer = await send({ method: 'GET', target: `${path}?${query}`, headers }, signal);
  const total = answer.headers.get('X-Total-Count');
  const isEstimate = answer.headers.get('Preference-Applied')?.includes('estimated') ?? false;
  return total === null ? undefined : { count: Number(total), isEstimate };
}

interface TotalWanted {
  readonly type: TypeInfo;
  readonly where: Where;
  /** What a page that is the whole list says by itself. */
  readonly known: number | undefined;
  readonly isExact: boolean;
  /** Not before the page is there: the person waits for that. */
  readonly isWanted: boolean;
}

/** As many types are counted at once. */
const MOST_TYPES = 24;

const totalQuery = (type: TypeInfo, where: Where, isExact: boolean) => ({
  queryKey: [type.path, 'total', textOfWhere(where), isExact],
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
    (await readTotal(type, where, isExact, signal)) ?? null,
  // A total that cannot be had is left out; the list says what is wrong.
  retry: false,
});

/** Browsers send few requests at once: those of the page go first. */
const SOON_MS = 300;
/** Totals go stale after this time; writes of this tab refresh them at once. */
const STALE_MS = 60_000;

function useSoon(): boolean {
  const [isSoon, setSoon] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSoon(true), SOON_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSoon;
}

interface Totals {
  readonly totals: ReadonlyMap<string, Total>;
  readonly isCounting: boolean;
}

/** The number of records of each type, by its path; types beyond the first few are not counted. */
export function useTotals(types: readonly TypeInfo[]): Totals {
  const isSoon = useSoon();
  const counted = types.length > MOST_TYPES ? [] : types.filter(({ list }) => list.count !== 'none');
  return useQueries({
    queries: counted.map((type) => ({
      queryKey: [type.path, 'total'],
      // An estimate is enough here; of few records it is exact.
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) => (await ask(type, [], false, signal)) ?? null,
      retry: false,
      enabled: isSoon,
      staleTime: STALE_MS,
    })),
    combine: (results) => ({
      totals: new Map(
        results.flatMap(({ data }, index): readonly [string, Total][] =>
          data ? [[counted[index]?.path ?? '', data]] : [],
        ),
      ),
      isCounting: results.some(({ isPending }) => isPending),
    }),
  });
}

/** Undefined until it is known, or where nobody wants it counted. */
export function useTotal({ type, where, known, isExact, isWanted }: TotalWanted): Total | undefined {
  const { data } = useQuery({
    ...totalQuery(type, where, isExact),
    enabled: isWanted && known === undefined && type.list.count !== 'none',
  });
  return known === undefined ? (data ?? undefined) : { count: known, isEstimate: false };
}
