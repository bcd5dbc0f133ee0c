/** Finds the operation of a record type by path and method, with the adapter that serves it over HTTP. */
import { decode } from '../json/json.ts';
import type { RecordType } from '../model/model.ts';
import { knows, type Rights } from '../model/rights.ts';
import { nearest } from '../names.ts';
import { entityTag, invalidIdentifier, onceOf, parseIdentifier, type WriteOperation } from '../operations/operation.ts';
import { deleted, get, history } from '../operations/read.ts';
import * as bodies from '../operations/body.ts';
import * as table from '../operations/table.ts';
import { type OperationEntry, type OperationName, type OperationPath, operationPaths } from '../operations/table.ts';
import * as writes from '../operations/write.ts';
import { attempted, Problem, reworded, shortenedPath } from '../problem.ts';
import { readPlain } from '../query/resolve.ts';
import { type Answer, readAnswer, writeAnswer } from './answer.ts';
import type { Exchange, ServeOperation, Server, Service } from './exchange.ts';
import { readCsv, readNdjson, textOfLines } from './lines.ts';
import { linkedList, logServer, summaryServer } from './lists.ts';
import * as requests from './request.ts';
import type { Content, HeaderMap, Target } from './request.ts';

// Adapters make an operation's arguments from a request, and a response from its result.

const SERVERS: Readonly<Record<OperationName, Server>> = {
  list: linkedList,
  summary: summaryServer,
  history: logServer(history),
  deleted: logServer(deleted),
  get: (service) => (exchange) => {
    const id = parseIdentifier(exchange.identifier, service.type);
    const query = service.queries.view(exchange.target.query);
    const preconditions = requests.preconditionsOf(exchange.request);
    const result = get(service, id, query, exchange.caller);
    if (result instanceof Promise) return result.then(({ json, tag }) => readAnswer(preconditions, json, tag));
    return readAnswer(preconditions, result.json, result.tag);
  },
  create: (service, entry) => writing(service, entry, service.queries.create, writes.create),
  upsert: (service, entry) => writing(service, entry, service.queries.upsert, writes.upsert),
  updateMany: (service, entry) => writing(service, entry, service.queries.write, writes.updateMany),
  deleteFound: (service, entry) => writing(service, entry, service.queries.remove, writes.deleteFound),
  update: (service, entry) => writing(service, entry, service.queries.write, writes.update),
  patch: (service, entry) => writing(service, entry, service.queries.write, writes.patch),
  delete: (service, entry) => writing(service, entry, service.queries.write, writes.deleteOne),
  restore: (service, entry) => writing(service, entry, service.queries.write, writes.restore),
};

/** Serves an operation that writes; refuses faulty headers before it parses the body. */
function writing<Q>(
  service: Service,
  { body: taken, path: below, headers }: OperationEntry,
  parseQuery: (search: string) => Q,
  operation: WriteOperation<Q>,
): ServeOperation {
  const { path } = service;
  const isLimited = headers.includes('Prefer-Max-Affected');
  const isOfRecord = table.isOfRecord(below);
  return async (exchange) => {
    const { request, caller, target, identifier } = exchange;
    const content = await exchange.readBody(taken?.mediaTypes ?? []);
    // A deletion by filter may affect thousands of records.
    if (isLimited) await caller.turn();
    const key = request.headers['idempotency-key']?.toString();
    // A retry with the same key must repeat the request exactly.
    const once = onceOf(key, service, () => {
      const mediaType = requests.bodyTypeOf(request);
      return [
        `${request.method ?? ''} ${requests.fullPath(target)}?${target.query}\n`,
        mediaType === table.JSON_TYPE ? '' : `${mediaType}\n`,
        'parsed' in content ? JSON.stringify(content.parsed) : content,
      ];
    });
    const id = isOfRecord ? parseIdentifier(identifier, service.type) : 0;
    const query = parseQuery(target.query);
    const parsed = taken ? bodyIn(exchange, content, taken.shape, service) : bodies.NO_BODY;
    const body = (taken && (await service.translate?.(parsed, exchange))) ?? parsed;
    const { minimal, maxAffected, applied } = requests.writePreferences(request.headers.prefer, isLimited);
    const preconditions = requests.preconditionsOf(request);
    // Clients of dialects cannot send entity tags.
    const ifMatch = service.translate && below === 'item' ? '*' : undefined;
    const all = { ...preconditions, ifMatch: preconditions.ifMatch ?? ifMatch };
    const args = { id, query, body, caller, once, minimal, maxAffected, preconditions: all };
    const work = () => operation(service, args);
    const result = await (body.reworded ? reworded(work, body.reworded) : work());
    return writeAnswer(result, target.base + path, minimal || result.json !== undefined ? applied : {});
  };
}

