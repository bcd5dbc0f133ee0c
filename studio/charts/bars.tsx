/** How records are divided by a field or a relation: a bar for each value, which filters by it. */
import { Box, ButtonBase } from '@mui/material';
import type { TypeInfo } from '../data/model.ts';
import type { Where } from '../data/where.ts';
import { ChartCard } from './chart-card.tsx';
import type { Division, Measure, Slice } from './figures.ts';
import { figureText, useSlices } from './use-summary.ts';

interface BarsProps {
  readonly type: TypeInfo;
  readonly division: Division;
  readonly measure: Measure;
  readonly where: Where;
  readonly isChosen: (slice: Slice) => boolean;
  readonly onChoose: (slice: Slice) => void;
}

export function Bars({ type, division, measure, where, isChosen, onChoose }: BarsProps) {
  const { slices, error } = useSlices(type, division, measure, where);
  const most = Math.max(...(slices ?? []).map(({ figure }) => Math.abs(Number(figure))), 0);
  return (
    <ChartCard title={division.title} error={error} isEmpty={slices?.length === 0}>
      <Box component="ul" sx={{ listStyle: 'none', p: 0, m: 0 }}>
        {slices?.map((slice) => (
          <li key={slice.value}>
            <ButtonBase aria-pressed={isChosen(slice)} onClick={() => onChoose(slice)} sx={BAR}>
              <Box
                component="span"
                aria-hidden
                className="bar"
                style={{ width: `${most === 0 ? 0 : (100 * Math.abs(Number(slice.figure))) / most}%` }}
              />
              <Box
                component="span"
                sx={{ overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap', flexGrow: 1 }}
              >
                <bdi>{slice.name}</bdi>
              </Box>
              <span>{figureText(measure, slice.figure)}</span>
            </ButtonBase>
          </li>
        ))}
      </Box>
    </ChartCard>
  );
}

const BAR = {
  position: 'relative',
  display: 'flex',
  gap: 1,
  width: '100%',
  px: 0.75,
  py: 0.25,
  minHeight: 24,
  borderRadius: 1,
  fontSize: '0.8125rem',
  textAlign: 'start',
  fontVariantNumeric: 'tabular-nums',
  '& > *': { position: 'relative' },
  '& > .bar': {
    position: 'absolute',
    insetBlock: 1,
    insetInlineStart: 0,
    borderRadius: 1,
    bgcolor: 'chart.soft',
  },
  '&:hover > .bar, &[aria-pressed=true] > .bar': { bgcolor: 'chart.strong' },
  '&[aria-pressed=true]': { fontWeight: 600 },
  '&:focus-visible': { outline: 2, outlineStyle: 'solid', outlineColor: 'primary.main' },
} as const;
