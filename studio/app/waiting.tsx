import { Box, LinearProgress } from '@mui/material';
import { useText } from '../texts/texts.ts';
import { Late } from './late.tsx';

export function Waiting() {
  const say = useText();
  return (
    <Box role="status" aria-label={say('app.loading')} sx={{ height: 4 }}>
      <Late>
        <LinearProgress aria-hidden />
      </Late>
    </Box>
  );
}
