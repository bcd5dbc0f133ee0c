/** The operations that a role allows on one record, and not on another of the same type. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type Operation, type TypeInfo, useModel } from './model.ts';
import { send } from './request.ts';

const METHODS: Readonly<Partial<Record<Operation, string>>> = { update: 'PATCH', delete: 'DELETE' };

/** The type with the operations that this record allows. Until they are known, it is only read. */
export function useAllowed(type: TypeInfo, id: string): TypeInfo {
  const { rightsByRecord } = useModel();
  const isWritten = type.operations.some((operation) => operation in METHODS);
  const { data, isPending } = useQuery({
    queryKey: [type.path, 'getOne', 'allowed', id],
    queryFn: async ({ signal }) => {
      const target = `${type.path}/${encodeURIComponent(id)}`;
      const { headers } = await send({ method: 'OPTIONS', target }, signal);
      return headers.get('Allow')?.split(', ') ?? [];
    },
    enabled: rightsByRecord && isWritten,
    // The service says it when something is tried.
    retry: false,
  });
  return useMemo(() => {
    if (!rightsByRecord || (data === undefined && !isPending)) return type;
    const isAllowed = (operation: Operation): boolean =>
      METHODS[operation] === undefined || data?.includes(METHODS[operation]) === true;
    return { ...type, operations: type.operations.filter(isAllowed) };
  }, [type, rightsByRecord, data, isPending]);
}
