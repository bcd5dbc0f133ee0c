/** Content-Security-Policy: nothing comes from elsewhere, nothing inline runs, no other site frames it. */

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