function bodyIn(exchange: Exchange, content: Content, shape: table.BodyShape, service: Service): bodies.Body {
  const { type, limits, rights } = service;
  const mediaType = requests.bodyTypeOf(exchange.request);
  if (!('parsed' in content)) {
    if (mediaType === table.NDJSON_TYPE) return readNdjson(textOfLines(content, mediaType), type, limits);
    if (mediaType === table.CSV_TYPE) return readCsv(textOfLines(content, mediaType), type, limits, rights);
  }
  const text = 'parsed' in content ? bodies.textOf(content.parsed) : decode(content);
  return bodies.readBody(text, shape, type, limits);
}

export const API_ROOT = '/api/';

export interface Label {
  readonly type: string;
  readonly operation: string;
}

export interface Offer {
  readonly serve: ServeOperation;
  readonly label: Label;
  readonly mediaTypes: readonly string[];
}

export interface Route {
  readonly offers: ReadonlyMap<string, Offer>;
  /** Methods that the client's token forbids, or that the type cannot offer, and the end of the message that says so. */
  readonly refused: ReadonlyMap<string, { readonly isForbidden: boolean; readonly why: string }>;
  readonly allow: string;
  readonly options: (asked: Pick<Exchange, 'identifier' | 'caller'>) => Answer | Promise<Answer>;
}

interface TypeRoutes {
  readonly type: RecordType;
  /** Routes by the rest of the path, such as `/{id}/$history`. */
  readonly rest: ReadonlyMap<string, Route>;
}

/** The routes of the types that the client may read. Types without operations are reachable only through others. */
export interface Routes {
  /** The path that all routes begin with, such as `/api/`. */
  readonly root: string;
  get(path: string): TypeRoutes | undefined;
  paths(): readonly string[];
  /** Paths that begin with `$`. */
  readonly own: ReadonlyMap<string, Route>;
}

/** `/api/` comes first: unknown paths get suggestions from it. */
export type RoutesByRoot = readonly [Routes, ...Routes[]];

export type Binding = readonly [OperationEntry, Server];

export const BINDINGS: readonly Binding[] = table.operationEntries.map(([name, entry]) => [entry, SERVERS[name]]);

/** `types`: by path. A type's routes are created on its first request. */
export function createRoutes(
  root: string,
  types: ReadonlyMap<string, RecordType>,
  rights: Rights,
  serviceOf: (type: RecordType) => Service,
  bindings: readonly Binding[],
  own: Readonly<Record<string, Offer | undefined>> = {},
): Routes {
  const made = new Map<string, TypeRoutes>();
  const isServed = (type: RecordType): boolean => type.operations.size > 0 && knows(rights, type.name);
  return {
    root,
    get: (path) => {
      const known = made.get(path);
      const type = known ? undefined : types.get(path);
      if (type === undefined || !isServed(type)) return known;
      const service = serviceOf(type);
      const all = operationPaths.map(([name, rest]) => [rest, routeOf(service, bindings, name)] as const);
      const isThere = ([rest, { offers, refused }]: (typeof all)[number]): boolean =>
        !rest.includes('$') || offers.size + refused.size > 0;
      const routes = { type, rest: new Map(all.filter(isThere)) };
      made.set(path, routes);
      return routes;
    },
    paths: () => [...types.values()].filter(isServed).map(({ path }) => path),
    own: new Map(Object.entries(own).flatMap(([name, offer]) => (offer ? [[name, routeTo(offer)]] : []))),
  };
}

function routeOf(service: Service, bindings: readonly Binding[], path: OperationPath): Route {
  const { type, rights } = service;
  const offers = new Map<string, Offer>();
  const refused = new Map<string, { readonly isForbidden: boolean; readonly why: string }>();
  let acceptPatch: HeaderMap = {};
  for (const [entry, server] of bindings) {
    const { method, right, body, mediaTypes = [table.JSON_TYPE] } = entry;
    if (entry.path !== path || !table.isGranted(entry, type)) continue;
    const reason = entry.unsuited?.(type, rights);
    if (reason !== undefined) {
      refused.set(method, { isForbidden: false, why: `: ${reason}` });
      continue;
    }
    const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
    const refusal = table.refusalOf(entry, type, rights);
    if (refusal === undefined) {
      const label = { type: type.name, operation: path === 'collection' || path === 'item' ? right : path };
      const offer: Offer = { serve: server(service, entry), label, mediaTypes };
      for (const one of methods) offers.set(one, offer);
      if (method === 'PATCH' && body) acceptPatch = { 'Accept-Patch': body.mediaTypes.join(', ') };
    } else for (const one of methods) refused.set(one, { isForbidden: true, why: refusal });
  }
  const route = routeWith(offers, refused, acceptPatch);
  /** A role may write some records of a type, and not others. */
  const options: Route['options'] = async (asked) => {
    const identifier = parseIdentifier(asked.identifier, type);
    await get(service, identifier, service.queries.view('include='), asked.caller);
    const forbidden = new Set<string>();
    for (const action of ['update', 'delete'] as const)
      if (!(await service.store.may(action, type, identifier, rights, asked.caller))) forbidden.add(action);
    const allowed = new Map([...offers].filter(([, { label }]) => !forbidden.has(label.operation)));
    return routeWith(allowed, refused, allowed.has('PATCH') ? acceptPatch : {}).options(asked);
  };
  return path === 'item' && rights.checked ? { ...route, options } : route;
}

