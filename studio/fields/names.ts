/** The labels of records of which only the identifier is known. */
import { useQueries } from '@tanstack/react-query';
import { isIdentifier, type RelationInfo, typeNamed, useModel } from '../data/model.ts';
import { findChoices } from './search.ts';

export interface Named {
  readonly relation: RelationInfo;
  readonly id: string;
}

/** The label of a record that is gone or may not be read stays undefined; its identifier stands in for it. */
export function useNames(named: readonly Named[]): (type: string, id: string) => string | undefined {
  const model = useModel();
  const names = useQueries({
    queries: named.map(({ relation, id }) => ({
      queryKey: ['name', relation.type, relation.label, id],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<string | null> => {
        const type = typeNamed(model, relation.type);
        const [found] = await findChoices(model, type, relation.label ?? type.label, { id }, signal);
        return found?.name ?? null;
      },
      enabled: isIdentifier(typeNamed(model, relation.type), id),
      staleTime: Infinity,
    })),
    combine: (results) => results.map(({ data }) => data ?? undefined),
  });
  return (type, id) => names[named.findIndex((one) => one.relation.type === type && one.id === id)];
}
