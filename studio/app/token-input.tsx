/** Asks for another token, without leaving the page, when the service no longer accepts this one. */
import { Box, Button, TextField } from '@mui/material';
import { type FormEvent, useState } from 'react';
import { isToken, keepToken } from '../data/token.ts';
import { useText } from '../texts/texts.ts';

export function TokenInput({ onKept }: { readonly onKept: () => void }) {
  const say = useText();
  const [isRefused, setRefused] = useState(false);
  const take = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget).get('token');
    const token = typeof entered === 'string' ? entered.trim() : '';
    if (!isToken(token)) return setRefused(true);
    keepToken(token);
    onKept();
  };
  return (
    <Box component="form" onSubmit={take} sx={{ display: 'flex', gap: 1, mt: 1, alignItems: 'start' }}>
      <TextField
        name="token"
        type="password"
        label={say('token.label')}
        autoComplete="off"
        required
        error={isRefused}
        helperText={isRefused ? say('token.characters') : undefined}
      />
      <Button type="submit" variant="outlined" color="inherit">
        {say('token.use')}
      </Button>
    </Box>
  );
}
