/** All records that a relation may lead to, page by page: for whoever does not know how the wanted one begins. */
import Box from '@mui/material/Box';
import Button from '@mui/material/Button';
import Dialog from '@mui/material/Dialog';
import DialogActions from '@mui/material/DialogActions';
import DialogContent from '@mui/material/DialogContent';
import DialogTitle from '@mui/material/DialogTitle';
import Link from '@mui/material/Link';
import Table from '@mui/material/Table';
import TableBody from '@mui/material/TableBody';
import TableCell from '@mui/material/TableCell';
import TableContainer from '@mui/material/TableContainer';
import TableHead from '@mui/material/TableHead';
import TableRow from '@mui/material/TableRow';
import TextField from '@mui/material/TextField';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDataProvider } from 'ra-core';
import { useState } from 'react';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { Waiting } from '../app/waiting.tsx';
import { identifierOf, nameOf, type RelationInfo, typeNamed, useModel } from '../data/model.ts';
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
        ) : (
          <TableContainer tabIndex={0} role="region" aria-label={type.title.many}>
            <Table size="small">
              <TableHead>
                <TableRow>
                  <TableCell>{type.title.one}</TableCell>
                  {columns.map((column) => (
                    <TableCell key={column.name} align={isRight(column) ? 'right' : 'left'}>
                      {column.title}
                    </TableCell>
                  ))}
                </TableRow>
              </TableHead>
              <TableBody>
                {data.data.map(({ id, values }) => {
                  const name = nameOf(type, values, relation.label);
                  return (
                    <TableRow key={id} hover>
                      <TableCell>
                        <Link
                          component="button"
                          type="button"
                          disabled={without.includes(id)}
                          onClick={() => onChoose({ id: identifierOf(type, values), name })}
                          sx={{ textAlign: 'start' }}
                        >
                          <bdi>{name}</bdi>
                        </Link>{' '}
                        <Box component="small" sx={{ color: 'text.secondary' }}>
                          {id}
                        </Box>
                      </TableCell>
                      {columns.map((column) => (
                        <TableCell key={column.name} align={isRight(column) ? 'right' : 'left'}>
                          {cell(column, values, false)}
                        </TableCell>
                      ))}
                    </TableRow>
                  );
                })}
              </TableBody>
            </Table>
            {data.data.length === 0 && <Box sx={{ p: 2 }}>{say('picker.none')}</Box>}
          </TableContainer>
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
