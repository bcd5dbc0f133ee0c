/** All records that a relation may lead to, page by page: for whoever does not know how the wanted one begins. */
import { Box, Button, Dialog, DialogActions, DialogContent, DialogTitle, Link, TextField } from '@mui/material';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDataProvider } from 'ra-core';
import { Fragment, useState } from 'react';
import { PlainTable } from '../app/plain-table.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import { nameOf, type RelationInfo, typeNamed, useModel } from '../data/model.ts';
import type { StudioRecord } from '../data/provider.ts';
import { columnsOf, isRight } from '../lists/columns.ts';
import { cell } from '../lists/record-table.tsx';
import { useText } from '../texts/texts.ts';
import { usePaused } from './paused.ts';
import type { Choice } from './search.ts';

interface BrowseDialogProps {
  readonly relation: RelationInfo;
  readonly without: readonly string[];
  readonly onClose: () => void;
  readonly onChoose: (choice: Choice) => void;
}

const PER_PAGE = 10;
const MOST_COLUMNS = 5;

export default function BrowseDialog({ relation, without, onClose, onChoose }: BrowseDialogProps) {
  const say = useText();
  const type = typeNamed(useModel(), relation.type);
  const provider = useDataProvider();
  const [typed, setTyped] = useState('');
  const [page, setPage] = useState(1);
  const q = usePaused(typed.trim());
  const hidden = new Set([relation.label, type.identifier.name]);
  const columns = columnsOf(type)
    .filter(({ name }) => !hidden.has(name))
    .slice(0, MOST_COLUMNS);
  const shown = [...(relation.label === null ? [] : [relation.label]), ...columns.map(({ name }) => name)];
  const { data, error, refetch } = useQuery({
    queryKey: [type.path, 'browse', q, page],
    queryFn: ({ signal }) =>
      provider.getList<StudioRecord>(type.path, {
        pagination: { page, perPage: PER_PAGE },
        filter: q === '' ? {} : { q },
        meta: { columns: shown },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="md" aria-labelledby="browse-title">
      <DialogTitle id="browse-title">{relation.title}</DialogTitle>
      <DialogContent sx={{ display: 'grid', gap: 1.5, pt: '8px !important' }}>
        <TextField
          autoFocus
          value={typed}
          placeholder={say('search.list')}
          onChange={({ target }) => {
            setTyped(target.value);
            setPage(1);
          }}
          slotProps={{ htmlInput: { 'aria-label': say('search.list') } }}
        />
        {error !== null && <ProblemAlert error={error} onRetry={() => void refetch()} />}
        {data === undefined ? (
          <Waiting />
        ) : data.data.length === 0 ? (
          <Box>{say('picker.none')}</Box>
        ) : (
          <PlainTable
            isNarrow
            label={type.title.many}
            heads={[
              { key: '', title: type.title.one },
              ...columns.map((column) => ({ key: column.name, title: column.title, isRight: isRight(column) })),
            ]}
            rows={data.data.map(({ id, values }) => {
              const name = nameOf(type, values, relation.label);
              return {
                key: id,
                cells: [
                  <Fragment key="">
                    <Link
                      component="button"
                      type="button"
                      disabled={without.includes(id)}
                      onClick={() => onChoose({ id, name })}
                    >
                      <bdi>{name}</bdi>
                    </Link>{' '}
                    <Box component="small" sx={{ color: 'text.secondary' }}>
                      {id}
                    </Box>
                  </Fragment>,
                  ...columns.map((column) => cell(column, values, false)),
                ],
              };
            })}
          />
        )}
      </DialogContent>
      <DialogActions>
        <Button color="inherit" disabled={page === 1} onClick={() => setPage(page - 1)}>
          {say('list.previous')}
        </Button>
        <Button color="inherit" disabled={data?.pageInfo?.hasNextPage !== true} onClick={() => setPage(page + 1)}>
          {say('list.next')}
        </Button>
        <Button color="inherit" onClick={onClose}>
          {say('filter.cancel')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
