/** The filters of a list: what is set, and changing it. */
import Box from '@mui/material/Box';
import Button from '@mui/material/Button';
import Chip from '@mui/material/Chip';
import { useListContext } from 'ra-core';
import { useMemo, useState } from 'react';
import { dialog } from '../app/boundary.tsx';
import { FilterIcon } from '../app/icons.tsx';
import { textOfWhere, whereOf } from '../data/where.ts';
import { type TypeInfo, useModel } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { useNames } from '../fields/names.ts';
import { namedIn, textOfNode } from './filter-terms.ts';
import { type FilterNode, readTree, writeTree } from './filter-tree.ts';

const FilterEditor = dialog(() => import('./filter-editor.tsx'));

export function Filters({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const model = useModel();
  const { filterValues, setFilters } = useListContext();
  const [open, setOpen] = useState<'add' | 'edit'>();
  const { where = '' } = filterValues as { readonly where?: string };
  const nodes = useMemo(() => readTree(whereOf(where)), [where]);
  const named = useMemo(() => namedIn({ model, type }, nodes), [model, type, nodes]);
  const nameOf = useNames(named);
  const set = (next: readonly FilterNode[]): void => {
    const written = writeTree(next);
    setFilters(written.length === 0 ? {} : { where: textOfWhere(written) }, [], false);
  };
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, mb: 1 }}>
      {nodes.map((node) => {
        const text = textOfNode({ say, model, type, nameOf }, node);
        return (
          <Chip
            key={textOfNode({ say, model, type }, node)}
            label={<bdi>{text}</bdi>}
            title={text}
            onDelete={() => set(nodes.filter((one) => one !== node))}
            slotProps={{ root: { 'aria-label': say('filter.remove', { filter: text }) } }}
            sx={{ maxWidth: '100%' }}
          />
        );
      })}
      <Button size="small" startIcon={<FilterIcon />} onClick={() => setOpen('add')}>
        {say('filter.add')}
      </Button>
      {nodes.length > 0 && (
        <Button size="small" color="inherit" onClick={() => setOpen('edit')}>
          {say('filter.edit')}
        </Button>
      )}
      {nodes.length > 1 && (
        <Button size="small" color="inherit" onClick={() => set([])}>
          {say('filter.clear')}
        </Button>
      )}
      {open && (
        <FilterEditor
          type={type}
          nodes={nodes}
          isAdding={open === 'add'}
          onClose={() => setOpen(undefined)}
          onNodes={(next) => {
            setOpen(undefined);
            set(next);
          }}
        />
      )}
    </Box>
  );
}
