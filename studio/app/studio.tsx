/** The studio as a whole: languages, colours, the model that the token sees, and the pages. */
import createCache from '@emotion/cache';
import { CacheProvider } from '@emotion/react';
import { Alert, CssBaseline, useMediaQuery } from '@mui/material';
import { ThemeProvider } from '@mui/material/styles';
import { QueryClient } from '@tanstack/react-query';
import { CoreAdminContext, useLocaleState, useStore } from 'ra-core';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { RouterProvider } from 'react-router-dom';
import { isSupported } from '../data/json.ts';
import { type StudioModel, ModelProvider } from '../data/model.ts';
import { createProvider } from '../data/provider.ts';
import { createTexts, LANGUAGES, localeOf, preferredLanguage, useText } from '../texts/texts.ts';
import { Entrance } from './entrance.tsx';
import { Notices } from './notices.tsx';
import { Pages } from './pages.tsx';
import { createRouter, routerProvider } from './router.ts';
import { store } from './store.ts';
import { themeFor } from './theme.ts';

interface StudioProps {
  readonly title: string;
  /** The nonce of the page's style elements. */
  readonly nonce: string;
  /** The text of the document, asked for while the scripts were read. */
  readonly asked: Promise<string>;
}

export type Appearance = 'system' | 'light' | 'dark';

const texts = createTexts();

export function Studio(props: StudioProps) {
  // The library would make another one whenever what is around it is rendered.
  const [router] = useState(() => createRouter([{ path: '*', element: <Opened {...props} /> }]));
  return <RouterProvider router={router} />;
}

function Opened({ title, nonce, asked }: StudioProps) {
  const [model, setModel] = useState<StudioModel>();
  const [hasLeft, setLeft] = useState(false);
  const leave = (): void => {
    setLeft(true);
    setModel(undefined);
  };
  const provider = useMemo(() => (model === undefined ? undefined : createProvider(model)), [model]);
  const queries = useMemo(() => (model === undefined ? undefined : createQueries()), [model]);
  return (
    <CoreAdminContext
      i18nProvider={texts}
      store={store}
      routerProvider={routerProvider}
      {...(provider === undefined ? {} : { dataProvider: provider })}
      {...(queries === undefined ? {} : { queryClient: queries })}
    >
      <Look nonce={nonce}>
        <Notices />
        {!isSupported() ? (
          <TooOld />
        ) : model === undefined ? (
          <Entrance title={title} asked={hasLeft ? undefined : asked} onModel={setModel} />
        ) : (
          <ModelProvider value={model}>
            <Pages title={title} onLeave={leave} />
          </ModelProvider>
        )}
      </Look>
    </CoreAdminContext>
  );
}

/** The cache is forgotten with its token. Values that are not plain data are kept as they are. */
const createQueries = (): QueryClient =>
  new QueryClient({
    // Offline, a request fails at once and says so; what was read before stays in sight.
    defaultOptions: {
      queries: { retry: false, refetchOnWindowFocus: true, structuralSharing: false, networkMode: 'always' },
      mutations: { networkMode: 'always' },
    },
  });

interface LookProps {
  readonly nonce: string;
  readonly children: ReactNode;
}

function Look({ nonce, children }: LookProps) {
  const [locale] = useLocaleState();
  const [appearance] = useStore<Appearance>('appearance', 'system');
  const isSystemDark = useMediaQuery('(prefers-color-scheme: dark)', { noSsr: true });
  const mode = appearance === 'system' ? (isSystemDark ? 'dark' : 'light') : appearance;
  const language = locale in LANGUAGES ? locale : preferredLanguage();
  const cache = useMemo(() => createCache({ key: 'studio', nonce }), [nonce]);
  const theme = useMemo(() => themeFor(mode), [mode]);
  useEffect(() => {
    document.documentElement.lang = localeOf(language);
  }, [language]);
  return (
    <CacheProvider value={cache}>
      <ThemeProvider theme={theme}>
        <CssBaseline enableColorScheme />
        {children}
      </ThemeProvider>
    </CacheProvider>
  );
}

function TooOld() {
  const say = useText();
  return <Alert severity="error">{say('app.old_browser')}</Alert>;
}
