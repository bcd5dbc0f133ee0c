/** A list without records: why, and what to do about it. */
import { Button, Paper, Typography } from '@mui/material';
import { useListContext } from 'ra-core';
import { Link } from 'react-router-dom';
import { AddIcon } from '../app/icons.tsx';
import { can, newPath, type TypeInfo } from '../data/model.ts';
import type { ListFilter } from '../data/provider.ts';
import { inSentence, useText } from '../texts/texts.ts';

export function EmptyList({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const { filterValues, setFilters } = useListContext();
  const { where, q } = filterValues as ListFilter;
  const isFiltered = Boolean(where ?? q);
  return (
    <Paper variant="outlined" sx={{ display: 'grid', justifyItems: 'center', gap: 1.5, p: 4 }}>
      <Typography>{say(isFiltered ? 'list.none_found' : 'list.empty')}</Typography>
      {isFiltered ? (
        <Button variant="outlined" onClick={() => setFilters({}, [], false)}>
          {say('list.show_all')}
        </Button>
      ) : (
        can(type, 'create') && (
          <Button variant="outlined" startIcon={<AddIcon />} component={Link} to={newPath(type)}>
            {say('list.first_one', { type: inSentence(type.title.one) })}
          </Button>
        )
      )}
    </Paper>
  );
}
