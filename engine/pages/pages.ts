/** Start page, reference, guide, studio, and the OpenAPI document. */
import type { IncomingMessage } from 'node:http';
import compression from 'compression';
import { type Request, type RequestHandler, Router } from 'express';
import { stringify } from 'yaml';
import type { Client } from '../access/access.ts';
import type { Cors } from '../http/answer.ts';
import type { JsonObject } from '../json/json.ts';
import { createCache, memoized } from '../memo.ts';
import type { Model } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { createDocument, type Profile, PROFILES } from '../openapi/document.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { quote } from '../query/parameters.ts';
import { docsPage, guidePage, llmsText } from './docs.ts';
import { modelDocument, type RequestLimits } from './model-document.ts';
import { ASSETS, readOnly, sendFile, type ServiceInfo } from './page.ts';
import { startPage } from './start.ts';
import { serveStudio, studioBuild } from './studio.ts';

interface PagesOptions extends Omit<ServiceInfo, 'hasStudio'> {
  readonly studio: boolean;
  readonly limits: RequestLimits;
}

/** The part of Engine that pages need. */
interface PagesEngine {
  modelFor(request: IncomingMessage): Model;
  /** Throws `unauthorized`. */
  clients(): { of(request: IncomingMessage): Client };
  readonly host: { readonly cors: Cors };
}

/** Pages of one model differ by mount path, which clients can invent. */
const MAX_KEPT = 50;

/** `documents`: the OpenAPI document only. `before` runs before each page. */
export function createPages(
  options: PagesOptions,
  { modelFor, clients, host: { cors } }: PagesEngine,
  ...before: readonly RequestHandler[]
): { readonly pages: Router; readonly documents: Router } {
  // The studio's scripts are compressed already.
  const first = [...before, compression({ filter: () => true })];
  const { title, guarded, publicUrl } = options;
  const built = options.studio ? studioBuild() : undefined;
  const about = { ...options, hasStudio: built !== undefined };
  const [pages, documents] = [Router(EXACT), Router(EXACT)];
  const textsOf = memoized((_about: object) => createCache<string>(MAX_KEPT));
  /** Caches each kind of page about the subject. */
  const kept = (subject: object, kind: string, make: () => string): string => textsOf(subject)(kind, make);

  const serve = (router: Router, path: string, ...handlers: readonly RequestHandler[]): void => {
    readOnly(router, path, ...first, ...handlers);
    // Otherwise the pages' relative links break.
    if (path !== '/') router.all(`${path}/`, removeSlash);
  };

  const page = (
    path: string,
    mediaType: string,
    textFor: (request: Request) => string | Promise<string>,
    router = pages,
    ...then: readonly RequestHandler[]
  ): void =>
    serve(router, path, ...then, async (request, response) => {
      if (guarded) response.vary('Authorization');
      // Express would add a charset, which JSON does not have.
      response.set('Cache-Control', 'no-cache').setHeader('Content-Type', mediaType);
      response.send(Buffer.from(await textFor(request)));
    });

  /** Serves the document to the same origins as records. */
  const document = (path: string, mediaType: string, print: (document: JsonObject) => string): void => {
    const allow: RequestHandler = (request, response, next) => {
      response.set(cors.headersOf(request) ?? {});
      if (cors.varies) response.vary('Origin');
      next();
    };
    // Preflights carry no token.
    documents.options(path, ...first, allow, ({ headers }, response, next) => {
      if (headers['access-control-request-method'] === undefined) next();
      else response.status(204).end();
    });
    const textFor = (request: Request): string => {
      const profile = profileIn(request.url);
      const model = modelFor(request);
      const base = publicUrl || request.baseUrl;
      return kept(model, `${path} ${profile} ${base}`, () => print(createDocument(model, about, profile, base)));
    };
    page(path, mediaType, textFor, documents, allow);
  };

  /** Where the client has reached the service. */
  const addressOf = ({ protocol, headers: { host = 'localhost' }, baseUrl }: Request): string =>
    publicUrl || `${protocol}://${host}${baseUrl}`;

  page('/', HTML, (request) => {
    const model = modelFor(request);
    const address = addressOf(request);
    return kept(model, `/ ${address}`, () => startPage(model, about, address));
  });
  document('/openapi.json', 'application/json', (text) => JSON.stringify(text));
  document('/openapi.yaml', 'application/yaml', (text) => stringify(text, { aliasDuplicateObjects: false }));
  page('/llms.txt', 'text/plain; charset=utf-8', (request) =>
    llmsText(modelFor(request), about, publicUrl || request.baseUrl),
  );
  page('/docs', HTML, () => docsPage(title, guarded));
  page('/docs/clients', HTML, (request) => guidePage(title, addressOf(request)));
  const files = [
    'style.css',
    'reference.css',
    'reference.js',
    ...(guarded ? ['token.js'] : []),
    ...Object.keys(ASSETS),
  ];
  for (const name of files) serve(pages, `/docs/${name}`, sendFile(name));
  if (options.studio) {
    const demandToken: RequestHandler = (request, _, next) => next(void clients().of(request));
    const textFor = (request: Request): string => {
      const client = clients().of(request);
      const { model, rights, tokenName } = client;
      const { baseUrl } = request;
      const text = kept(client.seen(), baseUrl, () => JSON.stringify(modelDocument(model, rights, options, baseUrl)));
      return `{"token":${JSON.stringify(tokenName === null ? null : { name: tokenName })},${text.slice(1)}`;
    };
    page('/studio/model.json', 'application/json', textFor, pages, demandToken);
  }
  if (built !== undefined) {
    serveStudio(pages, title, built, ...first);
    pages.all('/studio/', removeSlash);
  }
  pages.use(documents);
  return { pages, documents };
}

const EXACT = { caseSensitive: true, strict: true };
const HTML = 'text/html; charset=utf-8';

const PROFILE = 'profile';

function profileIn(url: string): Profile {
  const parameters = new URLSearchParams(url.split('?', 2)[1]);
  const fault = (parameter: string, code: string, message: string): Fault => ({ parameter, code, message });
  const faults = [...new Set(parameters.keys())]
    .filter((name) => name !== PROFILE)
    .map((name) => fault(name, 'unknown-parameter', `Unknown parameter ${quote(name)}${didYouMean(name, [PROFILE])}`));
  const [text = 'full', ...others] = parameters.getAll(PROFILE);
  if (others.length > 0) faults.push(fault(PROFILE, 'repeated', `"${PROFILE}" is given twice`));
  const profile = PROFILES.find((one) => one === text);
  const unknown = `${quote(text)} is not a profile of the document; there are ${PROFILES.join(' and ')}`;
  if (profile === undefined) faults.push(fault(PROFILE, 'unknown-profile', unknown));
  if (profile === undefined || faults.length > 0) throw faultyRequest('invalid-query', faults);
  return profile;
}

const removeSlash: RequestHandler = ({ path, url }, response) => {
  const name = path.slice(0, -1).split('/').at(-1);
  response.redirect(308, `../${name}${url.slice(path.length)}`);
};
