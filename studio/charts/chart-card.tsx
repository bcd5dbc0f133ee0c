/** The card around a chart. */
import { Box, Paper, Typography } from '@mui/material';
import type { ReactNode } from 'react';
import { problemText } from '../app/problem-alert.tsx';
import { useText } from '../texts/texts.ts';

/** All are alike: what stands below stays where it is. */
const CARD_HEIGHT = 200;

interface ChartCardProps {
  readonly title: string;
  /** Beside the title. */
  readonly aside?: ReactNode;
  readonly error: unknown;
  readonly isEmpty: boolean;
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

export function ChartCard({ title, aside, error, isEmpty, isWide = false, children }: ChartCardProps) {
  const say = useText();
  return (
    <Paper
      component="section"
      variant="outlined"
      aria-label={title}
      sx={{
        display: 'flex',
        flexDirection: 'column',
        p: 1.5,
        minWidth: 0,
        height: CARD_HEIGHT,
        containerType: 'inline-size',
        ...(isWide ? { gridColumn: { sm: 'span 2' } } : {}),
      }}
    >
      <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'baseline', columnGap: 1, mb: 0.75 }}>
        <Typography variant="body2" component="h2" noWrap sx={{ fontWeight: 600, flexGrow: 1 }}>
          <bdi>{title}</bdi>
        </Typography>
        {aside}
      </Box>
      {error !== null && error !== undefined ? (
        <Typography variant="body2" sx={{ color: 'text.secondary' }}>
          {problemText(say, error)}
        </Typography>
      ) : isEmpty ? (
        <Typography variant="body2" sx={{ color: 'text.secondary' }}>
          {say('charts.nothing')}
        </Typography>
      ) : (
        children
      )}
    </Paper>
  );
}
