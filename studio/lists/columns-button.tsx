/** The choice of columns. */
import Checkbox from '@mui/material/Checkbox';
import Divider from '@mui/material/Divider';
import IconButton from '@mui/material/IconButton';
import ListItemText from '@mui/material/ListItemText';
import Menu from '@mui/material/Menu';
import MenuItem from '@mui/material/MenuItem';
import Tooltip from '@mui/material/Tooltip';
import { useState } from 'react';
import { ColumnsIcon } from '../app/icons.tsx';
import { useText } from '../texts/texts.ts';
import type { useColumns } from './columns.ts';

export function ColumnsButton({ columns }: { readonly columns: ReturnType<typeof useColumns> }) {
  const say = useText();
  const [anchor, setAnchor] = useState<HTMLElement>();
  const { all, shown, toggle, reset } = columns;
  const names = new Set(shown.map(({ name }) => name));
  return (
    <>
      <Tooltip title={say('list.columns')}>
        <IconButton
          aria-label={say('list.columns')}
          aria-haspopup="menu"
          onClick={(event) => setAnchor(event.currentTarget)}
        >
          <ColumnsIcon />
        </IconButton>
      </Tooltip>
      <Menu anchorEl={anchor ?? null} open={anchor !== undefined} onClose={() => setAnchor(undefined)}>
        {all.map(({ name, title }) => (
          <MenuItem
            key={name}
            role="menuitemcheckbox"
            aria-checked={names.has(name)}
            dense
            onClick={() => toggle(name)}
          >
            <Checkbox
              checked={names.has(name)}
              size="small"
              tabIndex={-1}
              disableRipple
              slotProps={{ input: { 'aria-hidden': true, tabIndex: -1 } }}
              sx={{ py: 0 }}
            />
            <ListItemText primary={title} />
          </MenuItem>
        ))}
        <Divider role="presentation" />
        <MenuItem dense onClick={reset}>
          {say('list.reset_columns')}
        </MenuItem>
      </Menu>
    </>
  );
}
