/** The list of a type: found, sorted and paged; its address holds all of it. */
import { Box, Button, LinearProgress, Typography, useMediaQuery } from '@mui/material';
import type { Theme } from '@mui/material/styles';
import { ListContextProvider, useListController, useStore } from 'ra-core';
import { useEffect, useMemo, useState } from 'react';
import { Link, useLocation, useNavigate } from 'react-router-dom';
import { Heading } from '../app/heading.tsx';
import { dialog } from '../app/boundary.tsx';
import { ProblemAlert } from '../app/problem-alert.tsx';
import { keepList } from '../app/kept-lists.ts';
import { useKeys } from '../app/keys.ts';
import { SmallButton } from '../app/small-button.tsx';
import { holdKeys } from '../app/typed-ahead.ts';
import { Late } from '../app/waiting.tsx';
import { AddIcon, ChartIcon } from '../app/icons.tsx';
import { textOfWhere } from '../data/where.ts';
import { chartsHeight } from '../charts/figures.ts';
import { KeyFigures } from '../charts/key-figures.tsx';
import { can, newPath, type TypeInfo, useModel } from '../data/model.ts';
import type { ListFilter, ListMeta, StudioRecord } from '../data/provider.ts';
import { keysIn, sortOf } from '../data/sort.ts';
import { useTotal } from '../data/total.ts';
import { inSentence, useText } from '../texts/texts.ts';
import { useVariant, VariantChoice } from '../app/variant-choice.tsx';
import { SelectedBar } from '../many/selected-bar.tsx';
import { useColumns } from './columns.ts';
import { Filters } from './filters.tsx';
import { ListMenu } from './list-menu.tsx';
import { Pager } from './pager.tsx';
import { RecordTable } from './record-table.tsx';
import { SearchBox } from './search-box.tsx';
import { searchedWhere } from '../data/search.ts';

const Strip = dialog(() => import('../charts/strip.tsx'));

const PER_PAGE = 25;
/** Counting by states takes long beyond these. */
const MOST_COUNTED = 50_000;

export default function ListPage({ type }: { readonly type: TypeInfo }) {
  const say = useText();
  const model = useModel();
  const { search } = useLocation();
  useEffect(() => keepList(type.path, search), [type, search]);
  const variant = useVariant();
  const columns = useColumns(type, variant);
  const meta: ListMeta = { columns: columns.shown.map(({ name }) => name), variant };
  const [size] = useStore('size', PER_PAGE);
  const list = useListController<StudioRecord>({
    resource: type.path,
    perPage: Math.min(size, type.list.maxLimit),
    sort: sortOf(keysIn(type.list.order ?? [])),
    storeKey: false,
    disableAuthentication: true,
    queryOptions: { meta: { ...meta }, onError: () => undefined },
  });
  const { sort, page, filterValues, error, isFetching, refetch, data, hasNextPage } = list;
  const { where: filters = '', q = '' } = filterValues as ListFilter;
  const { where, left } = useMemo(
    () => searchedWhere(model, type, { where: filters, q }, variant),
    [model, type, filters, q, variant],
  );
  const wanted = textOfWhere(where);
  const [counted, setCounted] = useState<string>();
  const total = useTotal({
    type,
    where,
    known: page === 1 && hasNextPage === false ? data?.length : undefined,
    isExact: counted === wanted,
    isWanted: data !== undefined,
  });
  const isWide = useMediaQuery((theme: Theme) => theme.breakpoints.up('sm'), { noSsr: true });
  const [wantsCharts, setCharts] = useStore<boolean | undefined>('charts');
  const height = useMemo(() => chartsHeight(type, variant), [type, variant]);
  const isEmpty = total?.count === 0 && where.length === 0;
  const hasFigures = height > 0 && !isEmpty && isWide;
  const hasCharts = hasFigures && wantsCharts === true;
  const navigate = useNavigate();
  const create = newPath(type);
  const openForm = (): void => {
    // Until the form has the focus.
    holdKeys();
    void navigate(create);
  };
  useKeys({ n: can(type, 'create') ? openForm : undefined });
  const found = { type, where, sort, variant };
  // The selection belongs to the filters under which it was made.
  const [allOf, setAllOf] = useState<string>();
  const all = {
    isSelected: allOf === wanted,
    select: (isSelected: boolean) => setAllOf(isSelected ? wanted : undefined),
  };
  return (
    <ListContextProvider value={list}>
      <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1 }}>
        <Box
          sx={{ flex: { xs: '1 1 100%', sm: '1 1 0' }, minWidth: 0, display: 'flex', alignItems: 'baseline', gap: 1.5 }}
        >
          <Heading text={type.title.many} sx={{ flexShrink: 0, maxWidth: '100%' }} />
          <Typography variant="body2" noWrap title={type.description} sx={{ color: 'text.secondary', minWidth: 0 }}>
            {type.description}
          </Typography>
        </Box>
        <VariantChoice type={type} />
        {can(type, 'create') && (
          <Button variant="contained" startIcon={<AddIcon />} component={Link} to={create}>
            {say('list.create', { type: inSentence(type.title.one) })}
          </Button>
        )}
      </Box>
      <Box sx={BAR}>
        <SearchBox left={left} />
        <Filters type={type} />
        <Box sx={{ display: { xs: 'none', sm: 'block' }, flex: '1 1 0', minWidth: 0 }}>
          {hasFigures && !hasCharts && total !== undefined && total.count < MOST_COUNTED && (
            <KeyFigures type={type} where={where} variant={variant} />
          )}
        </Box>
        <Pager total={total} onCount={() => setCounted(wanted)} />
        {hasFigures && (
          <SmallButton
            text={say(hasCharts ? 'charts.hide' : 'charts.show')}
            Icon={ChartIcon}
            onClick={() => setCharts(!hasCharts)}
          />
        )}
        <ListMenu type={type} columns={columns} found={found} onRefresh={() => void refetch()} />
      </Box>
      <Box sx={{ height: 4 }} role="status" aria-label={isFetching ? say('list.working') : undefined}>
        {isFetching && (
          <Late>
            <LinearProgress aria-hidden />
          </Late>
        )}
      </Box>
      {hasCharts && (
        <Box sx={{ minHeight: height, pb: 1.5, displayPrint: 'none' }}>
          {total !== undefined && <Strip type={type} where={where} variant={variant} />}
        </Box>
      )}
      {error ? <ProblemAlert error={error} onRetry={() => void refetch()} /> : undefined}
      {error && data === undefined ? undefined : <RecordTable type={type} columns={columns} all={all} />}
      <SelectedBar found={found} columns={meta.columns} total={total} all={all} />
    </ListContextProvider>
  );
}

/** It stays in sight while the list is read, below the bar of the studio. */
const BAR = {
  display: 'flex',
  flexWrap: 'wrap',
  alignItems: 'center',
  gap: 1,
  pt: 1,
  pb: 0.5,
  position: { md: 'sticky' },
  top: 56,
  zIndex: 4,
  bgcolor: 'background.default',
} as const;
