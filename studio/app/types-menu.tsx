/** The record types that have a list; among many, one is found by typing. */
import { Box, List, ListItem, ListItemButton, ListItemText, ListSubheader, TextField, Typography } from '@mui/material';
import { Fragment, memo, useMemo, useState } from 'react';
import { Link, useLocation } from 'react-router-dom';
import { listAddress } from './kept-lists.ts';
import { useViews } from '../lists/saved-views.ts';
import { menuTypes, useModel } from '../data/model.ts';
import { useTotals } from '../data/total.ts';
import { numberText, useText } from '../texts/texts.ts';

const MANY = 12;

/** The browser neither lays out nor paints what is scrolled out of sight. */
const ROW = { contentVisibility: 'auto', containIntrinsicSize: 'auto 34px' } as const;
const ITEM = { borderRadius: 1.5, minHeight: 34, py: 0.25 } as const;
const VIEW = { ...ITEM, minHeight: 30, paddingInlineStart: 4 } as const;
const COUNT = { color: 'text.secondary', fontVariantNumeric: 'tabular-nums', marginInlineStart: 1 } as const;

export const TypesMenu = memo(() => {
  const say = useText();
  const model = useModel();
  const types = useMemo(() => menuTypes(model), [model]);
  const { totals } = useTotals(types);
  const { pathname } = useLocation();
  const [wanted, setWanted] = useState('');
  const text = wanted.trim().toLowerCase();
  const found = types.filter(({ type, title }) => `${title.many} ${type}`.toLowerCase().includes(text));
  const bySection = found.toSorted((one, other) => (one.section ?? '').localeCompare(other.section ?? ''));
  return (
    <>
      {types.length > MANY && (
        <Box sx={{ px: 1.5, pt: 1.5 }}>
          <TextField
            type="search"
            label={say('app.find_type')}
            value={wanted}
            onChange={({ target }) => setWanted(target.value)}
          />
        </Box>
      )}
      <List dense sx={{ px: 1 }}>
        {types.length > 1 && wanted === '' && <Entry to="/" text={say('app.home')} isHere={pathname === '/'} />}
        {bySection.map((info, index) => {
          const { type, path, title, section } = info;
          const total = totals.get(path);
          const isHere = pathname.split('/')[1] === path;
          return (
            <Fragment key={type}>
              {section !== undefined && section !== bySection[index - 1]?.section && (
                <ListSubheader disableSticky sx={{ lineHeight: 2.4, bgcolor: 'transparent' }}>
                  {section}
                </ListSubheader>
              )}
              <Entry
                to={pathname === `/${path}` ? `/${path}` : listAddress(path)}
                text={title.many}
                isHere={isHere}
                count={total?.count}
              />
              <Views path={path} />
            </Fragment>
          );
        })}
      </List>
      {found.length === 0 && (
        <Typography variant="body2" sx={{ px: 2, color: 'text.secondary' }}>
          {say(types.length === 0 ? 'app.nothing' : 'app.no_type')}
        </Typography>
      )}
    </>
  );
});

/** The saved views of a type, below it. */
function Views({ path }: { readonly path: string }) {
  const [views] = useViews(path);
  const { pathname, search } = useLocation();
  return views.map((view) => (
    <Entry
      key={view.name}
      to={`/${path}${view.search}`}
      text={view.name}
      isHere={pathname === `/${path}` && search === view.search}
      isView
    />
  ));
}

interface EntryProps {
  readonly to: string;
  readonly text: string;
  readonly isHere: boolean;
  readonly count?: number | undefined;
  readonly isView?: boolean;
}

const Entry = ({ to, text, isHere, count, isView = false }: EntryProps) => (
  <ListItem disablePadding sx={ROW}>
    <ListItemButton
      component={Link}
      to={to}
      selected={isHere}
      aria-current={isHere ? 'page' : undefined}
      sx={isView ? VIEW : ITEM}
    >
      <ListItemText primary={text} slotProps={{ primary: { sx: { fontWeight: isHere ? 600 : 400 } } }} />
      {count !== undefined && (
        <Typography variant="body2" component="span" sx={COUNT}>
          {numberText(count)}
        </Typography>
      )}
    </ListItemButton>
  </ListItem>
);
