/** The charts of the home page. A click leads to the list of those records. */
import { Box, Link, Typography } from '@mui/material';
import { Link as RouterLink, useNavigate } from 'react-router-dom';
import { listSearch } from '../data/address.ts';
import type { TypeInfo } from '../data/model.ts';
import { textOfWhere, type Where } from '../data/where.ts';
import { writeTree } from '../data/filter-tree.ts';
import { ChartGrid } from './chart-grid.tsx';
import { divisionsOf, firstMeasure, MOST_CARDS } from './figures.ts';
import { useAmounts } from './use-summary.ts';

/** No filter. */
const ALL: Where = [];

export default function HomeCharts({ type }: { readonly type: TypeInfo }) {
  const navigate = useNavigate();
  const amounts = useAmounts(type, ALL);
  return (
    <Box component="section" aria-label={type.title.many} sx={{ mt: 3 }}>
      <Typography variant="h2" sx={{ mb: 1 }}>
        <Link component={RouterLink} to={`/${type.path}`} color="inherit" underline="hover">
          {type.title.many}
        </Link>
      </Typography>
      {amounts !== undefined && (
        <ChartGrid
          type={type}
          measure={firstMeasure(type, amounts)}
          where={ALL}
          divisions={divisionsOf(type).slice(0, MOST_CARDS - 2)}
          isChosen={() => false}
          onChoose={(nodes) => void navigate(`/${type.path}${listSearch(textOfWhere(writeTree(nodes)))}`)}
        />
      )}
    </Box>
  );
}
