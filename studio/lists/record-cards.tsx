/** The records of a page of a list on a phone: a card for each. */
import { Box, Card, CardActionArea, Checkbox, Typography } from '@mui/material';
import { useListContext } from 'ra-core';
import { Link } from 'react-router-dom';
import { Waiting } from '../app/waiting.tsx';
import { useVariant } from '../app/variant-choice.tsx';
import { textOf } from '../data/json.ts';
import { can, nameOf, recordPath, type TypeInfo } from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { type AllFound, isSelectable } from '../many/selected-bar.tsx';
import { useText } from '../texts/texts.ts';
import type { ColumnInfo } from './columns.ts';
import { EmptyList } from './empty-list.tsx';
import { cell } from './record-table.tsx';

interface RecordCardsProps {
  readonly type: TypeInfo;
  readonly columns: readonly ColumnInfo[];
  readonly all: AllFound;
}

export function RecordCards({ type, columns, all }: RecordCardsProps) {
  const say = useText();
  const variant = useVariant();
  const { data, selectedIds, onToggleItem } = useListContext<StudioRecord>();
  if (data === undefined) return <Waiting />;
  if (data.length === 0) return <EmptyList type={type} />;
  const shown = columns.filter(({ kind, name }) => kind !== 'identifier' && name !== type.label);
  return (
    <Box component="ul" aria-label={type.title.many} sx={{ listStyle: 'none', p: 0, m: 0, display: 'grid', gap: 1 }}>
      {data.map(({ id, values }) => {
        const content = (
          <>
            <Typography component="h2" sx={{ fontWeight: 600, overflowWrap: 'anywhere', paddingInlineEnd: 4 }}>
              <bdi>{nameOf(type, values)}</bdi>{' '}
              {type.label !== null && (
                <Typography variant="body2" component="span" sx={{ color: 'text.secondary', marginInlineStart: 0.5 }}>
                  {id}
                </Typography>
              )}
            </Typography>
            <Box component="dl" sx={LINES}>
              {shown
                .filter(({ name }) => textOf(values[name]) !== '')
                .map((column) => (
                  <Box key={column.name}>
                    <Typography variant="caption" component="dt" sx={{ color: 'text.secondary' }}>
                      {column.title}
                    </Typography>
                    <Typography variant="body2" component="dd" noWrap sx={{ m: 0 }}>
                      {cell(column, values, false)}
                    </Typography>
                  </Box>
                ))}
            </Box>
          </>
        );
        return (
          <Card key={id} component="li" variant="outlined" sx={{ position: 'relative' }}>
            {isSelectable(type) && (
              <Checkbox
                checked={all.isSelected || selectedIds.includes(id)}
                disabled={all.isSelected}
                onChange={() => onToggleItem(id)}
                slotProps={{ input: { 'aria-label': say('many.select', { name: nameOf(type, values) }) } }}
                sx={{ position: 'absolute', insetBlockStart: 0, insetInlineEnd: 0, zIndex: 1 }}
              />
            )}
            {can(type, 'get') ? (
              <CardActionArea component={Link} to={recordPath(type, id, variant)} sx={{ p: 1.5, display: 'block' }}>
                {content}
              </CardActionArea>
            ) : (
              <Box sx={{ p: 1.5 }}>{content}</Box>
            )}
          </Card>
        );
      })}
    </Box>
  );
}

const LINES = {
  display: 'grid',
  gridTemplateColumns: 'repeat(2, minmax(0, 1fr))',
  gap: '0.25rem 1rem',
  m: 0,
  mt: 0.5,
} as const;
