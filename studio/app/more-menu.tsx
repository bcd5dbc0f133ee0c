/** The menu of less frequent actions, behind one button. */
import { Divider, IconButton, ListItemIcon, ListSubheader, Menu, MenuItem } from '@mui/material';
import { useState } from 'react';
import { Link } from 'react-router-dom';
import type { Sent } from '../data/request.ts';
import { useText } from '../texts/texts.ts';
import { useCurl } from './curl.ts';
import { CodeIcon, type ExportIcon, MoreIcon } from './icons.tsx';

interface MoreItem {
  readonly text: string;
  readonly Icon?: typeof ExportIcon;
  readonly isChosen?: boolean;
  /** An address, or what is done. */
  readonly to: string | (() => void);
}

interface MoreMenuProps {
  readonly groups: readonly { readonly title?: string; readonly items: readonly MoreItem[] }[];
  /** The request behind the screen, for developers. Undefined: it cannot be sent as it is, and that is said elsewhere. */
  readonly sent: () => Sent | undefined;
}

export function MoreMenu({ groups, sent }: MoreMenuProps) {
  const say = useText();
  const copyCurl = useCurl();
  const [anchor, setAnchor] = useState<HTMLElement>();
  const close = (): void => setAnchor(undefined);
  const curl: MoreItem = { text: say('curl.show'), Icon: CodeIcon, to: () => copyCurl(sent()) };
  const all = [...groups.filter(({ items }) => items.length > 0), { title: say('app.developer'), items: [curl] }];
  return (
    <>
      <IconButton
        aria-label={say('list.more')}
        title={say('list.more')}
        aria-haspopup="menu"
        onClick={({ currentTarget }) => setAnchor(currentTarget)}
      >
        <MoreIcon />
      </IconButton>
      <Menu anchorEl={anchor ?? null} open={anchor !== undefined} onClose={close}>
        {all.flatMap(({ title, items }, index) => [
          ...(index === 0 ? [] : [<Divider key={`line ${title}`} role="presentation" />]),
          ...(title === undefined
            ? []
            : [
                <ListSubheader key={title} role="presentation" sx={{ lineHeight: 2.4 }}>
                  {title}
                </ListSubheader>,
              ]),
          ...items.map(({ text, Icon, isChosen, to }) => (
            <MenuItem
              key={text}
              dense
              {...(isChosen === undefined
                ? {}
                : { role: 'menuitemradio', 'aria-checked': isChosen, selected: isChosen })}
              {...(typeof to === 'string' ? { component: Link, to } : {})}
              onClick={() => {
                close();
                if (typeof to === 'function') to();
              }}
            >
              {Icon !== undefined && (
                <ListItemIcon>
                  <Icon fontSize="small" />
                </ListItemIcon>
              )}
              {text}
            </MenuItem>
          )),
        ])}
      </Menu>
    </>
  );
}
