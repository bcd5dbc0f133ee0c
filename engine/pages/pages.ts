/** Start page, reference, guide, studio, and the OpenAPI document. */
import type { IncomingMessage } from 'node:http';
import { type Request, type RequestHandler, Router } from 'express';
import type { Client } from '../clients.ts';
import { isPreflight, readAnswer, redirection } from '../http/answer.ts';
import type { HostSteps } from '../http/handler.ts';
import type { JsonObject } from '../json/json.ts';
import { createCache, inTurns, memoized, type Turns } from '../memo.ts';
import type { Model } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { entityTag } from '../operations/operation.ts';
import { documentTurns, type Profile, PROFILES } from '../openapi/document.ts';
import { jsonText, yamlText } from '../openapi/print.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { quote } from '../query/parameters.ts';
import { docsPage, guidePage, llmsText } from './docs.ts';
import { cacheOf, createFileServer, sourceOf } from './files.ts';
import { modelDocument, type RequestLimits } from './model-document.ts';
import { ASSETS, HTML, readOnly, type ServiceInfo } from './page.ts';
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
  readonly host: Pick<HostSteps, 'cors' | 'sendPage'>;
}

/** Pages of one model differ by mount path, which clients can invent. */
const MAX_KEPT = 50;

/** `documents`: the OpenAPI document only. `first` runs before each page. */
export function createPages(
  options: PagesOptions,
  { modelFor, clients, host: { cors, sendPage } }: PagesEngine,
  ...first: readonly RequestHandler[]
): { readonly pages: Router; readonly documents: Router } {
  const { title, guarded, publicUrl } = options;
  const built = options.studio ? studioBuild() : undefined;
  const about = { ...options, hasStudio: built !== undefined };
  const [pages, documents] = [Router(EXACT), Router(EXACT)];
  const textsOf = memoized((_about: object) => createCache<Promise<string>>(MAX_KEPT));
  /** Caches each kind of page about the subject. */
  const kept = (subject: object, kind: string, make: () => Promise<string>): Promise<string> =>
    textsOf(subject)(kind, make);
  const serveFile = createFileServer(sendPage);
  const removeSlash: RequestHandler = (request, response) => {
    const { path, url } = request;
    const name = path.slice(0, -1).split('/').at(-1);
    return sendPage(redirection(`../${name}${url.slice(path.length)}`), request, response);
  };

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
      const text = await textFor(request);
      if (guarded) response.vary('Authorization');
      const vary = response.vary('Accept-Encoding').get('Vary') ?? '';
      const headers = { 'Cache-Control': 'no-cache', 'Content-Type': mediaType, Vary: vary };
      await sendPage(readAnswer(cacheOf(request), text, entityTag(text), headers), request, response);
    });

  /** Serves the document to the same origins as records. */
  const document = (path: string, mediaType: string, print: (document: JsonObject) => Turns<string>): void => {
    const allow: RequestHandler = (request, response, next) => {
      response.set(cors.headersOf(request) ?? {});
      if (cors.varies) response.vary('Origin');
      next();
    };
    // Preflights carry no token.
    documents.options(path, ...first, allow, (request, response, next) => {
      if (!isPreflight(request)) return next();
      return sendPage({ status: 204, headers: {}, body: undefined }, request, response);
    });
    const textFor = (request: Request): Promise<string> => {
      const profile = profileIn(request.url);
      const model = modelFor(request);
      const base = publicUrl || request.baseUrl;
      return kept(model, `${path} ${profile} ${base}`, async () =>
        inTurns(print(await inTurns(documentTurns(model, about, profile, base)))),
      );
    };
    page(path, mediaType, textFor, documents, allow);
  };

  /** Where the client has reached the service. */
  const addressOf = ({ protocol, headers: { host = 'localhost' }, baseUrl }: Request): string =>
    publicUrl || `${protocol}://${host}${baseUrl}`;

  page('/', HTML, (request) => {
    const model = modelFor(request);
    const address = addressOf(request);
    return kept(model, `/ ${address}`, async () => startPage(model, about, address));
  });
  document('/openapi.json', 'application/json', jsonText);
  document('/openapi.yaml', 'application/yaml', yamlText);
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
  for (const name of files)
    serve(
      pages,
      `/docs/${name}`,
      serveFile(`pages/${name}`, 'no-cache', () => sourceOf(name)),
    );
  if (options.studio) {
    const demandToken: RequestHandler = (request, _, next) => next(void clients().of(request));
    const textFor = async (request: Request): Promise<string> => {
      const client = clients().of(request);
      const { model, rights, tokenName } = client;
      const { baseUrl } = request;
      const text = await kept(client.seen(), baseUrl, async () =>
        inTurns(jsonText(await inTurns(modelDocument(model, rights, options, baseUrl)))),
      );
      return `{"token":${JSON.stringify(tokenName === null ? null : { name: tokenName })},${text.slice(1)}`;
    };
    page('/studio/model.json', 'application/json', textFor, pages, demandToken);
  }
  if (built !== undefined) {
    serveStudio(pages, title, built, { sendPage, serveFile }, ...first);
    pages.all('/studio/', removeSlash);
  }
  pages.use(documents);
  return { pages, documents };
}

const EXACT = { caseSensitive: true, strict: true };

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
