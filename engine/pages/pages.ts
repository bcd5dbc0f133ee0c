/** What people read: start page, reference, guide, and the OpenAPI document. Each text is made when it is first asked for. */
import { readFile } from 'node:fs/promises';
import { type Request, type RequestHandler, Router } from 'express';
import type { IncomingMessage } from 'node:http';
import { stringify } from 'yaml';
import type { Permitted } from '../access/access.ts';
import { codedTag, entityTag } from '../http/preconditions.ts';
import { acceptedCoding, type Coding, compress } from '../http/negotiation.ts';
import { isObject, type JsonObject } from '../json.ts';
import { type BoundedCache, createBoundedCache, lazy, memoized } from '../memo.ts';
import type { Model } from '../model/model.ts';
import { createDocument, type Profile, PROFILES, secured } from '../openapi/document.ts';
import type { DocumentLimits } from '../openapi/limits.ts';
import { didYouMean } from '../names.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { quote } from '../query/parameters.ts';
import type { Cors } from '../http/send.ts';
import { assetFile, publicFile } from './assets.ts';
import { docsPage, guidePage } from './docs.ts';
import { readGuide } from './guide.ts';
import { modelDocument, type RequestLimits } from './model-document.ts';
import { llmsText } from './llms.ts';
import { readOnly } from './read-only.ts';
import { type ServiceInfo, startPage } from './start.ts';
import { serveStudio, studioBuild } from './studio.ts';

const HTML = 'text/html; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

interface PagesOptions extends Omit<ServiceInfo, 'hasStudio'> {
  /** Whether agents can connect to `/mcp`. */
  readonly agents: boolean;
  /** Whether people can browse and edit the records. */
  readonly studio: boolean;
  readonly limits: RequestLimits & DocumentLimits;
}

interface PageRoutes {
  /** All of them. */
  readonly pages: Router;
  /** The OpenAPI document only. */
  readonly documents: Router;
}

/** What pages need of the engine. */
interface PagesEngine {
  /** The model as the client may see it. */
  modelFor(request: IncomingMessage): Model;
  /** Throws a Problem without a token that is known. */
  permittedTo(request: IncomingMessage): Permitted;
  readonly host: { readonly cors: Cors };
}

/** `first` runs before each page. */
export function createPages(
  options: PagesOptions,
  { modelFor, permittedTo, host: { cors } }: PagesEngine,
  ...first: readonly RequestHandler[]
): PageRoutes {
  const { title, guarded, publicUrl } = options;
  const built = options.studio ? studioBuild() : undefined;
  const about = { ...options, hasStudio: built !== undefined };
  const documentIn = (profile: Profile): ((model: Model) => JsonObject) =>
    memoized((model: Model) => secured(createDocument(model, about, profile), guarded));
  const documentOf: Readonly<Record<Profile, (model: Model) => JsonObject>> = {
    full: documentIn('full'),
    simple: documentIn('simple'),
  };
  const [pages, documents] = [Router(EXACT), Router(EXACT)];

  const serve = (
    path: string,
    mediaType: string,
    textFor: (request: Request) => Promise<KeptText>,
    router = pages,
    ...then: readonly RequestHandler[]
  ): void => {
    readOnly(router, path, ...first, ...then, sendText(mediaType, guarded, textFor));
    // The links of pages are relative: behind a slash they would lead elsewhere.
    if (path !== '/') router.all(`${path}/`, removeSlash);
  };
  /** The same for every client. */
  const fixed = (path: string, mediaType: string, make: Make): void => serve(path, mediaType, kept(make));
  /** Clients with other models get other texts. */
  const perModel = (path: string, mediaType: string, make: (model: Model) => string | Promise<string>): void => {
    const textOf = memoized((model: Model) => kept(() => make(model)));
    serve(path, mediaType, (request) => textOf(modelFor(request))());
  };
  /** The document names the path that a host application has mounted it under. Pages of other origins may read it like records. */
  const perMount = (path: string, mediaType: string, make: (document: JsonObject) => string): void => {
    const textAt = perPlace<Model>();
    const textFor = async (request: Request): Promise<KeptText> => {
      const profile = profileIn(request.url);
      const model = modelFor(request);
      const { baseUrl } = request;
      return textAt(model, `${profile} ${baseUrl}`, () =>
        make(reachedAt(publicUrl || baseUrl, documentOf[profile](model))),
      );
    };
    const allow = allowOrigins(cors);
    documents.options(path, ...first, allow, answerPreflight);
    serve(path, mediaType, textFor, documents, allow);
  };

  const modelAt = perPlace<Permitted>();
  const modelTextFor = async (request: Request): Promise<KeptText> => {
    const permitted = permittedTo(request);
    const { baseUrl } = request;
    return modelAt(permitted, baseUrl, () => JSON.stringify(modelDocument(permitted, options, baseUrl)));
  };

  const agentsAt = perPlace<Model>();
  const agentsTextFor = async (request: Request): Promise<KeptText> => {
    const model = modelFor(request);
    const base = publicUrl || request.baseUrl;
    return agentsAt(model, base, () => llmsText(model, about, base));
  };

  perModel('/', HTML, (model) => startPage(model, about));
  perMount('/openapi.json', 'application/json', (document) => JSON.stringify(document));
  // Each value is written out where it stands: anchors would save little, and few readers know them.
  perMount('/openapi.yaml', 'application/yaml', (document) => stringify(document, { aliasDuplicateObjects: false }));
  serve('/llms.txt', TEXT, agentsTextFor);
  fixed('/docs', HTML, () => docsPage(title, guarded));
  fixed('/docs/clients', HTML, async () => guidePage(await readGuide(publicUrl), title));
  fixed('/docs/style.css', CSS, () => publicFile('style.css'));
  fixed('/docs/reference.css', CSS, () => publicFile('reference.css'));
  fixed('/docs/reference.js', SCRIPT, () => publicFile('reference.js'));
  if (options.studio) serve('/studio/model.json', 'application/json', modelTextFor);
  if (built !== undefined) {
    serveStudio(pages, title, built, ...first);
    pages.all('/studio/', removeSlash);
  }
  if (guarded) fixed('/docs/token.js', SCRIPT, () => publicFile('token.js'));
  fixed('/docs/swagger-ui.css', CSS, () => readFile(assetFile('swagger-ui.css'), 'utf8'));
  fixed('/docs/swagger-ui-bundle.js', SCRIPT, () => readFile(assetFile('swagger-ui-bundle.js'), 'utf8'));
  pages.use(documents);
  return { pages, documents };
}

