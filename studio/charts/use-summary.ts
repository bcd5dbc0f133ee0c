/** Reads summaries of the interface. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { isValueList, type Value } from '../data/json.ts';
import type { TypeInfo } from '../data/model.ts';
import { send } from '../data/request.ts';

interface Summary {
  readonly groups: readonly Value[] | undefined;
  readonly error: unknown;
}

/** The previous summary stays visible while the next one is loaded. */
export function useSummary({ path }: TypeInfo, target: string | undefined): Summary {
  const { data, error } = useQuery({
    queryKey: [path, 'summary', target],
    queryFn: async ({ signal }): Promise<readonly Value[]> => {
      const { body } = await send({ method: 'GET', target: target ?? '' }, signal);
      return isValueList(body) ? body : [];
    },
    enabled: target !== undefined,
    placeholderData: keepPreviousData,
  });
  return { groups: data, error };
}
