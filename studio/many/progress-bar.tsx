/** How far something long has come. */
import { Box, LinearProgress, Typography } from '@mui/material';
import { numberText, useText } from '../texts/texts.ts';
import type { Progress } from './chosen.ts';

interface ProgressBarProps {
  readonly label: string;
  readonly progress: Progress;
}

export function ProgressBar({ label, progress: { done, total } }: ProgressBarProps) {
  const say = useText();
  const share = total === undefined || total === 0 ? undefined : Math.min(100, (100 * done) / total);
  return (
    <Box>
      <LinearProgress
        aria-label={label}
        {...(share === undefined ? {} : { variant: 'determinate', value: Math.round(share) })}
      />
      <Typography variant="body2" sx={{ color: 'text.secondary', mt: 0.5 }}>
        {total === undefined
          ? say('list.total', { smart_count: done, formatted: numberText(done) })
          : say('progress.of', { done: numberText(done), smart_count: total, formatted: numberText(total) })}
      </Typography>
    </Box>
  );
}
