/** The frame of every page: the bar at the top, and the record types at the side. */
import { AppBar, Box, Button, Drawer, IconButton, Link, Toolbar, useMediaQuery } from '@mui/material';
import type { Theme } from '@mui/material/styles';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link as RouterLink, useLocation } from 'react-router-dom';
import { useText } from '../texts/texts.ts';
import { SEARCH_ID } from '../lists/search-box.tsx';
import { dialog } from './boundary.tsx';
import { MenuIcon, SearchIcon } from './icons.tsx';
import { MOD, useKeys } from './keys.ts';
import { SettingsMenu } from './settings-menu.tsx';
import { TypesMenu } from './types-menu.tsx';

const KeysDialog = dialog(() => import('./keys-dialog.tsx'));
const loadPalette = () => import('./palette-dialog.tsx');
const PaletteDialog = dialog(loadPalette);
/** The palette is loaded ahead, after everything that the page needs, because people type as soon as it opens. */
const PALETTE_MS = 3000;

const MENU_WIDTH = 264;

interface FrameProps {
  readonly title: string;
  readonly onLeave: () => void;
  readonly children: ReactNode;
}

export function Frame({ title, onLeave, children }: FrameProps) {
  const say = useText();
  const isWide = useMediaQuery((theme: Theme) => theme.breakpoints.up('md'), { noSsr: true });
  const [isOpen, setOpen] = useState(false);
  const [isHelping, setHelping] = useState(false);
  const [isSearching, setSearching] = useState(false);
  const search = (): void => setSearching(true);
  useKeys({
    'mod+k': search,
    '?': () => setHelping(true),
    '/': () => document.getElementById(SEARCH_ID)?.focus(),
  });
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette().catch(() => undefined), PALETTE_MS);
    return () => clearTimeout(timer);
  }, []);
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const seen = useRef(pathname);
  useEffect(() => {
    setOpen(false);
    if (seen.current === pathname) return;
    seen.current = pathname;
    // Like a new document: the page begins at the top, and screen readers begin with the new content.
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [pathname]);
  const skip = (event: React.MouseEvent): void => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <Box sx={{ display: 'flex', minHeight: '100vh' }}>
      <Link
        href="#main"
        onClick={skip}
        sx={{
          position: 'fixed',
          insetBlockStart: -100,
          insetInlineStart: 8,
          zIndex: 'tooltip',
          bgcolor: 'background.paper',
          p: 1,
          '&:focus': { insetBlockStart: 8 },
        }}
      >
        {say('app.skip')}
      </Link>
      <AppBar
        position="fixed"
        color="inherit"
        elevation={0}
        sx={{ borderBottom: 1, borderColor: 'divider', zIndex: (theme) => theme.zIndex.drawer + 1 }}
      >
        <Toolbar variant="dense" sx={{ gap: 1, minHeight: 56 }}>
          {isWide ? undefined : (
            <IconButton edge="start" aria-label={say('app.open_menu')} onClick={() => setOpen(true)}>
              <MenuIcon />
            </IconButton>
          )}
          <Link
            component={RouterLink}
            to="/"
            underline="none"
            noWrap
            sx={{ color: 'text.primary', fontWeight: 650, fontSize: '1.05rem', flexGrow: 1, minWidth: 0 }}
          >
            {title}
          </Link>
          {isWide ? (
            <Button
              color="inherit"
              variant="outlined"
              startIcon={<SearchIcon />}
              onClick={search}
              sx={{ color: 'text.secondary', borderColor: 'divider', fontWeight: 400, minWidth: 260 }}
            >
              {say('search.all')}
              <Box
                component="kbd"
                sx={{ marginInlineStart: 'auto', paddingInlineStart: 2, font: 'inherit', fontSize: '0.8em' }}
              >
                {`${MOD}K`}
              </Box>
            </Button>
          ) : (
            <IconButton aria-label={say('search.all')} onClick={search}>
              <SearchIcon />
            </IconButton>
          )}
          <SettingsMenu onLeave={onLeave} onKeys={() => setHelping(true)} />
        </Toolbar>
      </AppBar>
      <Drawer
        variant={isWide ? 'permanent' : 'temporary'}
        open={isWide || isOpen}
        onClose={() => setOpen(false)}
        ModalProps={{ keepMounted: true }}
        slotProps={{ paper: { component: 'nav', 'aria-label': say('app.menu') } }}
        sx={{
          width: isWide ? MENU_WIDTH : undefined,
          flexShrink: 0,
          '& .MuiDrawer-paper': { width: MENU_WIDTH, borderInlineEndColor: 'divider' },
        }}
      >
        <Toolbar variant="dense" sx={{ minHeight: 56 }} />
        <TypesMenu />
      </Drawer>
      <Box
        component="main"
        id="main"
        ref={main}
        tabIndex={-1}
        sx={{ flexGrow: 1, minWidth: 0, px: { xs: 2, sm: 3 }, py: 3, mt: 7, outline: 'none' }}
      >
        {children}
      </Box>
      {isHelping && <KeysDialog onClose={() => setHelping(false)} />}
      {isSearching && <PaletteDialog onClose={() => setSearching(false)} onKeys={() => setHelping(true)} />}
    </Box>
  );
}
