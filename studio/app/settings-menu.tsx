/** The menu of personal settings: appearance, language, token. */
import { useLocaleState, useStore } from 'ra-core';
import { useModel } from '../data/model.ts';
import { ROOT } from '../data/request.ts';
import { forgetToken } from '../data/token.ts';
import type { TextKey } from '../texts/en.ts';
import { LANGUAGES, useText } from '../texts/texts.ts';
import { SettingsIcon } from './icons.tsx';
import { MenuButton } from './menu.tsx';
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
  const leave = (): void => {
    // Forms that ask before the tab is closed ask here, too.
    const closing = new Event('beforeunload', { cancelable: true });
    if (!window.dispatchEvent(closing) && !window.confirm(say('form.leave_text'))) return;
    forgetToken();
    onLeave();
  };
  return (
    <MenuButton
      text={say('app.settings')}
      Icon={SettingsIcon}
      groups={[
        {
          title: say('app.theme'),
          items: APPEARANCES.map(([one, text]) => ({
            text: say(text),
            isChosen: one === appearance,
            to: () => setAppearance(one),
          })),
        },
        {
          title: say('language.choose'),
          items: Object.entries(LANGUAGES).map(([lang, { name }]) => ({
            text: name,
            lang,
            isChosen: lang === locale,
            to: () => setLocale(lang),
          })),
        },
        {
          items: [
            { text: say('keys.title'), to: onKeys },
            { text: say('app.start'), to: ROOT.href },
            { text: say('app.reference'), to: new URL('docs', ROOT).href },
          ],
        },
        { items: token === null ? [] : [{ text: `${say('token.forget')} (${token.name})`, to: leave }] },
      ]}
    />
  );
}
