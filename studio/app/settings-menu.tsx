/** The menu of personal settings: appearance, language, token. */
import { Divider, IconButton, ListSubheader, Menu, MenuItem } from '@mui/material';
import { useLocaleState, useStore } from 'ra-core';
import { useState } from 'react';
import { useModel } from '../data/model.ts';
import { ROOT } from '../data/request.ts';
import { forgetToken } from '../data/token.ts';
import type { TextKey } from '../texts/en.ts';
import { LANGUAGES, useText } from '../texts/texts.ts';
import { SettingsIcon } from './icons.tsx';
import type { Appearance } from './studio.tsx';

export const APPEARANCES = [
  ['system', 'app.system'],
  ['light', 'app.light'],
  ['dark', 'app.dark'],
] as const satisfies readonly (readonly [Appearance, TextKey])[];

interface SettingsMenuProps {
  readonly onLeave: () => void;
  readonly onKeys: () => void;
}

export function SettingsMenu({ onLeave, onKeys }: SettingsMenuProps) {
  const say = useText();
  const { token } = useModel();
  const [locale, setLocale] = useLocaleState();
  const [appearance, setAppearance] = useStore<Appearance>('appearance', 'system');
  const [anchor, setAnchor] = useState<HTMLElement>();
  const choose = (change: () => void) => (): void => {
    change();
    setAnchor(undefined);
  };
  const leave = choose(() => {
    // Forms that ask before the tab is closed ask here, too.
    const closing = new Event('beforeunload', { cancelable: true });
    if (!window.dispatchEvent(closing) && !window.confirm(say('form.leave_text'))) return;
    forgetToken();
    onLeave();
  });
  return (
    <>
      <IconButton
        edge="end"
        aria-label={say('app.settings')}
        aria-haspopup="menu"
        onClick={(event) => setAnchor(event.currentTarget)}
      >
        <SettingsIcon />
      </IconButton>
      <Menu anchorEl={anchor ?? null} open={anchor !== undefined} onClose={() => setAnchor(undefined)}>
        <ListSubheader role="presentation">{say('app.theme')}</ListSubheader>
        {APPEARANCES.map(([one, text]) => (
          <MenuItem
            key={one}
            role="menuitemradio"
            aria-checked={one === appearance}
            selected={one === appearance}
            onClick={choose(() => setAppearance(one))}
          >
            {say(text)}
          </MenuItem>
        ))}
        <Divider role="presentation" />
        <ListSubheader role="presentation">{say('language.choose')}</ListSubheader>
        {Object.entries(LANGUAGES).map(([name, language]) => (
          <MenuItem
            key={name}
            role="menuitemradio"
            aria-checked={name === locale}
            selected={name === locale}
            lang={name}
            onClick={choose(() => setLocale(name))}
          >
            {language.name}
          </MenuItem>
        ))}
        <Divider role="presentation" />
        <MenuItem onClick={choose(onKeys)}>{say('keys.title')}</MenuItem>
        <MenuItem component="a" href={ROOT.href}>
          {say('app.start')}
        </MenuItem>
        <MenuItem component="a" href={new URL('docs', ROOT).href}>
          {say('app.reference')}
        </MenuItem>
        {token !== null && <Divider role="presentation" />}
        {token !== null && (
          <MenuItem onClick={leave}>
            {say('token.forget')} ({token.name})
          </MenuItem>
        )}
      </Menu>
    </>
  );
}
