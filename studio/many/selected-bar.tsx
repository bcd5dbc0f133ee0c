/** How many records of a list are selected, and what can be done with them. */
import { Button, Paper, Typography } from '@mui/material';
import { useListContext } from 'ra-core';
import { useState } from 'react';
import { dialog } from '../app/boundary.tsx';
import { DeleteIcon, EditIcon, ExportIcon } from '../app/icons.tsx';
import { can, type TypeInfo } from '../data/model.ts';
import type { Total } from '../data/total.ts';
import { numberText, useText } from '../texts/texts.ts';
import { targetsOf } from './change.ts';
import type { Chosen } from './chosen.ts';
import type { Found } from './export.ts';

const ChangeDialog = dialog(() => import('./change-dialog.tsx'));
const DeleteDialog = dialog(() => import('./delete-dialog.tsx'));
const ExportDialog = dialog(() => import('./export-dialog.tsx'));

/** Types whose changes need tags have no deletion of several. */
const isDeletable = (type: TypeInfo): boolean => can(type, 'delete') && type.preconditions !== 'required';

/** Records without an identifier cannot be named. */
export const isSelectable = (type: TypeInfo): boolean => type.identifier.inRecord;

export interface AllFound {
  /** Whether all that the filters find are selected, on other pages as well. */
  readonly isSelected: boolean;
  readonly select: (isSelected: boolean) => void;
}

interface SelectedBarProps {
  readonly found: Found;
  readonly columns: readonly string[];
  readonly total: Total | undefined;
  readonly all: AllFound;
}

/** It stands below the table, which stays where it is. */
const BAR = { position: 'sticky', bottom: 8, zIndex: 3, mt: 1 } as const;

export function SelectedBar({ found, columns, total, all }: SelectedBarProps) {
  const say = useText();
  const { type, where } = found;
  const { selectedIds, onUnselectItems, data = [], hasNextPage, page } = useListContext();
  const [open, setOpen] = useState<'change' | 'delete' | 'export'>();
  if (selectedIds.length === 0 && !all.isSelected) return undefined;
  const ids = all.isSelected ? undefined : selectedIds.map(String);
  const chosen: Chosen = { type, where, ids };
  const unselect = (): void => {
    onUnselectItems();
    all.select(false);
  };
  const close = (isDone: boolean): void => {
    setOpen(undefined);
    if (isDone) unselect();
  };
  const isPageSelected = data.length > 0 && data.every(({ id }) => selectedIds.includes(id));
  const count = total === undefined || total.isEstimate ? '' : numberText(total.count);
  return (
    <Paper
      variant="outlined"
      sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, px: 2, py: 0.5, ...BAR }}
    >
      <Typography variant="body2" role="status" sx={{ flexGrow: 1 }}>
        {all.isSelected
          ? say('many.all_selected', { count })
          : say('many.selected', { smart_count: selectedIds.length, formatted: numberText(selectedIds.length) })}
        {!all.isSelected && isPageSelected && (page > 1 || hasNextPage === true) && (
          <Button size="small" onClick={() => all.select(true)} sx={{ marginInlineStart: 1 }}>
            {say('many.select_all', { count })}
          </Button>
        )}
      </Typography>
      {targetsOf(type).length > 0 && (
        <Button startIcon={<EditIcon />} onClick={() => setOpen('change')}>
          {say('many.change')}
        </Button>
      )}
      <Button startIcon={<ExportIcon />} onClick={() => setOpen('export')}>
        {say('many.export')}
      </Button>
      {isDeletable(type) && (
        <Button color="error" startIcon={<DeleteIcon />} onClick={() => setOpen('delete')}>
          {say('record.delete')}
        </Button>
      )}
      <Button color="inherit" onClick={unselect}>
        {say('many.unselect')}
      </Button>
      {open === 'change' && <ChangeDialog chosen={chosen} onClose={close} />}
      {open === 'delete' && <DeleteDialog chosen={chosen} onClose={close} />}
      {open === 'export' && (
        <ExportDialog
          found={ids === undefined ? found : { ...found, ids }}
          columns={columns}
          onClose={() => close(false)}
        />
      )}
    </Paper>
  );
}
