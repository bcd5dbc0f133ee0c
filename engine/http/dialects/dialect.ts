/**
 * Dialects: what clients of other interfaces send and expect, below roots of their own. Each is a table that translates
 * query strings; the operations behind it are those of `/api`.
 */
import { MAX_IN_VALUES } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import type { RecordType } from '../../model/model.ts';
import type { Rights } from '../../model/rights.ts';
import { type Fault, Problem } from '../../problem.ts';
import type { QueryLimits } from '../../query/list-query.ts';
import { createQueryResolver, type ParseSearch } from '../../query/resolve.ts';
import type { HttpDialectName } from '../../settings/settings.ts';
import { JSON_TYPE } from '../../operations/table.ts';
import { framedList, type FrameList } from '../lists.ts';
import { creating } from '../operations.ts';
import type { ServeOperation, Server, Service } from '../request.ts';
import { type Binding, BINDINGS, createRoutes, type Routes } from '../routes.ts';
import { asId, idName, idParsers, idPointers } from './as-id.ts';
import { jsonServer } from './json-server.ts';
import { simpleRest } from './simple-rest.ts';

export interface HttpDialect {
  /** Parses query strings for the type, which has the identifier as clients of the dialect know it. */
  readonly parser: (type: RecordType) => ParseSearch;
  readonly frame: FrameList;
  /** The parameter that names relations to show. */
  readonly embed: string;
}

const DIALECTS = { 'json-server': jsonServer, 'simple-rest': simpleRest } satisfies Record<
  HttpDialectName,
  HttpDialect
>;

/** The dialects that are served, by their root. */
export const dialectsByRoot = (names: readonly HttpDialectName[]): ReadonlyMap<string, HttpDialect> =>
  new Map(names.map((name) => [`/${name}/`, DIALECTS[name]]));

/** Makes the routes below the root of a dialect; the services are those of `/api`. */
type MakeDialectRoutes = (
  root: string,
  types: ReadonlyMap<string, RecordType>,
  rights: Rights,
  serviceOf: (type: RecordType) => Service,
) => Routes;

export function createDialects(dialects: ReadonlyMap<string, HttpDialect>, limits: QueryLimits): MakeDialectRoutes {
  const resolvers = new Map([...dialects.values()].map((dialect) => [dialect, createQueryResolver(limits)]));
  const shownAs = memoized(asId);
  return (root, types, rights, serviceOf) => {
    const dialect = dialects.get(root);
    const queriesOf = dialect && resolvers.get(dialect);
    if (!queriesOf) return createRoutes(new Map(), rights, serviceOf);
    /** The same service with other names in its requests and answers. */
    const spoken = (type: RecordType): Service => {
      const service = serviceOf(type);
      const shown = shownAs(type);
      // Clients ask for all references of a page at once.
      const maxIdentifiers = Math.max(type.maxLimit, MAX_IN_VALUES);
      return {
        ...service,
        path: root + encodeURIComponent(type.path),
        queries: queriesOf(shown, rights, dialect.parser(shown), maxIdentifiers),
        parsers: idParsers(type, service.parsers),
      };
    };
    return createRoutes(types, rights, spoken, bindingsOf(dialect));
  };
}

/** Lists and creates on the collection, and everything on one record. All of it is JSON. */
const bindingsOf = (dialect: HttpDialect): readonly Binding[] =>
  BINDINGS.flatMap((binding) => {
    const { name, entry, server } = binding;
    const served = name === 'list' ? listing(dialect) : name === 'create' ? creating : server;
    if (entry.path !== 'item' && served === server) return [];
    const body = name === 'create' && entry.body ? { body: { ...entry.body, mediaTypes: [JSON_TYPE] } } : {};
    const speaking: Server = (service, ...rest) => inOwnWords(served(service, ...rest), service.type, dialect);
    return { name, entry: { ...entry, ...body, mediaTypes: [JSON_TYPE] }, server: speaking };
  });

const listing =
  ({ frame }: HttpDialect): Server =>
  (service) =>
    framedList(service, { frame, needsTotal: true });

/** Problems name what the client has sent. */
function inOwnWords(serve: ServeOperation, type: RecordType, { embed }: HttpDialect): ServeOperation {
  const pointerOf = idPointers(type);
  const renamed = (fault: Fault): Fault => {
    if ('parameter' in fault && fault.parameter === 'include') return explained({ ...fault, parameter: embed });
    const pointer = 'pointer' in fault && fault.code !== 'unknown-key' ? pointerOf(fault.pointer) : undefined;
    if (pointer === undefined) return explained(fault);
    return { ...fault, pointer, message: fault.message.replaceAll(`"${type.identifier.name}"`, `"${idName}"`) };
  };
  return async (exchange) => {
    try {
      return await serve(exchange);
    } catch (error) {
      throw error instanceof Problem && error.errors.length > 0 ? translated(error, error.errors.map(renamed)) : error;
    }
  };
}

const ADVICE_FOR_API = /_cnd\[|\b(?:include|fields)=/;

/** Messages of shared code name parameters of `/api`. */
const explained = (fault: Fault): Fault =>
  ADVICE_FOR_API.test(fault.message) ? { ...fault, message: `${fault.message} (as /api takes it)` } : fault;

function translated(problem: Problem, errors: readonly Fault[]): Problem {
  const [before] = problem.errors;
  const [after] = errors;
  const detail = before && after ? problem.message.replace(before.message, () => after.message) : problem.message;
  const { code, headers, retryAfter, cause } = problem;
  return new Problem(code, detail, { errors, headers, cause, ...(retryAfter === undefined ? {} : { retryAfter }) });
}
