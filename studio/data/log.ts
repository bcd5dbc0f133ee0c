/** The log of changes: the entries of a record, and the records that were deleted. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { isValueList, isValueObject, type ValueObject } from './json.ts';
import { nextAfter } from './list-request.ts';
import type { TypeInfo } from './model.ts';
import { send } from './request.ts';

const SHOWN = 20;

/** Newest first, page by page. */
export function useLog(type: TypeInfo, place: string) {
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: [type.path, 'log', place],
    queryFn: async ({ pageParam: after, signal }) => {
      const target = `${type.path}/${place}?limit=${SHOWN}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`;
      const { body, headers } = await send({ method: 'GET', target }, signal);
      const entries = (isValueList(body) ? body : []).filter(isValueObject);
      return { entries, next: nextAfter(headers.get('Link')) };
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    gcTime: 0,
  });
  const entries: readonly ValueObject[] | undefined = data?.pages.flatMap((page) => page.entries);
  const more = hasNextPage ? () => void fetchNextPage() : undefined;
  return { entries, error, isFetching, more, retry: () => void refetch() };
}
