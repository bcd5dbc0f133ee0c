/** Serves the studio's page, and the files built by `deploy/studio.ts`. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IRouter, RequestHandler } from 'express';
import { acceptedCoding } from '../http/answer.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import { contentPolicy, html, layout, readOnly } from './page.ts';

const FOLDER = join(PACKAGE_FOLDER, 'dist/studio');

interface Built {
  readonly entry: string;
  readonly preload: readonly string[];
}

export function studioBuild(): Built | undefined {
  const manifest = join(FOLDER, 'studio.json');
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as Built) : undefined;
}

/** `first` runs before each response. */
export function serveStudio(router: IRouter, title: string, built: Built, ...first: readonly RequestHandler[]): void {
  const page = sendPage(title, built);
  readOnly(router, '/studio', ...first, page);
  for (const name of readdirSync(FOLDER).filter((file) => file.endsWith('.js')))
    readOnly(router, `/studio/${name}`, ...first, sendScript(name));
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

const sendPage =
  (title: string, { entry, preload }: Built): RequestHandler =>
  ({ path }, response) => {
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
    // A nonce is valid for one response.
    response.set({ 'Content-Security-Policy': policyWith(nonce), 'Cache-Control': 'no-store' });
    response.type('html').send(page);
  };

const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;

/** Names contain a content hash; the build has compressed the files. */
const sendScript =
  (name: string): RequestHandler =>
  (request, response, next) => {
    const coding = acceptedCoding(request.get('accept-encoding'));
    const file = join(FOLDER, name + (coding === undefined ? '' : EXTENSIONS[coding]));
    // The studio has been rebuilt since the service started.
    if (!existsSync(file)) return next('route');
    if (coding !== undefined) response.set('Content-Encoding', coding);
    response.vary('Accept-Encoding').type('text/javascript; charset=utf-8');
    response.sendFile(file, { dotfiles: 'allow', immutable: true, maxAge: '365d' }, next);
  };
