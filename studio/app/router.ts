/** Addresses for the library of the lists, which writes its queries otherwise. */
import { reactRouterProvider, type RouterProvider } from 'ra-core';
import { createBrowserRouter, type RouteObject } from 'react-router-dom';
import { useMemo } from 'react';
import { addressSearch, COLUMNS, librarySearch, VIEW } from '../data/address.ts';
import { ROOT } from '../data/request.ts';

const BASE = new URL('studio', ROOT).pathname;

/** The browser's address of a page, for links that the router does not make. */
export const hrefOf = (address: string): string => BASE + address;

export const createRouter = (routes: RouteObject[]) => createBrowserRouter(routes, { basename: BASE });

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
