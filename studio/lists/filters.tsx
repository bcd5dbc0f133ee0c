/** The filters of a list: what is set, and changing it. */
import { Box, Button, Chip } from '@mui/material';
import { useMemo, useState } from 'react';
import { dialog } from '../app/boundary.tsx';
import { FilterIcon } from '../app/icons.tsx';
import type { FilterNode } from '../data/filter-tree.ts';
import { type TypeInfo, useModel } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { useNames } from '../fields/names.ts';
import { namedIn, spokenNodes } from './filter-terms.ts';
import { useNodes } from './use-nodes.ts';

const FilterEditor = dialog(() => import('./filter-editor.tsx'));

export function Filters({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const model = useModel();
  const { nodes, set } = useNodes();
  /** The filters that are edited; all of them, while another is added. */
  const [open, setOpen] = useState<readonly FilterNode[]>();
  const isAdding = open === nodes;
  const named = useMemo(() => namedIn({ model, type }, nodes), [model, type, nodes]);
  const nameOf = useNames(named);
  return (
    <>
      <Button
        color="inherit"
        startIcon={<FilterIcon />}
        aria-label={say('filter.add')}
        title={say('filter.add')}
        onClick={() => setOpen(nodes)}
      >
        {say('filter.title')}
      </Button>
      {nodes.length > 0 && (
        <Box sx={{ order: 1, flexBasis: '100%', display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1 }}>
          {spokenNodes({ say, model, type, nameOf }, nodes).map(({ nodes: spoken, text }) => (
            <Chip
              key={JSON.stringify(spoken)}
              label={<bdi>{text}</bdi>}
              title={text}
              onClick={() => setOpen(spoken)}
              onDelete={() => set(nodes.filter((one) => !spoken.includes(one)))}
              slotProps={{ root: { 'aria-label': say('filter.change', { filter: text }) } }}
              sx={{ maxWidth: '100%' }}
            />
          ))}
          {nodes.length > 1 && (
            <Button size="small" color="inherit" onClick={() => set([])}>
              {say('filter.clear')}
            </Button>
          )}
        </Box>
      )}
      {open && (
        <FilterEditor
          type={type}
          nodes={open}
          isAdding={isAdding}
          onClose={() => setOpen(undefined)}
          onNodes={(next) => {
            setOpen(undefined);
            set(isAdding ? next : nodes.flatMap((node) => (node === open[0] ? next : open.includes(node) ? [] : node)));
          }}
        />
      )}
    </>
  );
}
