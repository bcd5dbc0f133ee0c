/** Pictures of what a list finds: they follow its filters, and a click filters. */
import { Box } from '@mui/material';
import { useStore } from 'ra-core';
import { Select } from '../app/select.tsx';
import type { TypeInfo } from '../data/model.ts';
import type { Where } from '../data/where.ts';
import { useNodes } from '../lists/use-nodes.ts';
import { useText } from '../texts/texts.ts';
import { ChartGrid } from './chart-grid.tsx';
import { divisionsOf, firstMeasure, isFiltered, measureName, cardsOf, toggled } from './figures.ts';
import { useAmounts } from './use-summary.ts';

const HEAD_HEIGHT = 36;

interface StripProps {
  readonly type: TypeInfo;
  /** Filters and search together. */
  readonly where: Where;
  readonly variant: string | undefined;
}

export default function Strip({ type, where, variant }: StripProps) {
  const say = useText();
  const { nodes, set } = useNodes();
  const known = useAmounts(type, where);
  const amounts = known ?? [];
  const [chosen, choose] = useStore(`${type.path}.measure`, measureName(firstMeasure(type)));
  const measure = amounts.find((field) => measureName(field) === chosen);
  if (known === undefined) return undefined;
  return (
    <>
      {amounts.length > 0 && (
        <Box sx={{ height: HEAD_HEIGHT }}>
          <Select
            variant="standard"
            aria-label={say('charts.measure')}
            value={measureName(measure)}
            onChoose={choose}
            options={[
              ['count', say('charts.count', { types: type.title.many })],
              ...amounts.map((amount) => [measureName(amount), say('charts.sum', { field: amount.title })] as const),
            ]}
            slotProps={{ htmlInput: { 'aria-label': say('charts.measure') }, input: { disableUnderline: true } }}
            sx={{ width: 'auto', '& .MuiSelect-select': { fontSize: '0.875rem', fontWeight: 600 } }}
          />
        </Box>
      )}
      <ChartGrid
        type={type}
        measure={measure}
        where={where}
        divisions={divisionsOf(type, variant).slice(0, cardsOf(type))}
        isChosen={(wanted) => isFiltered(nodes, wanted)}
        onChoose={(wanted) => set(toggled(nodes, wanted))}
      />
    </>
  );
}
