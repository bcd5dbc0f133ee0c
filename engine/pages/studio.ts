/** Serves the studio's page, and the files built by `deploy/studio.ts`. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IRouter, RequestHandler } from 'express';
import type { HostSteps } from '../http/handler.ts';
import { BUILT, type createFileServer } from './files.ts';
import { contentPolicy, HTML, html, layout, readOnly } from './page.ts';

interface Senders {
  readonly sendPage: HostSteps['sendPage'];
  readonly serveFile: ReturnType<typeof createFileServer>;
}

interface Built {
  readonly entry: string;
  readonly preload: readonly string[];
}

export function studioBuild(): Built | undefined {
  const manifest = join(BUILT, 'studio.json');
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as Built) : undefined;
}

/** `first` runs before each response. The names of scripts contain a hash of their content. */
export function serveStudio(
  router: IRouter,
  title: string,
  built: Built,
  { sendPage, serveFile }: Senders,
  ...first: readonly RequestHandler[]
): void {
  const page = studioPage(title, built, sendPage);
  readOnly(router, '/studio', ...first, page);
  for (const name of readdirSync(BUILT).filter((file) => file.endsWith('.js')))
    readOnly(router, `/studio/${name}`, ...first, serveFile(name, 'public, max-age=31536000, immutable'));
  readOnly(router, '/studio/*address', ...first, (request, response, next) => {
    // Files of a former build are no paths in the studio.
    if (FILE.test(request.path)) next('route');
    else page(request, response, next);
  });
}

const FILE = /^\/studio\/[^/]+\.(?:js|json|map)$/;

/** The libraries create style elements, which need the nonce. Scripts cannot write HTML into the page. */
const policyWith = (nonce: string): string =>
  contentPolicy({
    'style-src': `'nonce-${nonce}'`,
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  });

/** Shows an error if the studio has not started in 8 seconds. */
const STYLE = `body { margin: 0 } @media (prefers-color-scheme: dark) { body { background: #14181b; color: #e4e7e9 } }
  #studio > p { margin: 4rem; font: 1rem system-ui; visibility: hidden; animation: late 0s 8s forwards }
  @keyframes late { to { visibility: visible } }`;

const studioPage =
  (title: string, { entry, preload }: Built, sendPage: Senders['sendPage']): RequestHandler =>
  (request, response) => {
    const { path } = request;
    // The prefix of the service is unknown; the depth below it is known.
    const root = '../'.repeat(path.split('/').length - 2) || './';
    const nonce = randomBytes(16).toString('base64');
    const page = layout({
      title,
      head: html`<style nonce="${nonce}">
          ${STYLE}
        </style>
        <script type="module" src="${root}studio/${entry}"></script>
        ${preload.map((name) => html`<link rel="modulepreload" href="${root}studio/${name}" />`)}`,
      body: html`<div id="studio" data-title="${title}" data-root="${root}">
          <p>The studio has not loaded. Reload the page; if that does not help, look at the service.</p>
        </div>
        <noscript
          >The studio needs JavaScript. <a href="${root}docs">The reference</a> lists the requests behind it.</noscript
        >`,
    });
    const headers = {
      'Content-Type': HTML,
      'Content-Security-Policy': policyWith(nonce),
      // A nonce is valid for one response.
      'Cache-Control': 'no-store',
      Vary: 'Accept-Encoding',
    };
    return sendPage({ status: 200, headers, body: page }, request, response);
  };
