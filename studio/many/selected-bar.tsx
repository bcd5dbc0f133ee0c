/** How many records of a list are selected, and what can be done with them. */
import Button from '@mui/material/Button';
import Paper from '@mui/material/Paper';
import Typography from '@mui/material/Typography';
import { useListContext } from 'ra-core';
import { lazy, Suspense, useState } from 'react';
import { DeleteIcon } from '../app/icons.tsx';
import { can, type TypeInfo } from '../data/model.ts';
import { useText } from '../texts/texts.ts';

const DeleteDialog = lazy(() => import('./delete-dialog.tsx'));

/** Values of one filter. */
const MOST = 100;

/** Types whose changes need tags have no deletion of several. */
export const isSelectable = (type: TypeInfo): boolean =>
  can(type, 'delete') && type.preconditions !== 'required' && type.identifier.inRecord;

export function SelectedBar({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const { selectedIds, onUnselectItems } = useListContext();
  const [ids, setIds] = useState<readonly string[]>();
  if (selectedIds.length === 0) return undefined;
  return (
    <Paper
      variant="outlined"
      sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, px: 2, py: 0.5, mb: 1 }}
    >
      <Typography variant="body2" role="status" sx={{ flexGrow: 1 }}>
        {say('many.selected', { smart_count: selectedIds.length })}
      </Typography>
      <Button
        color="error"
        startIcon={<DeleteIcon />}
        disabled={selectedIds.length > MOST}
        onClick={() => setIds(selectedIds.map(String))}
      >
        {say('record.delete')}
      </Button>
      <Button color="inherit" onClick={() => onUnselectItems()}>
        {say('many.unselect')}
      </Button>
      <Suspense>
        {ids && (
          <DeleteDialog
            type={type}
            ids={ids}
            onClose={(isDone) => {
              setIds(undefined);
              if (isDone) onUnselectItems();
            }}
          />
        )}
      </Suspense>
    </Paper>
  );
}
