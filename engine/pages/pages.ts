/** Everything that people read: start page, reference, guide, and the OpenAPI document. Each is made when it is first asked for. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RequestHandler } from 'express';
import { stringify } from 'yaml';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createDocument, secured } from '../openapi/document.ts';
import { Problem } from '../problem.ts';
import { diagramOf, draw } from './diagram.ts';
import { docsPage, REFERENCE_SCRIPT, REFERENCE_STYLE, TOKEN_SCRIPT } from './docs-page.ts';
import { html, layout, SECURITY_HEADERS, STYLE } from './layout.ts';
import { type Described, startPage } from './start-page.ts';
import { acceptedCoding, type Coding, compress } from '../http/negotiation.ts';
import { entityTag, matchesWeakly } from '../http/conditions.ts';
import { markdownToHtml } from './markdown.ts';

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/** A picture of more types than these is no help, and takes long to draw. */
const MAX_DRAWN = 60;

const fromSwagger = (file: string) => (): Promise<string> =>
  readFile(join(dirname(require.resolve('swagger-ui-dist/package.json')), file), 'utf8');

/** What the maintainers of the descriptors tell the authors of clients, if anything. */
const GUIDE = 'CLIENTS.md';

export interface PagesOptions extends Omit<Described, 'hasGuide'> {
  readonly schemaDirectory: string;
}

function contents(options: PagesOptions): Readonly<Record<string, TextPage>> {
  const { model, title, schemaDirectory, guarded = false } = options;
  const guide = join(schemaDirectory, GUIDE);
  // It speaks of every type, and not everybody may know of them.
  const hasGuide = !guarded && existsSync(guide);
  const service = { ...options, hasGuide };
  let document: ReturnType<typeof createDocument> | undefined;
  const openApi = () => (document ??= secured(createDocument(model, service), guarded));
  const diagram = async (): Promise<string | undefined> =>
    model.types.size > MAX_DRAWN ? undefined : draw(diagramOf(model));
  return {
    '/': { mediaType: HTML, make: async () => startPage(service, await diagram()) },
    '/docs': { mediaType: HTML, make: () => docsPage(title, guarded) },
    ...(hasGuide
      ? { '/docs/clients': { mediaType: HTML, make: async () => guidePage(title, await readFile(guide, 'utf8')) } }
      : {}),
    '/docs/style.css': { mediaType: CSS, make: () => STYLE },
    '/docs/reference.css': { mediaType: CSS, make: () => REFERENCE_STYLE },
    '/docs/reference.js': { mediaType: SCRIPT, make: () => REFERENCE_SCRIPT },
    ...(guarded ? { '/docs/token.js': { mediaType: SCRIPT, make: () => TOKEN_SCRIPT } } : {}),
    '/docs/swagger-ui.css': { mediaType: CSS, make: fromSwagger('swagger-ui.css') },
    '/docs/swagger-ui-bundle.js': { mediaType: SCRIPT, make: fromSwagger('swagger-ui-bundle.js') },
    '/openapi.json': { mediaType: 'application/json', make: () => JSON.stringify(openApi()) },
    // Each value is written out where it stands: anchors would save little, and few readers know them.
    '/openapi.yaml': {
      mediaType: 'application/yaml',
      make: () => stringify(openApi(), { aliasDuplicateObjects: false }),
    },
  };
}

const METHODS = 'GET, HEAD';

const refusedMethod = (method: string): Problem =>
  new Problem('method-not-allowed', `${method} is not offered here; ${METHODS} are`, { headers: { Allow: METHODS } });

/** The page without the slash at the end of its path. The links of pages are relative: there they lead elsewhere. */
const toPage: Send = async ({ url = '' }, response) => {
  const [, name = '', query = ''] = /([^/?]+)\/(\?.*)?$/.exec(url) ?? [];
  response.writeHead(308, { ...SECURITY_HEADERS, Location: `../${name}${query}`, 'Content-Length': 0 }).end();
};

/** What is not among the pages is handed on. */
export function createPages(options: PagesOptions): RequestHandler {
  const vary = options.guarded ? 'Accept-Encoding, Authorization' : 'Accept-Encoding';
  const pages: ReadonlyMap<string, Send> = new Map(
    Object.entries(contents(options)).map(([path, page]) => [path, textSender(page, vary)]),
  );
  const sendAt = (path: string): Send | undefined =>
    pages.get(path) ?? (path.length > 2 && path.endsWith('/') && pages.has(path.slice(0, -1)) ? toPage : undefined);
  return async (request, response, next) => {
    const send = sendAt(request.path);
    if (send === undefined) next();
    else if (METHODS.split(', ').includes(request.method)) await send(request, response);
    else throw refusedMethod(request.method);
  };
}

// A text that is made when it is first asked for, and then sent from memory: with a tag, and compressed.

export interface TextPage {
  readonly mediaType: string;
  readonly make: () => string | Promise<string>;
}

export type Send = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Made {
  /** One for all who ask: what many have not read yet is in memory once. */
  readonly bytes: Buffer;
  readonly tag: string;
  readonly compressed: Map<Coding, Promise<Buffer>>;
}

/** `vary` names the request headers by which it differs. */
export function textSender({ mediaType, make }: TextPage, vary: string): Send {
  let made: Promise<Made> | undefined;
  /** One that could not be made is tried again next time. */
  const ready = (): Promise<Made> => {
    made ??= prepared(make).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
  return async (request, response) => {
    const page = await ready();
    const headers = { ...SECURITY_HEADERS, 'Cache-Control': 'no-cache', Vary: vary };
    const coding = acceptedCoding(String(request.headers['accept-encoding'] ?? ''));
    const tag = coding === undefined ? page.tag : page.tag.replace(/"$/, `-${coding}"`);
    if (matchesWeakly(request.headers['if-none-match'] ?? '', tag)) {
      response.writeHead(304, { ...headers, ETag: tag }).end();
      return;
    }
    const body = coding === undefined ? page.bytes : await compressed(page, coding);
    const encoding = coding === undefined ? {} : { 'Content-Encoding': coding };
    const described = { 'Content-Type': mediaType, 'Content-Length': body.length, ETag: tag, ...encoding };
    response.writeHead(200, { ...headers, ...described });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}

async function prepared(make: TextPage['make']): Promise<Made> {
  const text = await make();
  return { bytes: Buffer.from(text), tag: entityTag(text), compressed: new Map() };
}

function compressed({ bytes, compressed: known }: Made, coding: Coding): Promise<Buffer> {
  const body = known.get(coding) ?? compress(bytes, coding);
  known.set(coding, body);
  return body;
}

// The guide for client authors as a page.

export const guidePage = (title: string, markdown: string): string =>
  layout({
    title: `Guide for client authors – ${title}`,
    head: html`<link rel="stylesheet" href="style.css" />`,
    body: html`<header class="guide">
        <p class="version"><a href="..">${title}</a></p>
      </header>
      <main class="guide">${markdownToHtml(markdown)}</main>
      <footer class="guide"><a href="../docs">Interactive reference</a></footer>`,
  });
