/** The studio, in which people browse and edit records: its page, and the files that `deploy/studio.ts` builds. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IRouter, RequestHandler } from 'express';
import { acceptedCoding } from '../http/answer.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import { Problem } from '../problem.ts';
import { contentPolicy, html, layout, readOnly } from './page.ts';

/** In a clone and in the published package. */
const FOLDER = join(PACKAGE_FOLDER, 'dist/studio');

interface Built {
  readonly entry: string;
  readonly preload: readonly string[];
}

export function studioBuild(): Built | undefined {
  const manifest = join(FOLDER, 'studio.json');
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as Built) : undefined;
}

/** `first` runs before each answer. */
export function serveStudio(router: IRouter, title: string, built: Built, ...first: readonly RequestHandler[]): void {
  const page = sendPage(title, built);
  readOnly(router, '/studio', ...first, page);
  for (const name of readdirSync(FOLDER).filter((file) => file.endsWith('.js')))
    readOnly(router, `/studio/${name}`, ...first, sendScript(name));
  readOnly(router, '/studio/*address', ...first, (request, response, next) => {
    // A file of a former build is no address within the studio.
    if (FILE.test(request.path)) missing();
    return page(request, response, next);
  });
}

const FILE = /^\/studio\/[^/]+\.(?:js|json|map)$/;

/**
 * Style elements need the nonce of the response that they are in; the libraries of the studio make them while it runs.
 * Scripts cannot write HTML into the page.
 */
const policyWith = (nonce: string): string =>
  contentPolicy({
    'style-src': `'nonce-${nonce}'`,
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  });

/** The style until the studio has started. Its page says so if that takes long, or fails. */
const STYLE = `body { margin: 0 } @media (prefers-color-scheme: dark) { body { background: #14181b; color: #e4e7e9 } }
  #studio > p { margin: 4rem; font: 1rem system-ui; visibility: hidden; animation: late 0s 8s forwards }
  @keyframes late { to { visibility: visible } }`;

const sendPage =
  (title: string, { entry, preload }: Built): RequestHandler =>
  ({ path }, response) => {
    // A service behind a prefix does not know it; how deep a page is below the service, it knows.
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
    // The nonce is good for one response.
    response.set({ 'Content-Security-Policy': policyWith(nonce), 'Cache-Control': 'no-store' });
    response.type('html').send(page);
  };

const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;

/** A service that runs on while the studio is built again has lost the files that it has not read yet. */
function missing(): never {
  throw new Problem('path-not-found', 'The studio was built again since the service started; restart the service');
}

/** The build has compressed them. Their names change with what is in them. */
const sendScript =
  (name: string): RequestHandler =>
  (request, response, next) => {
    const coding = acceptedCoding(request.get('accept-encoding'));
    const file = join(FOLDER, name + (coding === undefined ? '' : EXTENSIONS[coding]));
    if (!existsSync(file)) missing();
    if (coding !== undefined) response.set('Content-Encoding', coding);
    response.vary('Accept-Encoding').type('text/javascript; charset=utf-8');
    response.sendFile(file, { dotfiles: 'allow', immutable: true, maxAge: '365d' }, next);
  };
