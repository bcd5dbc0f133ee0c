/** Reads summaries of the interface. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { isValueList, type Value } from '../data/json.ts';
import { type FieldInfo, type TypeInfo, typeNamed, useModel } from '../data/model.ts';
import { send } from '../data/request.ts';
import type { Where } from '../data/where.ts';
import { numberText, useText } from '../texts/texts.ts';
import { numberShown } from '../presentations/numbers.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { currenciesTarget, type Division, divisionTarget, type Measure, slicesOf, summable } from './figures.ts';

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

/** The amounts that the records found can be added up by. Undefined until that is known. */
export function useAmounts(type: TypeInfo, where: Where): readonly FieldInfo[] | undefined {
  const target = currenciesTarget(type, where);
  const { groups, error } = useSummary(type, target);
  return useMemo(
    () => (target === undefined || groups !== undefined || error !== null ? summable(type, groups ?? []) : undefined),
    [type, target, groups, error],
  );
}

/** A figure of a summary in words. */
export const figureText = (measure: Measure, figure: string): string =>
  measure === undefined ? numberText(Number(figure)) : numberShown(measure, figure, pageLanguage());
