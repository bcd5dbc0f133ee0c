/** The charts of the home page. A click leads to the list of those records. */
import { Box, Link, Typography } from '@mui/material';
import { Link as RouterLink, useNavigate } from 'react-router-dom';
import { listSearch } from '../data/address.ts';
import type { TypeInfo } from '../data/model.ts';
import { textOfWhere } from '../data/where.ts';
import { type FilterNode, writeTree } from '../data/filter-tree.ts';
import { useText } from '../texts/texts.ts';
import { Bars } from './bars.tsx';
import { divisionsOf, firstMeasure, MOST_CARDS, monthField, monthFilter, sliceFilter } from './figures.ts';
import { Months } from './months.tsx';

export default function HomeCharts({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const navigate = useNavigate();
  const measure = firstMeasure(type);
  const field = monthField(type);
  const open = (nodes: readonly FilterNode[]): void =>
    void navigate(`/${type.path}${listSearch(textOfWhere(writeTree(nodes)))}`);
  const isChosen = (): boolean => false;
  const common = { type, measure, where: [], isChosen } as const;
  return (
    <Box component="section" aria-label={type.title.many} sx={{ mt: 3 }}>
      <Typography variant="h2" sx={{ mb: 1 }}>
        <Link component={RouterLink} to={`/${type.path}`} color="inherit" underline="hover">
          {type.title.many}
        </Link>
      </Typography>
      <Box sx={{ display: 'grid', gap: 1.5, gridTemplateColumns: 'repeat(auto-fit, minmax(min(100%, 13rem), 1fr))' }}>
        {field !== undefined && (
          <Months
            {...common}
            field={field}
            title={say('charts.by_month', { what: measure?.title ?? type.title.many })}
            onChoose={({ value }) => open(monthFilter(field, value ?? ''))}
          />
        )}
        {divisionsOf(type)
          .slice(0, MOST_CARDS - 2)
          .map((division) => (
            <Bars
              {...common}
              key={division.path}
              division={division}
              onChoose={(slice) => open(sliceFilter(division, slice))}
            />
          ))}
      </Box>
    </Box>
  );
}
