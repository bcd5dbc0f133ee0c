/** Pictures of what a list finds: they follow its filters, and a click filters. */
import { Box, Button, MenuItem, TextField } from '@mui/material';
import { useListContext, useStore } from 'ra-core';
import { useMemo, useState } from 'react';
import type { TypeInfo } from '../data/model.ts';
import type { ListFilter } from '../data/provider.ts';
import { textOfWhere, type Where, whereOf } from '../data/where.ts';
import { type FilterNode, readTree, writeTree } from '../data/filter-tree.ts';
import { filterOf } from '../lists/search-box.tsx';
import { useText } from '../texts/texts.ts';
import { Bars } from './bars.tsx';
import {
  amountsOf,
  divisionsOf,
  firstMeasure,
  isFiltered,
  measureName,
  cardsOf,
  hasHead,
  monthField,
  monthFilter,
  sliceFilter,
  toggled,
} from './figures.ts';
import { Months } from './months.tsx';

const HEAD_HEIGHT = 36;

interface StripProps {
  readonly type: TypeInfo;
  /** Filters and search together. */
  readonly where: Where;
  readonly variant: string | undefined;
}

export default function Strip({ type, where, variant }: StripProps) {
  const say = useText();
  const { filterValues, setFilters } = useListContext();
  const { where: filters = '', q } = filterValues as ListFilter;
  const nodes = useMemo(() => readTree(whereOf(filters)), [filters]);
  const amounts = useMemo(() => amountsOf(type), [type]);
  const [chosen, choose] = useStore(`${type.path}.measure`, measureName(firstMeasure(type)));
  const measure = amounts.find((field) => measureName(field) === chosen);
  const field = monthField(type);
  const filter = (wanted: readonly FilterNode[]): void =>
    setFilters(filterOf({ where: textOfWhere(writeTree(toggled(nodes, wanted))), q }), [], false);
  const divisions = divisionsOf(type, variant);
  const most = cardsOf(type);
  const [isWhole, setWhole] = useState(false);
  const what = measure === undefined ? type.title.many : measure.title;
  return (
    <>
      {hasHead(type, variant) && (
        <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, height: HEAD_HEIGHT }}>
          {amounts.length > 0 && (
            <TextField
              select
              variant="standard"
              aria-label={say('charts.measure')}
              value={measureName(measure)}
              onChange={({ target }) => choose(target.value)}
              slotProps={{ htmlInput: { 'aria-label': say('charts.measure') }, input: { disableUnderline: true } }}
              sx={{ width: 'auto', '& .MuiSelect-select': { fontSize: '0.875rem', fontWeight: 600 } }}
            >
              <MenuItem value="count">{say('charts.count', { types: type.title.many })}</MenuItem>
              {amounts.map((amount) => (
                <MenuItem key={amount.name} value={measureName(amount)}>
                  {say('charts.sum', { field: amount.title })}
                </MenuItem>
              ))}
            </TextField>
          )}
          {divisions.length > most && (
            <Button size="small" color="inherit" onClick={() => setWhole(!isWhole)} sx={{ marginInlineStart: 'auto' }}>
              {say(isWhole ? 'charts.fewer' : 'charts.more')}
            </Button>
          )}
        </Box>
      )}
      <Box sx={{ display: 'grid', gap: 1.5, gridTemplateColumns: 'repeat(auto-fit, minmax(min(100%, 13rem), 1fr))' }}>
        {field !== undefined && (
          <Months
            type={type}
            field={field}
            measure={measure}
            where={where}
            title={say('charts.by_month', { what, field: field.title })}
            isChosen={({ value }) => isFiltered(nodes, monthFilter(field, value ?? ''))}
            onChoose={({ value }) => filter(monthFilter(field, value ?? ''))}
          />
        )}
        {divisions.slice(0, isWhole ? undefined : most).map((division) => (
          <Bars
            key={division.path}
            type={type}
            division={division}
            measure={measure}
            where={where}
            isChosen={(slice) => isFiltered(nodes, sliceFilter(division, slice))}
            onChoose={(slice) => filter(sliceFilter(division, slice))}
          />
        ))}
      </Box>
    </>
  );
}
