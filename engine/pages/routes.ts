/** How paths are served that can only be read: one way for pages, health and metrics. */
import type { RequestHandler, Router, RouterOptions } from 'express';
import { Problem } from '../problem.ts';

/** Paths mean what they say: neither case nor a slash at the end is ignored. */
export const STRICT: RouterOptions = { caseSensitive: true, strict: true };

const METHODS = 'GET, HEAD';

/** Serves GET, from which Express makes HEAD, and refuses every other method. */
export function readOnly(router: Router, path: string, serve: RequestHandler): void {
  router.route(path).get(serve).all(refuseMethod);
}

const refuseMethod: RequestHandler = ({ method }) => {
  throw new Problem('method-not-allowed', `${method} is not offered here; ${METHODS} are`, {
    headers: { Allow: METHODS },
  });
};
