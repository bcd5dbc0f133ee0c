/** The filters of the list as a tree, and changing them. */
import { useListContext } from 'ra-core';
import { useMemo } from 'react';
import { type FilterNode, readTree, writeTree } from '../data/filter-tree.ts';
import type { ListFilter } from '../data/provider.ts';
import { textOfWhere, whereOf } from '../data/where.ts';
import { filterOf } from './search-box.tsx';

export function useNodes() {
  const { filterValues, setFilters } = useListContext();
  const { where = '', q } = filterValues as ListFilter;
  const nodes = useMemo(() => readTree(whereOf(where)), [where]);
  const set = (next: readonly FilterNode[]): void =>
    setFilters(filterOf({ where: textOfWhere(writeTree(next)), q }), [], false);
  return { nodes, set };
}
