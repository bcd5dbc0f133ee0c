/** Asks for a token: before the first page, and within a page when the service no longer accepts the one it had. */
import { Box, Button, TextField } from '@mui/material';
import { type FormEvent, useState } from 'react';
import { isToken } from '../data/token.ts';
import { useText } from '../texts/texts.ts';

interface TokenInputProps {
  readonly help?: string;
  readonly onToken: (token: string) => void;
}

export function TokenInput({ help, onToken }: TokenInputProps) {
  const say = useText();
  const [isRefused, setRefused] = useState(false);
  const take = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget).get('token');
    const token = typeof entered === 'string' ? entered.trim() : '';
    setRefused(!isToken(token));
    if (isToken(token)) onToken(token);
  };
  return (
    <Box component="form" onSubmit={take} sx={{ display: 'flex', gap: 1, mt: 1, alignItems: 'start' }}>
      <TextField
        name="token"
        type="password"
        label={say('token.label')}
        autoComplete="off"
        autoFocus
        required
        error={isRefused}
        helperText={isRefused ? say('token.characters') : help}
        // Nothing stands below that it could cover.
        slotProps={{ formHelperText: { role: 'status' } }}
      />
      <Button type="submit" variant="outlined" color="inherit">
        {say('token.use')}
      </Button>
    </Box>
  );
}
