import { Box, LinearProgress } from '@mui/material';
import { type ReactNode, useEffect, useState } from 'react';
import { useText } from '../texts/texts.ts';

const SOON_MS = 300;

/** Shows only what takes long: a bar that comes and goes at once would be in the way. */
export function Late({ children }: { readonly children: ReactNode }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), SOON_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLate ? children : undefined;
}

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
