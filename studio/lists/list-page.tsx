/** The list of a type: found, sorted and paged; its address holds all of it. */
import Box from '@mui/material/Box';
import Button from '@mui/material/Button';
import IconButton from '@mui/material/IconButton';
import LinearProgress from '@mui/material/LinearProgress';
import Tooltip from '@mui/material/Tooltip';
import Typography from '@mui/material/Typography';
import { ListContextProvider, useListController } from 'ra-core';
import { useEffect, useState } from 'react';
import { Link, useLocation } from 'react-router-dom';
import { Heading } from '../app/heading.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { keepList } from '../app/kept-lists.ts';
import { Late } from '../app/late.tsx';
import { AddIcon, RefreshIcon } from '../app/icons.tsx';
import { textOfWhere, whereOf } from '../data/where.ts';
import { can, type TypeInfo } from '../data/model.ts';
import { listTarget, type ListMeta, type StudioRecord } from '../data/provider.ts';
import { useTotal } from '../data/total.ts';
import { useText } from '../texts/texts.ts';
import { CurlButton } from '../app/curl-button.tsx';
import { useVariant, VariantChoice } from '../app/variant-choice.tsx';
import { ManyButtons } from '../many/many-buttons.tsx';
import { SelectedBar } from '../many/selected-bar.tsx';
import { ColumnsButton } from './columns-button.tsx';
import { useColumns } from './columns.ts';
import { Filters } from './filters.tsx';
import { Pager } from './pager.tsx';
import { RecordTable } from './record-table.tsx';
import { SlowNotice } from './slow-notice.tsx';

const PER_PAGE = 25;

export default function ListPage({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const { search } = useLocation();
  useEffect(() => keepList(type.path, search), [type, search]);
  const variant = useVariant();
  const columns = useColumns(type, variant);
  const meta: ListMeta = { columns: columns.shown.map(({ name }) => name), variant };
  const list = useListController<StudioRecord>({
    resource: type.path,
    perPage: PER_PAGE,
    sort: { field: '', order: 'ASC' },
    storeKey: false,
    disableAuthentication: true,
    queryOptions: { meta: { ...meta }, onError: () => undefined },
  });
  const { sort, page, perPage, filterValues, error, isFetching, refetch, data, hasNextPage } = list;
  const target = listTarget(type, {
    sort,
    filter: filterValues,
    pagination: { page, perPage },
    meta,
  });
  const where = whereOf((filterValues as { readonly where?: string }).where ?? '');
  const [counted, setCounted] = useState<string>();
  const filters = textOfWhere(where);
  const total = useTotal({
    type,
    where,
    known: page === 1 && hasNextPage === false ? data?.length : undefined,
    isExact: counted === filters,
    isWanted: data !== undefined,
  });
  const found = { type, where, sort, variant };
  // What other filters find is not selected.
  const [allOf, setAllOf] = useState<string>();
  const all = {
    isSelected: allOf === filters,
    select: (isSelected: boolean) => setAllOf(isSelected ? filters : undefined),
  };
  return (
    <ListContextProvider value={list}>
      <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, mb: 1 }}>
        <Heading text={type.title.many} sx={{ flexGrow: 1 }} />
        <VariantChoice type={type} />
        <Tooltip title={say('list.refresh')}>
          <IconButton aria-label={say('list.refresh')} onClick={() => void refetch()}>
            <RefreshIcon />
          </IconButton>
        </Tooltip>
        <ColumnsButton columns={columns} />
        <ManyButtons found={found} columns={meta.columns} />
        <CurlButton sent={{ method: 'GET', target }} />
        {can(type, 'create') && (
          <Button variant="contained" startIcon={<AddIcon />} component={Link} to={`/${type.path}/new`}>
            {say('list.create')}
          </Button>
        )}
      </Box>
      {type.description === undefined ? undefined : (
        <Typography variant="body2" sx={{ color: 'text.secondary', mb: 2, maxWidth: '44rem' }}>
          {type.description}
        </Typography>
      )}
      <Filters type={type} />
      <Box sx={{ height: 4 }} role="status" aria-label={isFetching ? say('list.working') : undefined}>
        {isFetching && (
          <Late>
            <LinearProgress aria-hidden />
          </Late>
        )}
      </Box>
      <SlowNotice type={type} total={total} />
      {error ? <ProblemAlert error={error} onRetry={() => void refetch()} /> : undefined}
      {error && data === undefined ? undefined : <RecordTable type={type} columns={columns.shown} all={all} />}
      <SelectedBar found={found} columns={meta.columns} total={total} all={all} />
      <Pager type={type} total={total} onCount={() => setCounted(filters)} />
    </ListContextProvider>
  );
}
