/** Columns by month; a click filters by the month. */
import { Box, Typography } from '@mui/material';
import { useState } from 'react';
import { dialog } from '../app/boundary.tsx';
import type { FieldInfo, TypeInfo } from '../data/model.ts';
import type { Where } from '../data/where.ts';
import { numberInWords } from '../presentations/numbers.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { HIDDEN } from '../presentations/shown.tsx';
import { monthText } from '../presentations/times.ts';
import { useText } from '../texts/texts.ts';
import { ChartCard } from './chart-card.tsx';
import { type Measure, monthSlices, monthsTarget, type Slice } from './figures.ts';
import { useSummary } from './use-summary.ts';

const Columns = dialog(() => import('./columns-canvas.tsx'));

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
  const { groups, error } = useSummary(type, monthsTarget(type, field, measure, where));
  const slices = monthSlices(groups ?? [], measure, (month) => monthText(month, language));
  const [focused, setFocused] = useState<number>();
  const [before, last] = slices.slice(-2);
  const figure = ({ figure: text }: Slice): string => numberInWords(text, language);
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
      <Box sx={{ flexGrow: 1, minHeight: 0, position: 'relative' }}>
        {slices.length > 0 && (
          <Columns
            names={slices.map(({ value }) => monthText(value ?? '', language, 'short'))}
            figures={slices.map(({ figure: text }) => Number(text))}
            texts={slices.map(figure)}
            chosen={slices.map(isChosen)}
            focused={focused}
            onChoose={(index) => {
              const slice = slices[index];
              if (slice !== undefined) onChoose(slice);
            }}
          />
        )}
      </Box>
      {/* A picture has no keys: each column has a button, whose column is marked while it has the focus. */}
      <Box component="ul" sx={{ ...HIDDEN, m: 0, p: 0 }}>
        {slices.map((slice, index) => (
          <li key={slice.value}>
            <button
              type="button"
              aria-pressed={isChosen(slice)}
              onFocus={() => setFocused(index)}
              onBlur={() => setFocused(undefined)}
              onClick={() => onChoose(slice)}
            >
              {say('charts.month', { month: slice.name, figure: figure(slice) })}
            </button>
          </li>
        ))}
      </Box>
    </ChartCard>
  );
}
