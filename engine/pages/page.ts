/** HTML templates, page layout, security policy. */
import type { IRouter, RequestHandler } from 'express';
import { notOffered } from '../problem.ts';

export interface ServiceInfo {
  readonly title: string;
  readonly version: string;
  /** Empty without PUBLIC_URL. */
  readonly publicUrl: string;
  readonly hasStudio: boolean;
  /** Whether `/mcp` is offered. */
  readonly agents: boolean;
  /** Whether requests need a token; pages depend on it. */
  readonly guarded: boolean;
}

export interface Html {
  readonly html: string;
}

type HtmlPart = string | number | Html | readonly Html[];

/** Escapes values that are not HTML. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html => ({
  html: String.raw({ raw: strings }, ...parts.map(filled)),
});

function filled(part: HtmlPart): string {
  if (typeof part !== 'object') return escaped(String(part));
  return 'html' in part ? part.html : part.map((one) => one.html).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);

export const HTML = 'text/html; charset=utf-8';

export const NO_HTML: Html = { html: '' };

/** Paths are relative: a proxy may add a prefix. */
export const layout = ({
  title,
  head,
  body,
}: {
  readonly title: string;
  readonly head: Html;
  readonly body: Html;
}): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${ICON}" />
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html> `.html;

const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='3' fill='%230b6e5f'/><path d='M4 5h8M4 8h8M4 11h5' stroke='white' stroke-width='1.6' stroke-linecap='round'/></svg>";

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

/** Forbids other origins, inline code and frames. */
export const contentPolicy = (own: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ ...DIRECTIVES, ...own })
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ');

/** Serves GET and HEAD, and refuses the rest (405), after all handlers but the last, such as the token check. */
export function readOnly(router: IRouter, path: string, ...serve: RequestHandler[]): void {
  const route = router.route(path);
  for (const before of serve.slice(0, -1)) route.all(before);
  route.get(serve.slice(-1)).all(({ method }) => {
    throw notOffered(method, 'GET, HEAD');
  });
}

/** Files of libraries that the reference loads. */
export const ASSETS = {
  'swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
  'swagger-ui-bundle.js': 'swagger-ui-dist/swagger-ui-bundle.js',
} as const;
