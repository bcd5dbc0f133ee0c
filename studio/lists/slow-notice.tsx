/** Says of a list that takes long why it does, and which index would help. */
import Alert from '@mui/material/Alert';
import { useListContext } from 'ra-core';
import { useEffect, useMemo, useState } from 'react';
import { whereOf } from '../data/where.ts';
import { type TypeInfo, useModel } from '../data/model.ts';
import type { ListFilter } from '../data/provider.ts';
import type { Total } from '../data/total.ts';
import { useText } from '../texts/texts.ts';
import { subjectsOf, termsOf } from './filter-terms.ts';
import { readTree } from '../data/filter-tree.ts';
import { missingIndex } from './missing-index.ts';

const SOON_MS = 1000;
/** So many records take long to sort. */
const LONG = 10_000;

interface SlowNoticeProps {
  readonly type: TypeInfo;
  readonly total: Total | undefined;
}

export function SlowNotice({ type, total }: SlowNoticeProps) {
  const say = useText();
  const model = useModel();
  const { isFetching = false, sort, filterValues } = useListContext();
  const { where = '', q = '' } = filterValues as ListFilter;
  const isLate = useLate(isFetching, `${sort.field} ${where} ${q}`);
  const terms = useMemo(() => termsOf(readTree(whereOf(where)), subjectsOf(model, type)), [model, type, where]);
  // No index helps to find a part of a text.
  const words = q === '' ? missingIndex(type, sort.field, terms) : undefined;
  const isLong = where === '' && words !== undefined && (total?.count ?? 0) > LONG;
  const isPattern = q !== '' || terms.some(({ operator }) => operator === 'like');
  if (!isLate && !isLong) return undefined;
  const reason =
    words === undefined
      ? isPattern
        ? say('list.slow_like')
        : undefined
      : `${say('list.slow')} ${say('list.index', { type: type.type })}`;
  return (
    <Alert severity={isFetching || words === undefined ? 'info' : 'warning'} sx={{ mb: 1 }}>
      {isFetching && `${say('list.working')} `}
      {reason} {words !== undefined && <code>{words}</code>}
    </Alert>
  );
}

/** Whether the list with this key has been read for long, now or before. */
function useLate(isFetching: boolean, key: string): boolean {
  const [late, setLate] = useState<string>();
  useEffect(() => {
    if (!isFetching) return;
    const timer = setTimeout(() => setLate(key), SOON_MS);
    return () => clearTimeout(timer);
  }, [isFetching, key]);
  return late === key;
}