function routeWith(offers: Route['offers'], refused: Route['refused'], acceptPatch: HeaderMap): Route {
  const allow = [...offers.keys(), 'OPTIONS'].join(', ');
  const answer: Answer = { status: 204, headers: { Allow: allow, ...acceptPatch }, body: undefined };
  return { offers, refused, allow, options: () => answer };
}

/** `about`: the client's name, its role and its operations by type. */
export const meOffer = (about: () => string): Offer => ({
  label: { type: '$me', operation: 'get' },
  mediaTypes: [table.JSON_TYPE],
  serve: ({ request, target }) => {
    const json = readPlain(target.query, [], about);
    return readAnswer(requests.preconditionsOf(request), json, entityTag(json));
  },
});

/** The route of an offer that has a path of its own, such as `/api/$me`, and only reads. */
const routeTo = (offer: Offer): Route =>
  routeWith(new Map(['GET', 'HEAD'].map((method) => [method, offer])), new Map(), {});

/** Whether the path is below the root, or is the root without its last slash. */
export const isBelow = (path: string, root: string): boolean => path.startsWith(root) || path === root.slice(0, -1);

interface Found {
  readonly route: Route;
  readonly identifier: string;
  /** Escapes that are no UTF-8: as text, they would name another record. */
  readonly refusal?: Problem | undefined;
}

/** Splits the path before decoding it: an encoded slash separates nothing. */
export function findRoute(all: RoutesByRoot, target: Target): Found {
  const { path } = target;
  const routes = all.find(({ root }) => isBelow(path, root)) ?? all[0];
  const { root } = routes;
  if (!path.startsWith(root)) throw pathProblem(target, knownPaths(target, routes));
  const own = routes.own.get(path.slice(root.length));
  if (own) return { route: own, identifier: '' };
  const slash = path.indexOf('/', root.length);
  const routesOfType = routes.get(unescaped(path.slice(root.length, slash < 0 ? undefined : slash)));
  if (routesOfType === undefined) throw unknownPath(target, routes);
  const [first = '', ...words] = slash < 0 ? [] : path.slice(slash + 1).split('/');
  const { kind } = routesOfType.type.identifier;
  const text = unescaped(first);
  // An escaped `$` begins a text.
  const isWord = (kind.type.isText ? first : text).startsWith('$');
  const rest = ['', isWord ? text : '{id}', ...words.map(unescaped)].join('/');
  const route = routesOfType.rest.get(slash < 0 ? '' : rest);
  if (route === undefined || (slash > 0 && first === '' && kind.isCounted)) throw unknownPath(target, routes);
  if (isWord) return { route, identifier: '' };
  const isEncoded = decoded(first) !== undefined;
  const refusal = isEncoded ? undefined : invalidIdentifier(first, 'percent-encoded UTF-8', routesOfType.type);
  return { route, identifier: text, refusal };
}

export const unescaped = (text: string): string => decoded(text) ?? text;

/** undefined for malformed percent-encoding and invalid UTF-8. */
const decoded = (text: string): string | undefined =>
  text.includes('%') ? attempted(() => decodeURIComponent(text)) : text;

function unknownPath(target: Target, routes: Routes): Problem {
  const { root } = routes;
  const [type = '', ...rest] = target.path.slice(root.length).split('/', 4).map(unescaped);
  const near = routes.get(type) ? type : nearest(type, [...routes.paths(), ...routes.own.keys()]);
  if (near === undefined) return pathProblem(target, knownPaths(target, routes));
  const [step = '', ...words] = rest;
  const asked = `/${[step.startsWith('$') ? step : '{id}', ...words].join('/')}`;
  const known = [...(routes.get(near)?.rest.keys() ?? [])];
  const usual = step.startsWith('$') ? known.find((one) => one.includes('$')) : undefined;
  const last = nearest(asked, known) ?? usual ?? table.PATHS.item;
  const suggestion = routes.own.has(near) || rest.every((one) => one === '') ? near : near + last;
  return pathProblem(target, `; did you mean "${target.base}${root}${suggestion}"?`);
}

function knownPaths({ base }: Target, { root, paths: pathsOf }: Routes): string {
  const paths = pathsOf().map((path) => base + root + path);
  return `; records are at ${paths.slice(0, 20).join(', ')}${paths.length > 20 ? ', …' : ''}`;
}

const pathProblem = (target: Target, hint: string): Problem =>
  new Problem('path-not-found', `There is nothing at "${shortenedPath(requests.fullPath(target))}"${hint}`);