const EXACT = { caseSensitive: true, strict: true };

/** Paths with parameters are as many as clients like. */
const MAX_MOUNTS = 50;

function reachedAt(base: string, document: JsonObject): JsonObject {
  const { servers } = document;
  if (base === '' || !Array.isArray(servers)) return document;
  const moved = servers.map((server) =>
    isObject(server) ? { ...server, url: base + String(server['url']).replace(/\/$/, '') } : server,
  );
  return { ...document, servers: moved };
}

const PROFILE = 'profile';

/** `?profile=simple`, and nothing else. */
function profileIn(url: string): Profile {
  const parameters = new URLSearchParams(url.split('?', 2)[1]);
  const faults = [...new Set(parameters.keys())].flatMap((name): Fault | readonly [] =>
    name === PROFILE
      ? []
      : fault(name, 'unknown-parameter', `Unknown parameter ${quote(name)}${didYouMean(name, [PROFILE])}`),
  );
  const [text = 'full', ...others] = parameters.getAll(PROFILE);
  const profile = PROFILES.find((one) => one === text);
  if (others.length > 0) faults.push(fault(PROFILE, 'repeated', `"${PROFILE}" is given twice`));
  else if (profile === undefined)
    faults.push(
      fault(
        PROFILE,
        'unknown-profile',
        `${quote(text)} is not a profile of the document; there are ${PROFILES.join(' and ')}`,
      ),
    );
  if (profile !== undefined && faults.length === 0) return profile;
  throw faultyRequest('invalid-query', faults);
}

const fault = (parameter: string, code: string, message: string): Fault => ({ parameter, code, message });

const allowOrigins =
  (cors: Cors): RequestHandler =>
  (request, response, next) => {
    const lines = cors.headersOf(request);
    for (let at = 0; at < lines.length; at += 2) response.setHeader(lines[at] ?? '', lines[at + 1] ?? '');
    if (cors.varies) response.vary('Origin');
    next();
  };

/** Browsers send it without a token. */
const answerPreflight: RequestHandler = ({ headers }, response, next) => {
  if (headers['access-control-request-method'] === undefined) next();
  else response.status(204).end();
};

const removeSlash: RequestHandler = ({ path, url }, response) => {
  const name = path.slice(0, -1).split('/').at(-1);
  response.redirect(308, `../${name}${url.slice(path.length)}`);
};

// Texts are sent from memory, and compressed once. express.static would open a file for each request, also for clients that
// never read the answer, and would send Swagger UI's megabyte uncompressed.

type Make = () => string | Promise<string>;

interface KeptText {
  /** Shared by all clients: what many have not read yet is in memory once. */
  readonly bytes: Buffer;
  readonly tag: string;
  readonly compressed: Record<Coding, () => Promise<Buffer>>;
}

const kept = (make: Make): (() => Promise<KeptText>) => lazy(() => prepared(make));

/** Texts that differ by an object, and by the place that they are read at. */
function perPlace<K extends object>(): (about: K, place: string, make: Make) => Promise<KeptText> {
  const textsOf = memoized<K, [], BoundedCache<() => Promise<KeptText>>>(() => createBoundedCache(MAX_MOUNTS));
  return (about, place, make) => {
    const texts = textsOf(about);
    const textOf = texts.get(place) ?? kept(make);
    texts.set(place, textOf);
    return textOf();
  };
}

async function prepared(make: Make): Promise<KeptText> {
  const text = await make();
  const bytes = Buffer.from(text);
  const compressed = { br: lazy(() => compress(bytes, 'br')), gzip: lazy(() => compress(bytes, 'gzip')) };
  return { bytes, tag: entityTag(text), compressed };
}

function sendText(
  mediaType: string,
  guarded: boolean,
  textFor: (request: Request) => Promise<KeptText>,
): RequestHandler {
  const varying = guarded ? 'Accept-Encoding, Authorization' : 'Accept-Encoding';
  return async (request, response) => {
    const text = await textFor(request);
    const coding = acceptedCoding(request.get('accept-encoding'));
    // Express would add a charset to JSON, which has none.
    response.set('Cache-Control', 'no-cache').vary(varying).setHeader('Content-Type', mediaType);
    if (coding === undefined) response.set('ETag', text.tag).send(text.bytes);
    else {
      response.set({ 'Content-Encoding': coding, ETag: codedTag(text.tag, coding) });
      response.send(await text.compressed[coding]());
    }
  };
}
