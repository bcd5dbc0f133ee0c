/**
 * Serves the files that browsers load, and the page of the studio. The build has compressed the files; each is sent from
 * memory, so that slow readers share one copy.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { extname, join } from 'node:path';
import type { IRouter, RequestHandler } from 'express';
import { codeOf } from '../files.ts';
import { acceptedCoding, readAnswer } from '../http/answer.ts';
import type { HostSteps } from '../http/handler.ts';
import { entityTag, type Preconditions } from '../operations/operation.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import { ASSETS, contentPolicy, HTML, html, layout, readOnly } from './page.ts';

/** Written by deploy/studio.ts. */
const BUILT = join(PACKAGE_FOLDER, 'dist/studio');

const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Pages have no If-Match. */
export const cacheOf = ({ headers }: IncomingMessage): Preconditions => ({
  ifMatch: undefined,
  ifNoneMatch: headers['if-none-match'],
});

type SendPage = HostSteps['sendPage'];

export function createFileServer(sendPage: SendPage) {
  const kept = new Map<string, { readonly content: Buffer; readonly tag: string }>();

  /** undefined if there is no such file: the studio may have been rebuilt since the service started. */
  async function load(path: string) {
    const known = kept.get(path);
    if (known) return known;
    const content = await readFile(path).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
    });
    if (content === undefined) return undefined;
    const loaded = { content, tag: entityTag(content) };
    kept.set(path, loaded);
    return loaded;
  }

  /** `source`: sent if the file has not been built. */
  return (name: string, cacheControl: string, source?: () => string): RequestHandler =>
    async (request, response, next) => {
      const coding = acceptedCoding(request.get('accept-encoding'));
      const built = await load(join(BUILT, name + (coding === undefined ? '' : EXTENSIONS[coding])));
      const file = built ?? (source === undefined ? undefined : await load(source()));
      if (file === undefined) return next('route');
      const { content, tag } = file;
      const headers = {
        'Cache-Control': cacheControl,
        'Content-Type': MEDIA_TYPES[extname(name)] ?? '',
        Vary: 'Accept-Encoding',
        ...(built === undefined || coding === undefined ? {} : { 'Content-Encoding': coding }),
      };
      await sendPage(readAnswer(cacheOf(request), content, tag, headers), request, response);
    };
}

/** The path of a file of the reference before the build. */
export const sourceOf = (name: string): string => {
  const library = new Map<string, string>(Object.entries(ASSETS)).get(name);
  return library === undefined ? join(PACKAGE_FOLDER, 'engine/pages/public', name) : require.resolve(library);
};

// The studio: its page, and the files built by `deploy/studio.ts`.

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
  { title, imageOrigins }: { readonly title: string; readonly imageOrigins: readonly string[] },
  built: Built,
  sendPage: SendPage,
  serveFile: ReturnType<typeof createFileServer>,
  ...first: readonly RequestHandler[]
): void {
  const page = studioPage(title, imageOrigins, built, sendPage);
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
const policyWith = (nonce: string, imageOrigins: readonly string[]): string =>
  contentPolicy({
    'img-src': ["'self' data:", ...imageOrigins].join(' '),
    'style-src': `'nonce-${nonce}'`,
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  });

/** Shows an error if the studio has not started in 8 seconds. */
const STYLE = `body { margin: 0 } @media (prefers-color-scheme: dark) { body { background: #14181b; color: #e4e7e9 } }
  #studio > p { margin: 4rem; font: 1rem system-ui; visibility: hidden; animation: late 0s 8s forwards }
  @keyframes late { to { visibility: visible } }`;

const studioPage =
  (title: string, imageOrigins: readonly string[], { entry, preload }: Built, sendPage: SendPage): RequestHandler =>
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
      body: html`<div id="studio" data-title="${title}" data-root="${root}" data-images="${imageOrigins.join(' ')}">
          <p>The studio has not loaded. Reload the page; if that does not help, look at the service.</p>
        </div>
        <noscript
          >The studio needs JavaScript. <a href="${root}docs">The reference</a> lists the requests behind it.</noscript
        >`,
    });
    const headers = {
      'Content-Type': HTML,
      'Content-Security-Policy': policyWith(nonce, imageOrigins),
      // A nonce is valid for one response.
      'Cache-Control': 'no-store',
      Vary: 'Accept-Encoding',
    };
    return sendPage({ status: 200, headers, body: page }, request, response);
  };
