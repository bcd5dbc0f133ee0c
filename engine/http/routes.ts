/** Path and method -> the operation of a record type. Decided at boot; a request looks it up in maps. */
import type { Operation } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { can, type Rights } from '../model/rights.ts';
import { nearest } from '../names.ts';
import { type OperationEntry, operationEntries, type OperationName, type OperationPath } from '../operations/table.ts';
import { Problem, shortenedPath } from '../problem.ts';
import type { Answer } from './answer.ts';
import { SUMMARY } from './lists.ts';
import { bodyTypesOf } from './negotiation.ts';
import { SERVERS } from './operations.ts';
import type { Label } from './observed.ts';
import type { ServeOperation, Server, Service } from './request.ts';

export const API_ROOT = '/api/';

interface Offer {
  readonly serve: ServeOperation;
  readonly label: Label;
  /** Media types of its answers. */
  readonly mediaTypes: readonly string[];
}

export interface Route {
  /** By method. */
  readonly offers: ReadonlyMap<string, Offer>;
  /** Methods that the path has, but that the client's token does not allow. */
  readonly withheld: ReadonlySet<string>;
  readonly allow: string;
  /** The answer to OPTIONS. */
  readonly options: Answer;
}

type TypeRoutes = Readonly<Record<OperationPath, Route>>;

/** The routes of the types that the client may read. Types without operations are only reached through others. */
export interface Routes {
  get(path: string): TypeRoutes | undefined;
  paths(): readonly string[];
}

/** An operation, and how it is served. */
export interface Binding {
  readonly name: OperationName;
  readonly entry: OperationEntry;
  readonly server: Server;
}

export const BINDINGS: readonly Binding[] = operationEntries.map(([name, entry]) => ({
  name,
  entry,
  server: SERVERS[name],
}));

/** The routes of a type are made with the first request to it. */
export function createRoutes(
  types: ReadonlyMap<string, RecordType>,
  rights: Rights,
  serviceOf: (type: RecordType) => Service,
  bindings: readonly Binding[] = BINDINGS,
): Routes {
  const made = new Map<string, TypeRoutes>();
  const isServed = (type: RecordType): boolean => type.operations.size > 0 && can(rights, type, 'get');
  return {
    get: (path) => {
      const known = made.get(path);
      const type = known ? undefined : types.get(path);
      if (type === undefined || !isServed(type)) return known;
      const service = serviceOf(type);
      const routes = {
        collection: routeOf(service, bindings, 'collection'),
        item: routeOf(service, bindings, 'item'),
        summary: routeOf(service, bindings, 'summary'),
      };
      made.set(path, routes);
      return routes;
    },
    paths: () => [...types.values()].filter(isServed).map(({ path }) => path),
  };
}

function routeOf(service: Service, bindings: readonly Binding[], path: OperationPath): Route {
  const { type, rights } = service;
  const needed = ({ right, and = right }: OperationEntry): readonly Operation[] => [right, and];
  const offered = bindings.filter(
    ({ entry }) =>
      entry.path === path &&
      (entry.isOffered?.(type, rights) ?? true) &&
      needed(entry).every((right) => type.operations.has(right)),
  );
  const isAllowed = ({ entry }: Binding): boolean => needed(entry).every((right) => can(rights, type, right));
  const bound = offered.filter(isAllowed);
  const offers = new Map(
    bound.flatMap(({ entry, server }) => {
      const offer: Offer = {
        serve: server(service, entry),
        mediaTypes: entry.mediaTypes,
        label: { type: type.name, operation: path === 'summary' ? path : entry.right },
      };
      return methodsOf(entry).map((method) => [method, offer] as const);
    }),
  );
  const allow = [...offers.keys(), 'OPTIONS'].join(', ');
  const patched = bound.find(({ entry }) => entry.method === 'PATCH');
  const acceptPatch = patched ? { 'Accept-Patch': bodyTypesOf(patched.entry).accepted.join(', ') } : {};
  return {
    offers,
    withheld: new Set(offered.filter((one) => !isAllowed(one)).flatMap(({ entry }) => methodsOf(entry))),
    allow,
    options: { status: 204, headers: { Allow: allow, ...acceptPatch }, body: undefined },
  };
}

const methodsOf = ({ method }: OperationEntry): readonly string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

/** The root that a path is below, or is but for its slash. */
export const rootOf = (path: string, others: readonly string[]): string | undefined =>
  [API_ROOT, ...others].find((root) => path.startsWith(root) || path === root.slice(0, -1));

/** `path` begins with the root. It is split before it is decoded: an encoded slash does not separate anything. */
export function findRoute(
  routes: Routes,
  path: string,
  root: string,
): { readonly route: Route; readonly identifier: string } {
  const slash = path.indexOf('/', root.length);
  const found = routes.get(decode(path.slice(root.length, slash < 0 ? undefined : slash)));
  if (found !== undefined && slash < 0) return { route: found.collection, identifier: '' };
  const last = slash < 0 ? '' : path.slice(slash + 1);
  if (found === undefined || last === '' || last.includes('/')) throw unknownPath(path, routes, root);
  const identifier = decode(last);
  if (!identifier.startsWith('$')) return { route: found.item, identifier };
  if (identifier !== SUMMARY || found.summary.offers.size === 0) throw unknownPath(path, routes, root);
  return { route: found.summary, identifier: '' };
}

function decode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function unknownPath(path: string, routes: Routes, root: string): Problem {
  const [type = '', ...rest] = path.slice(root.length).split('/', 3).map(decode);
  const near = routes.get(type) ? type : nearest(type, routes.paths());
  if (near === undefined) return pathProblem(path, knownPaths(routes, root));
  const [step = ''] = rest;
  const last = step.startsWith('$') && routes.get(near)?.summary.offers.size ? SUMMARY : '{id}';
  const suggestion = rest.every((one) => one === '') ? root + near : `${root}${near}/${last}`;
  return pathProblem(path, `; did you mean "${suggestion}"?`);
}

/** Paths that a message names. */
const NAMED_PATHS = 20;

export function knownPaths(routes: Routes, root: string): string {
  const paths = routes.paths().map((path) => root + path);
  const more = paths.length > NAMED_PATHS ? ', …' : '';
  return `; records are at ${paths.slice(0, NAMED_PATHS).join(', ')}${more}`;
}

export const pathProblem = (path: string, hint: string): Problem =>
  new Problem('path-not-found', `There is nothing at "${shortenedPath(path)}"${hint}`);
