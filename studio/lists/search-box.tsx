/** Finds records of a list by words: each of them anywhere in what people see. */
import { IconButton, InputAdornment, TextField } from '@mui/material';
import { useListContext } from 'ra-core';
import { useEffect, useRef, useState } from 'react';
import { CloseIcon, SearchIcon } from '../app/icons.tsx';
import type { ListFilter } from '../data/provider.ts';
import { useText } from '../texts/texts.ts';

const PAUSE_MS = 300;
/** The key `/` leads here. */
export const SEARCH_ID = 'list-search';

interface SearchBoxProps {
  /** Words that there was no room for. */
  readonly left: readonly string[];
}

export function SearchBox({ left }: SearchBoxProps) {
  const say = useText();
  const { filterValues, setFilters } = useListContext();
  const { where, q = '' } = filterValues as ListFilter;
  const [typed, setTyped] = useState(q);
  /** What the address has, or is about to have. */
  const asked = useRef([q]);
  const latest = useRef(where);
  latest.current = where;
  // The address may change by itself, as when a person goes back.
  useEffect(() => {
    const at = asked.current.indexOf(q);
    asked.current = at === -1 ? [q] : asked.current.slice(at);
    if (at === -1) setTyped(q);
  }, [q]);
  useEffect(() => {
    const text = typed.trim();
    if (text === asked.current.at(-1)) return;
    const timer = setTimeout(() => {
      asked.current.push(text);
      setFilters(filterOf({ where: latest.current, q: text }), [], false);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, setFilters]);
  return (
    <TextField
      id={SEARCH_ID}
      value={typed}
      placeholder={say('search.list')}
      onChange={({ target }) => setTyped(target.value)}
      onKeyDown={({ key }) => key === 'Escape' && setTyped('')}
      helperText={left.length > 0 ? say('search.left', { words: left.join(' ') }) : undefined}
      sx={{ flex: { xs: '1 1 11rem', md: '0 1 13.5rem' } }}
      slotProps={{
        htmlInput: { 'aria-label': say('search.list'), enterKeyHint: 'search', dir: 'auto' },
        formHelperText: { role: 'status' },
        input: {
          startAdornment: (
            <InputAdornment position="start">
              <SearchIcon fontSize="small" />
            </InputAdornment>
          ),
          endAdornment: typed !== '' && (
            <IconButton size="small" edge="end" aria-label={say('search.clear')} onClick={() => setTyped('')}>
              <CloseIcon fontSize="small" />
            </IconButton>
          ),
        },
      }}
    />
  );
}

/** Empty filters are left out of the address. */
export const filterOf = ({ where, q }: { readonly where: string | undefined; readonly q: string | undefined }) => ({
  ...(where ? { where } : {}),
  ...(q ? { q } : {}),
});
