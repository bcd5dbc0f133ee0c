/** Columns by month; a click filters by the month. */
import { Box, ButtonBase, Typography } from '@mui/material';
import type { FieldInfo, TypeInfo } from '../data/model.ts';
import type { Where } from '../data/where.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { localZone, monthText } from '../presentations/times.ts';
import { useText } from '../texts/texts.ts';
import { ChartCard } from './chart-card.tsx';
import { type Measure, monthSlices, monthsTarget, type Slice } from './figures.ts';
import { figureText, useSummary } from './use-summary.ts';

/** So many months have room for their names. */
const MOST_NAMES = 4;

const COLUMNS = {
  flexGrow: 1,
  minHeight: 0,
  display: 'flex',
  gap: '2px',
  listStyle: 'none',
  m: 0,
  p: 0,
  '& li': { flex: '1 1 0', minWidth: 0, display: 'flex', flexDirection: 'column' },
  // The oldest have no room: a column that is clicked is at least 24 pixels wide, or as far from the next.
  '@container (max-width: 36rem)': { '& li:nth-last-of-type(n + 13)': { display: 'none' } },
  '@container (max-width: 18rem)': { '& li:nth-last-of-type(n + 10)': { display: 'none' } },
  '& li > span': {
    height: '1.2em',
    fontSize: '0.7rem',
    color: 'text.secondary',
    whiteSpace: 'nowrap',
    // The last one stays within the card.
    alignSelf: 'flex-end',
  },
  '& button': { flexGrow: 1, minHeight: 24, alignItems: 'flex-end' },
  '& .column': { width: '100%', maxWidth: 36, minHeight: 2, borderRadius: '3px 3px 0 0', bgcolor: 'chart.column' },
  '& button:hover .column, & button[aria-pressed=true] .column': { bgcolor: 'chart.strong' },
  '& button:focus-visible': { outline: 2, outlineStyle: 'solid', outlineColor: 'primary.main' },
} as const;

interface MonthsProps {
  readonly type: TypeInfo;
  readonly field: FieldInfo;
  readonly measure: Measure;
  readonly where: Where;
  readonly title: string;
  readonly isChosen: (slice: Slice) => boolean;
  readonly onChoose: (slice: Slice) => void;
}

export function Months({ type, field, measure, where, title, isChosen, onChoose }: MonthsProps) {
  const say = useText();
  const language = pageLanguage();
  const { groups, error } = useSummary(type, monthsTarget(type, field, measure, where, localZone()));
  const slices = monthSlices(groups ?? [], measure, (month) => monthText(month, language));
  const most = Math.max(...slices.map(({ figure: text }) => Number(text)), 0);
  const step = Math.ceil(slices.length / MOST_NAMES);
  const [before, last] = slices.slice(-2);
  const figure = ({ figure: text }: Slice): string => figureText(measure, text);
  return (
    <ChartCard
      title={title}
      error={error}
      isEmpty={groups !== undefined && slices.length === 0}
      isWide
      aside={
        before !== undefined &&
        last !== undefined && (
          <Typography variant="body2" noWrap sx={{ color: 'text.secondary', fontVariantNumeric: 'tabular-nums' }}>
            {[before, last]
              .map((slice) => `${monthText(slice.value ?? '', language, 'short')} ${figure(slice)}`)
              .join(' · ')}
          </Typography>
        )
      }
    >
      <Box component="ul" sx={COLUMNS}>
        {slices.map((slice, index) => (
          <li key={slice.value}>
            <ButtonBase
              aria-pressed={isChosen(slice)}
              aria-label={say('charts.month', { month: slice.name, figure: figure(slice) })}
              title={`${slice.name}: ${figure(slice)}`}
              onClick={() => onChoose(slice)}
            >
              <span className="column" style={{ height: `${most === 0 ? 0 : (100 * Number(slice.figure)) / most}%` }} />
            </ButtonBase>
            <span aria-hidden>
              {(slices.length - 1 - index) % step === 0 && monthText(slice.value ?? '', language, 'short')}
            </span>
          </li>
        ))}
      </Box>
    </ChartCard>
  );
}
