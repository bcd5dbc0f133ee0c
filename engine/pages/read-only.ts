/** Serves paths that can only be read: pages, health and metrics. */
import type { IRouter, RequestHandler } from 'express';
import { Problem } from '../problem.ts';

const METHODS = 'GET, HEAD';

/** Serves GET, from which Express makes HEAD, and refuses every other method. */
export function readOnly(router: IRouter, path: string, ...serve: RequestHandler[]): void {
  router
    .route(path)
    .get(...serve)
    .all(refuseMethod);
}

const refuseMethod: RequestHandler = ({ method }) => {
  throw new Problem('method-not-allowed', `${method} is not offered here; ${METHODS} are`, {
    headers: { Allow: METHODS },
  });
};
