/** The keys of the studio. */
import { Box, Button, Dialog, DialogActions, DialogContent, DialogTitle } from '@mui/material';
import type { TextKey } from '../texts/en.ts';
import { useText } from '../texts/texts.ts';
import { MOD } from './keys.ts';

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
    <Dialog open onClose={onClose} aria-labelledby="keys-title">
      <DialogTitle id="keys-title">{say('keys.title')}</DialogTitle>
      <DialogContent>
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
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose} autoFocus>
          {say('app.close')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
