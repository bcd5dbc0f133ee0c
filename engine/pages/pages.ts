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
import { documentTurns, jsonText, type Profile, PROFILES, yamlText } from '../openapi/document.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { quote } from '../query/parameters.ts';
import { docsPage, guidePage, llmsText } from './docs.ts';
import { cacheOf, createFileServer, serveStudio, sourceOf, studioBuild } from './files.ts';
import { modelDocument, type RequestLimits } from './model-document.ts';
import { ASSETS, HTML, readOnly, type ServiceInfo } from './page.ts';
import { startPage } from './start.ts';

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

const EXACT = { caseSensitive: true, strict: true };

/** `documents`: the OpenAPI document only. `first` runs before each page. */
export function createPages(
  options: PagesOptions,
  engine: PagesEngine,
  ...first: readonly RequestHandler[]
): { readonly pages: Router; readonly documents: Router } {
  const site = new Site(options, engine, first);
  site.addReference();
  site.addDocument('/openapi.json', 'application/json', jsonText);
  site.addDocument('/openapi.yaml', 'application/yaml', yamlText);
  if (options.studio) site.addStudio();
  site.pages.use(site.documents);
  return site;
}

class Site {
  readonly pages = Router(EXACT);
  readonly documents = Router(EXACT);
  readonly #options: PagesOptions;
  readonly #engine: PagesEngine;
  readonly #first: readonly RequestHandler[];
  readonly #built: ReturnType<typeof studioBuild>;
  readonly #serveFile: ReturnType<typeof createFileServer>;
  /** Pages by their subject, and then by their kind. */
  readonly #textsOf = memoized((_subject: object) => createCache<Promise<string>>(MAX_KEPT));

  constructor(options: PagesOptions, engine: PagesEngine, first: readonly RequestHandler[]) {
    this.#options = options;
    this.#engine = engine;
    this.#first = first;
    this.#built = options.studio ? studioBuild() : undefined;
    this.#serveFile = createFileServer(engine.host.sendPage);
  }

  get #about() {
    return { ...this.#options, hasStudio: this.#built !== undefined };
  }

  /** Adds the pages that people and agents read first. */
  addReference(): void {
    const { modelFor } = this.#engine;
    const { title, guarded, publicUrl } = this.#options;
    /** The address at which the client has reached the service. */
    const addressOf = ({ protocol, headers: { host = 'localhost' }, baseUrl }: Request): string =>
      publicUrl || `${protocol}://${host}${baseUrl}`;
    this.#page('/', HTML, (request) => {
      const model = modelFor(request);
      const address = addressOf(request);
      return this.#textsOf(model)(`/ ${address}`, async () => startPage(model, this.#about, address));
    });
    this.#page('/llms.txt', 'text/plain; charset=utf-8', (request) =>
      llmsText(modelFor(request), this.#about, publicUrl || request.baseUrl),
    );
    this.#page('/docs', HTML, () => docsPage(title, guarded));
    this.#page('/docs/clients', HTML, (request) => guidePage(title, addressOf(request)));
    const own = ['style.css', 'reference.css', 'reference.js', ...(guarded ? ['token.js'] : [])];
    for (const name of [...own, ...Object.keys(ASSETS)]) {
      const file = this.#serveFile(`pages/${name}`, 'no-cache', () => sourceOf(name));
      this.#serve(this.pages, `/docs/${name}`, file);
    }
  }

  /** Served to the same origins as records. */
  addDocument(path: string, mediaType: string, print: (document: JsonObject) => Turns<string>): void {
    const { modelFor, host } = this.#engine;
    const allow: RequestHandler = (request, response, next) => {
      response.set(host.cors.headersOf(request) ?? {});
      if (host.cors.varies) response.vary('Origin');
      next();
    };
    // Preflights carry no token.
    this.documents.options(path, ...this.#first, allow, (request, response, next) => {
      if (!isPreflight(request)) return next();
      return host.sendPage({ status: 204, headers: {}, body: undefined }, request, response);
    });
    const textFor = (request: Request): Promise<string> => {
      const profile = profileIn(request.url);
      const model = modelFor(request);
      const base = this.#options.publicUrl || request.baseUrl;
      return this.#textsOf(model)(`${path} ${profile} ${base}`, async () =>
        inTurns(print(await inTurns(documentTurns(model, this.#about, profile, base)))),
      );
    };
    this.#page(path, mediaType, textFor, this.documents, allow);
  }

  addStudio(): void {
    const { clients, host } = this.#engine;
    const demandToken: RequestHandler = (request, _, next) => next(void clients().of(request));
    const textFor = async (request: Request): Promise<string> => {
      const client = clients().of(request);
      const { model, rights, tokenName } = client;
      const { baseUrl } = request;
      const text = await this.#textsOf(client.seen())(baseUrl, async () =>
        inTurns(jsonText(await inTurns(modelDocument(model, rights, this.#options, baseUrl)))),
      );
      return `{"token":${JSON.stringify(tokenName === null ? null : { name: tokenName })},${text.slice(1)}`;
    };
    this.#page('/studio/model.json', 'application/json', textFor, this.pages, demandToken);
    if (this.#built === undefined) return;
    serveStudio(this.pages, this.#options.title, this.#built, host.sendPage, this.#serveFile, ...this.#first);
    this.pages.all('/studio/', this.#removeSlash);
  }

  #page(
    path: string,
    mediaType: string,
    textFor: (request: Request) => string | Promise<string>,
    router = this.pages,
    ...before: readonly RequestHandler[]
  ): void {
    this.#serve(router, path, ...before, async (request, response) => {
      const text = await textFor(request);
      if (this.#options.guarded) response.vary('Authorization');
      const vary = response.vary('Accept-Encoding').get('Vary') ?? '';
      const headers = { 'Cache-Control': 'no-cache', 'Content-Type': mediaType, Vary: vary };
      const answer = readAnswer(cacheOf(request), text, entityTag(text), headers);
      await this.#engine.host.sendPage(answer, request, response);
    });
  }

  #serve(router: Router, path: string, ...handlers: readonly RequestHandler[]): void {
    readOnly(router, path, ...this.#first, ...handlers);
    // Otherwise the pages' relative links break.
    if (path !== '/') router.all(`${path}/`, this.#removeSlash);
  }

  readonly #removeSlash: RequestHandler = (request, response) => {
    const { path, url } = request;
    const name = path.slice(0, -1).split('/').at(-1);
    return this.#engine.host.sendPage(redirection(`../${name}${url.slice(path.length)}`), request, response);
  };
}

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
