/** The charts of a list, folded to one line: how many records have which state. */
import { Box, Chip } from '@mui/material';
import type { TypeInfo } from '../data/model.ts';
import type { Where } from '../data/where.ts';
import { useNodes } from '../lists/use-nodes.ts';
import { numberText } from '../texts/texts.ts';
import { divisionsOf, isFiltered, sliceFilter, toggled } from './figures.ts';
import { useSlices } from './use-summary.ts';

interface KeyFiguresProps {
  readonly type: TypeInfo;
  readonly where: Where;
  readonly variant: string | undefined;
}

export function KeyFigures({ type, where, variant }: KeyFiguresProps) {
  const { nodes, set } = useNodes();
  const division = divisionsOf(type, variant).find(({ relation }) => relation === undefined);
  const { slices } = useSlices(type, division, undefined, where);
  if (division === undefined) return undefined;
  return (
    <Box role="group" aria-label={division.title} sx={FIGURES}>
      {slices?.map((slice, index) => {
        const filter = sliceFilter(division, slice);
        const isOn = isFiltered(nodes, filter);
        return (
          <Chip
            key={slice.value}
            size="small"
            variant={isOn ? 'filled' : 'outlined'}
            aria-pressed={isOn}
            tabIndex={index === 0 ? 0 : -1}
            label={`${division.field?.type === 'boolean' ? `${division.title}: ` : ''}${slice.name} ${numberText(slice.count)}`}
            onClick={() => set(toggled(nodes, filter))}
          />
        );
      })}
    </Box>
  );
}

/** On one line; what has no room there as a whole is left out. */
const FIGURES = {
  display: 'flex',
  flexWrap: 'wrap',
  columnGap: 0.5,
  rowGap: 1,
  height: 24,
  overflow: 'hidden',
  // The first one, too, goes to the next line, which is not seen, where it would be cut.
  '&::before': { content: '""', height: 24, marginInlineStart: -0.5 },
  '& > .MuiChip-root': { maxWidth: 'none' },
} as const;
