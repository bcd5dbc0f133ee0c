/** Path and method -> the operation of a record type. Decided at boot; a request looks it up in maps. */
import type { Operation as OperationRight } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { nearest } from '../names.ts';
import { type OperationEntry, operationEntries, type OperationName, type OperationPath } from '../operations/table.ts';
import { Problem, shortenedPath } from '../problem.ts';
import type { Answer } from './answer.ts';
import { DRY_RUN_TYPE } from './dry-run.ts';
import { type BodyTypes, PATCH_BODY, RECORDS_PATCH } from './negotiation.ts';
import { get, remove, type Service, update, updateMany } from './operations.ts';
import type { Label, ServeOperation } from './request.ts';
import { list, removeFound } from './list.ts';
import { summary, SUMMARY } from './summary.ts';
import { post, upsert } from './upsert.ts';

export const API_ROOT = '/api/';

interface Offer {
  readonly serve: ServeOperation;
  readonly label: Label;
  /** Media types of its answers. */
  readonly mediaTypes: readonly string[];
  /** Of a write: those of its dry run. */
  readonly tried?: readonly string[];
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

/** The paths of a record type: all its records, one of them, and what all come to. */
interface TypeRoutes {
  readonly collection: Route;
  readonly item: Route;
  /** undefined if the type has no list. */
  readonly summary: Route | undefined;
}

export type Routes = ReadonlyMap<string, TypeRoutes>;

export interface Binding {
  readonly name: OperationName;
  readonly operation: OperationRight;
  /** Offered only together with this one. */
  readonly beside: OperationRight | undefined;
  readonly path: OperationPath;
  readonly methods: readonly string[];
  readonly mediaTypes: readonly string[];
  readonly isOffered: OperationEntry['isOffered'];
  /** `withheld`: operations that the type has, but that the client's token does not allow. */
  readonly serve: (service: Service, method: string, withheld: Operations) => ServeOperation;
}

const READ_METHODS: readonly string[] = ['GET', 'HEAD'];

/** How each operation of the table is served. */
const SERVERS: Readonly<Record<OperationName, Binding['serve']>> = {
  list,
  create: (service, _, withheld) => post(service, withheld),
  upsert,
  updateMany,
  deleteFound: removeFound,
  summary,
  get,
  update,
  patch: update,
  delete: remove,
};

/** In the order in which `Allow` names their methods. */
export const BINDINGS: readonly Binding[] = operationEntries.map(([name, entry]) => ({
  name,
  operation: entry.right,
  beside: entry.and,
  path: entry.path,
  methods: entry.method === 'GET' ? READ_METHODS : [entry.method],
  mediaTypes: entry.mediaTypes,
  isOffered: entry.isOffered,
  serve: SERVERS[name],
}));

const isBound = (type: RecordType, { isOffered }: Binding): boolean => isOffered?.(type) ?? true;

/** Types without operations are only reached through others: they do not have a path. */
export function createRoutes(
  types: Iterable<RecordType>,
  serviceOf: (type: RecordType) => Service,
  withheldOf: (type: RecordType) => Operations | undefined = () => undefined,
  bindings: readonly Binding[] = BINDINGS,
): Routes {
  const withheld = (type: RecordType): Operations => withheldOf(type) ?? NO_OPERATIONS;
  const served = [...types].filter((type) => type.operations.size + withheld(type).size > 0);
  return new Map(
    served.map((type) => {
      const binding: TypeBinding = { service: serviceOf(type), withheld: withheld(type), bindings };
      return [type.path, routesOf(binding)];
    }),
  );
}

export type Operations = ReadonlySet<OperationRight>;
const NO_OPERATIONS: Operations = new Set();

interface TypeBinding {
  readonly service: Service;
  readonly withheld: Operations;
  readonly bindings: readonly Binding[];
}

const routesOf = (bound: TypeBinding): TypeRoutes => ({
  collection: routeOf(bound, 'collection'),
  item: routeOf(bound, 'item'),
  summary: summaryOf(bound),
});

function summaryOf(bound: TypeBinding): Route | undefined {
  const route = routeOf(bound, 'summary');
  return route.offers.size === 0 ? undefined : route;
}

function routeOf({ service, withheld: withheldOperations, bindings }: TypeBinding, path: Binding['path']): Route {
  const { type } = service;
  const here = bindings.filter((binding) => binding.path === path && isBound(type, binding));
  const needs = ({ operation, beside }: Binding): readonly OperationRight[] => [operation, beside ?? operation];
  const bound = here.filter((binding) => needs(binding).every((one) => type.operations.has(one)));
  const offered = here.filter((binding) =>
    needs(binding).every((one) => type.operations.has(one) || withheldOperations.has(one)),
  );
  const withheld = new Set(
    offered
      .filter((binding) => needs(binding).some((one) => withheldOperations.has(one)))
      .flatMap(({ methods }) => methods),
  );
  const offers = new Map(
    bound.flatMap(({ operation, methods, mediaTypes, serve }) =>
      methods.map(
        (method) =>
          [
            method,
            {
              serve: serve(service, method, withheldOperations),
              mediaTypes,
              ...(READ_METHODS.includes(method) ? {} : { tried: [...mediaTypes, DRY_RUN_TYPE] }),
              label: { type: type.name, operation: path === 'summary' ? path : operation },
            },
          ] as const,
      ),
    ),
  );
  const allow = [...offers.keys(), 'OPTIONS'].join(', ');
  const patches = path === 'item' ? PATCH_BODY : RECORDS_PATCH;
  return { offers, withheld, allow, options: optionsAnswer(allow, offers.has('PATCH') ? patches : undefined) };
}

function optionsAnswer(allow: string, patches: BodyTypes | undefined): Answer {
  const acceptPatch = patches ? { 'Accept-Patch': patches.accepted.join(', ') } : {};
  return { status: 204, headers: { Allow: allow, ...acceptPatch }, body: undefined };
}

interface RouteMatch {
  readonly route: Route;
  /** As the path writes it; the empty string for a collection. */
  readonly identifier: string;
}

/** The root that a path is below, or is but for its slash. Requests below /api are not slowed down by others. */
export function rootOf(path: string, others: readonly string[]): string | undefined {
  if (path.startsWith(API_ROOT)) return API_ROOT;
  return [API_ROOT, ...others].find((root) => path.startsWith(root) || path === root.slice(0, -1));
}

/** `path` begins with the root. It is split before it is decoded: an encoded slash does not separate anything. */
export function findRoute(routes: Routes, path: string, root: string): RouteMatch {
  const slash = path.indexOf('/', root.length);
  const found = routes.get(decode(path.slice(root.length, slash < 0 ? undefined : slash)));
  if (found !== undefined && slash < 0) return { route: found.collection, identifier: '' };
  const last = slash < 0 ? '' : path.slice(slash + 1);
  if (found === undefined || last === '' || last.includes('/')) throw unknownPath(path, routes, root);
  const identifier = decode(last);
  if (!identifier.startsWith('$')) return { route: found.item, identifier };
  if (identifier !== SUMMARY || found.summary === undefined) throw unknownPath(path, routes, root);
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

/** Steps of a path that a message looks at. */
const MAX_NAMED = 3;

function unknownPath(path: string, routes: Routes, root: string): Problem {
  const [type = '', ...rest] = path.slice(root.length).split('/', MAX_NAMED).map(decode);
  const near = routes.has(type) ? type : nearest(type, routes.keys());
  if (near === undefined) return pathProblem(path, knownPaths(routes, root));
  const [step = ''] = rest;
  const last = step.startsWith('$') && routes.get(near)?.summary !== undefined ? SUMMARY : '{id}';
  const suggestion = rest.every((one) => one === '') ? root + near : `${root}${near}/${last}`;
  return pathProblem(path, `; did you mean "${suggestion}"?`);
}

/** Paths that a message names. */
const NAMED_PATHS = 20;

export function knownPaths(routes: Routes, root: string): string {
  const paths = [...routes.keys()].map((path) => root + path);
  const more = paths.length > NAMED_PATHS ? ', …' : '';
  return `; records are at ${paths.slice(0, NAMED_PATHS).join(', ')}${more}`;
}

export const pathProblem = (path: string, hint: string): Problem =>
  new Problem('path-not-found', `There is nothing at "${shortenedPath(path)}"${hint}`);
