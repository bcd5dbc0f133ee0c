import Box from '@mui/material/Box';
import LinearProgress from '@mui/material/LinearProgress';
import { useText } from '../texts/texts.ts';

export function Waiting() {
  const say = useText();
  return (
    <Box role="status" aria-label={say('app.loading')} sx={{ height: 4 }}>
      <LinearProgress aria-hidden />
    </Box>
  );
}
