/** What can be done with all records of a list: saved, or brought in. */
import IconButton from '@mui/material/IconButton';
import Tooltip from '@mui/material/Tooltip';
import { useState } from 'react';
import { dialog } from '../app/boundary.tsx';
import { ExportIcon, ImportIcon } from '../app/icons.tsx';
import { can } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import type { Found } from './export.ts';

const ExportDialog = dialog(() => import('./export-dialog.tsx'));
const ImportDialog = dialog(() => import('./import-dialog.tsx'));

interface ManyButtonsProps {
  readonly found: Found;
  readonly columns: readonly string[];
}

export function ManyButtons({ found, columns }: ManyButtonsProps) {
  const say = useText();
  const { type } = found;
  const [open, setOpen] = useState<'export' | 'import'>();
  const close = (): void => setOpen(undefined);
  const choices = [
    { name: 'export', Icon: ExportIcon, text: say('export.title', { types: type.title.many }), isOffered: true },
    {
      name: 'import',
      Icon: ImportIcon,
      text: say('import.title', { types: type.title.many }),
      isOffered: can(type, 'create'),
    },
  ] as const;
  return (
    <>
      {choices
        .filter(({ isOffered }) => isOffered)
        .map(({ name, Icon, text }) => (
          <Tooltip key={name} title={text}>
            <IconButton aria-label={text} aria-haspopup="dialog" onClick={() => setOpen(name)}>
              <Icon />
            </IconButton>
          </Tooltip>
        ))}
      {open === 'export' && <ExportDialog found={found} columns={columns} onClose={close} />}
      {open === 'import' && <ImportDialog type={type} onClose={close} />}
    </>
  );
}
