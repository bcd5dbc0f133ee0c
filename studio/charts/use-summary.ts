/** Reads summaries of the interface. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { isValueList, type Value } from '../data/json.ts';
import { type TypeInfo, typeNamed, useModel } from '../data/model.ts';
import { send } from '../data/request.ts';
import type { Where } from '../data/where.ts';
import { useText } from '../texts/texts.ts';
import { type Division, divisionTarget, type Measure, slicesOf } from './figures.ts';

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

/** The values of a division, with their figures. Undefined until they are read. */
export function useSlices(type: TypeInfo, division: Division | undefined, measure: Measure, where: Where) {
  const say = useText();
  const model = useModel();
  const { groups, error } = useSummary(type, division && divisionTarget(type, division, measure, where));
  const target = division?.relation && typeNamed(model, division.relation.type);
  const words = { nothing: say('value.null'), yes: say('value.yes'), no: say('value.no') };
  return { slices: division && groups && slicesOf(division, target, groups, measure, words), error };
}
