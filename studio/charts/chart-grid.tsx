/** The charts of a type: by month, and by its first divisions. */
import Box from '@mui/material/Box';
import type { FilterNode } from '../data/filter-tree.ts';
import type { TypeInfo } from '../data/model.ts';
import type { Where } from '../data/where.ts';
import { useText } from '../texts/texts.ts';
import { Bars } from './bars.tsx';
import { type Division, type Measure, monthField, monthFilter, sliceFilter } from './figures.ts';
import { Months } from './months.tsx';

interface ChartGridProps {
  readonly type: TypeInfo;
  readonly measure: Measure;
  readonly where: Where;
  readonly divisions: readonly Division[];
  readonly isChosen: (filter: readonly FilterNode[]) => boolean;
  readonly onChoose: (filter: readonly FilterNode[]) => void;
}

export function ChartGrid({ divisions, isChosen, onChoose, ...common }: ChartGridProps) {
  const say = useText();
  const { type, measure } = common;
  const field = monthField(type);
  const what = measure?.title ?? type.title.many;
  return (
    <Box sx={{ display: 'grid', gap: 1.5, gridTemplateColumns: 'repeat(auto-fit, minmax(min(100%, 13rem), 1fr))' }}>
      {field !== undefined && (
        <Months
          {...common}
          field={field}
          title={say('charts.by_month', { what })}
          isChosen={({ value }) => isChosen(monthFilter(field, value ?? ''))}
          onChoose={({ value }) => onChoose(monthFilter(field, value ?? ''))}
        />
      )}
      {divisions.map((division) => (
        <Bars
          {...common}
          key={division.path}
          division={division}
          isChosen={(slice) => isChosen(sliceFilter(division, slice))}
          onChoose={(slice) => onChoose(sliceFilter(division, slice))}
        />
      ))}
    </Box>
  );
}
