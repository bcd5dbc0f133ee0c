/** Start page, reference, guide, studio, and the OpenAPI document. */
import { type Request, type RequestHandler, Router } from 'express';
import { isGuarded } from '../access/access.ts';
import type { Engine, EngineSettings } from '../engine.ts';
import { isPreflight, readAnswer, redirection } from '../http/answer.ts';
import type { HostSteps } from '../http/handler.ts';
import { createCache, inTurns, memoized } from '../memo.ts';
import { entityTag } from '../operations/operation.ts';
import { documentTurns, jsonText, type Profile, PROFILES, yamlText } from '../openapi/document.ts';
import { VERSION } from '../process.ts';
import { quote, reportOn } from '../query/parameters.ts';
import { readPlain } from '../query/resolve.ts';
import { docsPage, guidePage, llmsText } from './docs.ts';
import { cacheOf, createFileServer, serveStudio, sourceOf, studioBuild } from './files.ts';
import { modelDocument } from './model-document.ts';
import { ASSETS, HTML, readOnly } from './page.ts';
import { startPage } from './start.ts';

/** Pages of one model differ by mount path, which clients can invent. */
const MAX_KEPT = 50;

const EXACT = { caseSensitive: true, strict: true };

/** `documents`: the OpenAPI document only. `agents`: whether `/mcp` is offered. `first` runs before each page. */
export function createPages(
  settings: EngineSettings,
  agents: boolean,
  { modelFor, clients, host }: Engine,
  ...first: readonly RequestHandler[]
): { readonly pages: Router; readonly documents: Router } {
  const { title, publicUrl } = settings;
  const guarded = isGuarded(settings);
  const built = settings.studio ? studioBuild() : undefined;
  const about = { ...settings, limits: settings, agents, version: VERSION, guarded, hasStudio: built !== undefined };
  const pages = Router(EXACT);
  const documents = Router(EXACT);
  const serveFile = createFileServer(host.sendPage);
  /** Pages by their subject, and then by their kind. */
  const textsOf = memoized((_subject: object) => createCache<Promise<string>>(MAX_KEPT));
  /** The address at which the client has reached the service. */
  const addressOf = ({ protocol, headers: { host: name = 'localhost' }, baseUrl }: Request): string =>
    publicUrl || `${protocol}://${name}${baseUrl}`;

  const removeSlash: RequestHandler = (request, response) => {
    const { path, url } = request;
    const name = path.slice(0, -1).split('/').at(-1);
    return host.sendPage(redirection(`../${name}${url.slice(path.length)}`), request, response);
  };

  function serve(router: Router, path: string, ...handlers: readonly RequestHandler[]): void {
    readOnly(router, path, ...first, ...handlers);
    // Otherwise the pages' relative links break.
    if (path !== '/') router.all(`${path}/`, removeSlash);
  }

  const servePage = (
    path: string,
    mediaType: string,
    textFor: (request: Request) => string | Promise<string>,
    router = pages,
    ...before: readonly RequestHandler[]
  ): void =>
    serve(router, path, ...before, async (request, response) => {
      const text = await textFor(request);
      if (guarded) response.vary('Authorization');
      const vary = response.vary('Accept-Encoding').get('Vary') ?? '';
      const headers = { 'Cache-Control': 'no-cache', 'Content-Type': mediaType, Vary: vary };
      await host.sendPage(readAnswer(cacheOf(request), text, entityTag(text), headers), request, response);
    });

  servePage('/', HTML, (request) => {
    const model = modelFor(request);
    const address = addressOf(request);
    return textsOf(model)(`/ ${address}`, async () => startPage(model, about, address));
  });
  servePage('/llms.txt', 'text/plain; charset=utf-8', (request) =>
    llmsText(modelFor(request), about, publicUrl || request.baseUrl),
  );
  servePage('/docs', HTML, () => docsPage(title, guarded));
  servePage('/docs/clients', HTML, (request) => guidePage(title, addressOf(request)));
  const own = ['style.css', 'reference.css', 'reference.js', ...(guarded ? ['token.js'] : [])];
  for (const name of [...own, ...Object.keys(ASSETS)])
    serve(
      pages,
      `/docs/${name}`,
      serveFile(`pages/${name}`, 'no-cache', () => sourceOf(name)),
    );

  const [allow, answerPreflight] = sharing(host);
  for (const [path, mediaType, print] of DOCUMENTS) {
    documents.options(path, ...first, allow, answerPreflight);
    const textFor = (request: Request): Promise<string> => {
      const profile = profileIn(request.url);
      const model = modelFor(request);
      const base = publicUrl || request.baseUrl;
      return textsOf(model)(`${path} ${profile} ${base}`, async () =>
        inTurns(print(await inTurns(documentTurns(model, about, profile, base)))),
      );
    };
    servePage(path, mediaType, textFor, documents, allow);
  }

  if (settings.studio) {
    const demandToken: RequestHandler = (request, _, next) => next(void clients().of(request));
    const textFor = async (request: Request): Promise<string> => {
      const client = clients().of(request);
      const { model, rights, tokenName } = client;
      const { baseUrl } = request;
      const text = await textsOf(client.seen())(baseUrl, async () =>
        inTurns(jsonText(await inTurns(modelDocument(model, rights, about, baseUrl)))),
      );
      return `{"token":${JSON.stringify(tokenName === null ? null : { name: tokenName })},${text.slice(1)}`;
    };
    servePage('/studio/model.json', 'application/json', textFor, pages, demandToken);
  }
  if (built) {
    serveStudio(pages, settings, built, host.sendPage, serveFile, ...first);
    pages.all('/studio/', removeSlash);
  }
  pages.use(documents);
  return { pages, documents };
}

const DOCUMENTS = [
  ['/openapi.json', 'application/json', jsonText],
  ['/openapi.yaml', 'application/yaml', yamlText],
] as const;

/** Serves a document to the same origins as records, and their preflights, which carry no token. */
const sharing = ({ cors, sendPage }: HostSteps): readonly [RequestHandler, RequestHandler] => [
  (request, response, next) => {
    response.set(cors.headersOf(request) ?? {});
    if (cors.varies) response.vary('Origin');
    next();
  },
  (request, response, next) =>
    isPreflight(request) ? sendPage({ status: 204, headers: {}, body: undefined }, request, response) : next(),
];

const PROFILE = 'profile';

const profileIn = (url: string): Profile =>
  readPlain(url.split('?', 2)[1] ?? '', [PROFILE], ({ plain, faults }) => {
    const text = plain.get(PROFILE) ?? 'full';
    const profile = PROFILES.find((one) => one === text);
    const unknown = `${quote(text)} is not a profile of the document; there are ${PROFILES.join(' and ')}`;
    if (profile === undefined) reportOn(faults, PROFILE)('unknown-profile', unknown);
    return profile ?? 'full';
  });
