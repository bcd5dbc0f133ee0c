/** Serves paths that can only be read, such as pages, health and metrics, and the policy for what a page may load. */
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

// Content-Security-Policy: nothing comes from elsewhere, nothing inline runs, no other site frames it.

const DIRECTIVES = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
} as const;

/** `own`: what a page has otherwise, or besides. */
export const contentPolicy = (own: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ ...DIRECTIVES, ...own })
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ');
