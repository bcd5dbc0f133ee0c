/** The keys of the studio. */
import { Box } from '@mui/material';
import type { TextKey } from '../texts/en.ts';
import { useText } from '../texts/texts.ts';
import { MOD } from './keys.ts';
import { Window } from './window.tsx';

const KEYS: readonly (readonly [key: string, text: TextKey])[] = [
  [`${MOD}K`, 'search.all'],
  ['/', 'search.list'],
  ['n', 'keys.new'],
  ['e', 'keys.edit'],
  ['x', 'keys.select'],
  ['j', 'record.next'],
  ['k', 'record.previous'],
  [`${MOD}S`, 'keys.save'],
  ['?', 'keys.title'],
];

export default function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const say = useText();
  return (
    <Window title={say('keys.title')} onClose={onClose} closeText={say('app.close')} isCareful>
      <Box component="dl" sx={{ display: 'grid', gridTemplateColumns: 'auto 1fr', gap: '0.5rem 1.5rem', m: 0 }}>
        {KEYS.map(([key, text]) => (
          <Box key={key} sx={{ display: 'contents' }}>
            <dt>
              <Box
                component="kbd"
                sx={{ border: 1, borderColor: 'divider', borderRadius: 1, px: 0.75, font: 'inherit' }}
              >
                {key}
              </Box>
            </dt>
            <Box component="dd" sx={{ m: 0 }}>
              {say(text)}
            </Box>
          </Box>
        ))}
      </Box>
    </Window>
  );
}
