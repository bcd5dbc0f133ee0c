/** Menus: what can be done or chosen, in groups. */
import { Divider, IconButton, ListItemIcon, ListSubheader, Menu, MenuItem } from '@mui/material';
import { useState } from 'react';
import { Link } from 'react-router-dom';
import { useText } from '../texts/texts.ts';
import { type ExportIcon, MoreIcon, YesIcon } from './icons.tsx';

interface Entry {
  readonly text: string;
  readonly Icon?: typeof ExportIcon;
  /** One of several. */
  readonly isChosen?: boolean;
  /** One beside others: the menu stays open. */
  readonly isTicked?: boolean;
  readonly isOff?: boolean;
  /** The language of the text. */
  readonly lang?: string;
  /** An address, or what is done. */
  readonly to: string | (() => void);
}

export type MenuGroups = readonly { readonly title?: string; readonly items: readonly Entry[] }[];

interface ActionsProps {
  readonly anchor: HTMLElement | undefined;
  readonly groups: MenuGroups;
  readonly onClose: () => void;
}

export const Actions = ({ anchor, groups, onClose }: ActionsProps) => (
  <Menu anchorEl={anchor ?? null} open={anchor !== undefined} onClose={onClose}>
    {groups
      .filter(({ items }) => items.length > 0)
      .flatMap(({ title, items }, index) => [
        index > 0 && <Divider key={`line ${index}`} role="presentation" />,
        title !== undefined && (
          <ListSubheader key={title} role="presentation" sx={{ lineHeight: 2.4 }}>
            {title}
          </ListSubheader>
        ),
        ...items.map((entry) => (
          <MenuItem
            key={entry.text}
            dense
            lang={entry.lang}
            disabled={entry.isOff ?? false}
            {...roleOf(entry)}
            {...linkOf(entry)}
            onClick={() => {
              if (entry.isTicked === undefined) onClose();
              if (typeof entry.to === 'function') entry.to();
            }}
          >
            <IconOf {...entry} />
            {entry.text}
          </MenuItem>
        )),
      ])}
  </Menu>
);

function roleOf({ isChosen, isTicked }: Entry) {
  if (isTicked !== undefined) return { role: 'menuitemcheckbox', 'aria-checked': isTicked };
  return isChosen === undefined ? {} : { role: 'menuitemradio', 'aria-checked': isChosen, selected: isChosen };
}

function linkOf({ to }: Entry) {
  if (typeof to !== 'string') return {};
  return to.startsWith('/') ? { component: Link, to } : { component: 'a', href: to };
}

function IconOf({ Icon, isTicked }: Entry) {
  const Shown = isTicked === undefined ? Icon : YesIcon;
  return (
    Shown && (
      <ListItemIcon sx={{ visibility: isTicked === false ? 'hidden' : undefined }}>
        <Shown fontSize="small" />
      </ListItemIcon>
    )
  );
}

interface MenuButtonProps {
  readonly text: string;
  readonly Icon: typeof ExportIcon;
  readonly groups: MenuGroups;
}

/** A menu behind a button that is an icon. */
export function MenuButton({ text, Icon, groups }: MenuButtonProps) {
  const [anchor, setAnchor] = useState<HTMLElement>();
  return (
    <>
      <IconButton
        aria-label={text}
        title={text}
        aria-haspopup="menu"
        onClick={({ currentTarget }) => setAnchor(currentTarget)}
      >
        <Icon />
      </IconButton>
      <Actions anchor={anchor} groups={groups} onClose={() => setAnchor(undefined)} />
    </>
  );
}

/** The menu of actions that people need less often. */
export const MoreMenu = ({ groups }: { readonly groups: MenuGroups }) => (
  <MenuButton text={useText()('list.more')} Icon={MoreIcon} groups={groups} />
);
