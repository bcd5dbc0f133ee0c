/** Addresses for the library of the lists, which writes its queries otherwise. */
import { reactRouterProvider, type RouterProvider } from 'ra-core';
import { createBrowserRouter, type RouteObject } from 'react-router-dom';
import { useMemo } from 'react';
import { addressSearch, formerAddress, COLUMNS, librarySearch, VIEW } from '../data/address.ts';
import { ROOT } from '../data/request.ts';

const BASE = new URL('studio', ROOT).pathname;

/** The browser's address of a page, for links that the router does not make. */
export const hrefOf = (address: string): string => BASE + address;

export function createRouter(routes: RouteObject[]) {
  const former = formerAddress(location.hash);
  if (former !== undefined) history.replaceState(null, '', hrefOf(former === '/' ? '' : former));
  const router = createBrowserRouter(routes, { basename: BASE });
  // A former address may be opened where the studio is already.
  addEventListener('hashchange', () => {
    const opened = formerAddress(location.hash);
    if (opened !== undefined) void router.navigate(opened, { replace: true });
  });
  return router;
}

/** The view and its columns are not a matter of the list, and stay. */
const withView = (search: string): string => {
  const here = new URLSearchParams(location.search);
  const inLibrary = new URLSearchParams(search);
  for (const [name, key] of [
    ['variant', VIEW],
    ['columns', COLUMNS],
  ] as const) {
    const value = here.get(key);
    if (value !== null) inLibrary.set(name, value);
  }
  return addressSearch(inLibrary.toString());
};

export const routerProvider: RouterProvider = {
  ...reactRouterProvider,
  useLocation() {
    const here = reactRouterProvider.useLocation();
    return useMemo(() => ({ ...here, search: librarySearch(here.search) }), [here]);
  },
  useNavigate() {
    const navigate = reactRouterProvider.useNavigate();
    return useMemo(
      () => (to, options) =>
        navigate(
          typeof to === 'object' && to.search !== undefined ? { ...to, search: withView(to.search) } : to,
          options,
        ),
      [navigate],
    );
  },
};
