/** Dialects offer the operations of `/api` by other products' interfaces. They name a record's own identifier `id`, but not related records' identifiers. */
import { MAX_IN_VALUES } from '../../field-types/field-type.ts';
import type { RecordType, Relation, Variant } from '../../model/model.ts';
import type { Rights } from '../../model/rights.ts';
import { JSON_TYPE } from '../../operations/table.ts';
import { type Fault, reworded } from '../../problem.ts';
import type { createQueryResolver } from '../../query/resolve.ts';
import type { HttpDialectName } from '../../settings/settings.ts';
import { framedList } from '../lists.ts';
import type { Server, Service } from '../exchange.ts';
import { type Binding, BINDINGS, createRoutes, type Routes } from '../routes.ts';
import { ID, isId, translated } from './bodies.ts';
import { type HttpDialect, jsonServer, simpleRest } from './queries.ts';

const DIALECTS: Readonly<Record<HttpDialectName, HttpDialect>> = {
  'json-server': jsonServer,
  'simple-rest': simpleRest,
};

/** The path that the routes of a dialect begin with, such as `/json-server/`. */
export const rootOf = (name: HttpDialectName): string => `/${name}/`;

export function dialectRoutes(
  name: HttpDialectName,
  types: ReadonlyMap<string, RecordType>,
  rights: Rights,
  serviceOf: (type: RecordType) => Service,
  queriesOf: ReturnType<typeof createQueryResolver>,
): Routes {
  const dialect = DIALECTS[name];
  const root = rootOf(name);
  const translating = (type: RecordType): Service => {
    const service = serviceOf(type);
    const { seen } = service;
    const shown = shownType(seen, name);
    // Clients request all references of a page at once.
    const maxIdentifiers = Math.max(type.maxLimit, MAX_IN_VALUES);
    const queries = queriesOf(shown, rights, dialect.parser(shown), maxIdentifiers);
    return {
      ...service,
      path: root + encodeURIComponent(type.path),
      queries,
      translate: (body, exchange) => translated(body, exchange, { ...service, type: seen, queries }, shown),
    };
  };
  return createRoutes(root, types, rights, translating, bindingsOf(dialect));
}

/** Collections support list and create, records all operations, in JSON only. */
const bindingsOf = (dialect: HttpDialect): readonly Binding[] =>
  BINDINGS.flatMap(([entry, server]): Binding[] => {
    const { path, method, body } = entry;
    if (path !== 'item' && (path !== 'collection' || (method !== 'GET' && method !== 'POST'))) return [];
    const list: Server = (service) => framedList(service, dialect.frame, true);
    const served = path === 'collection' && method === 'GET' ? list : server;
    const worded: Server = (...given) => {
      const serve = served(...given);
      return (exchange) => reworded(() => serve(exchange), renamed(dialect));
    };
    const json = body && path !== 'item' ? { body: { ...body, mediaTypes: [JSON_TYPE] } } : {};
    return [[{ ...entry, ...json, mediaTypes: [JSON_TYPE] }, worded]];
  });

/** Names the parameter that the client sent for `include`. */
const renamed =
  ({ embed }: HttpDialect) =>
  (fault: Fault): Fault =>
    'parameter' in fault && fault.parameter === 'include' ? { ...fault, parameter: embed } : fault;

/** The type in queries and responses. The identifier hides a field or relation named `id`. */
function shownType(type: RecordType, dialect: HttpDialectName): RecordType {
  const links = linksOf(type);
  const statementKey = `${type.statementKey} in ${dialect} by ${[ID, ...links.keys()].join()}`;
  if (isId(type)) return { ...type, statementKey, links };
  const without = <V>(all: ReadonlyMap<string, V>): ReadonlyMap<string, V> =>
    new Map([...all].filter(([name]) => name !== ID));
  const variants = new Map<string, Variant>();
  for (const [name, { fields, ...variant }] of type.variants)
    variants.set(name, { ...variant, fields: fields.filter((field) => field.name !== ID) });
  return {
    ...type,
    statementKey,
    links,
    identifier: { ...type.identifier, name: ID, inRecord: true },
    fields: without(type.fields),
    relations: without(type.relations),
    // An open key could be named `id`.
    open: false,
    variants,
    defaultVariant: variants.get(type.defaultVariant.name) ?? type.defaultVariant,
  };
}

/** The relations with their identifier in the record, by names such as `owner_id`, which no other key has. */
function linksOf(type: RecordType): ReadonlyMap<string, Relation> {
  const { fields, relations, identifier, open } = type;
  const named = [...type.relations.values()].flatMap((relation) => {
    const { name, shown, link, target } = relation;
    const key = `${name}_${ID}`;
    const isTaken = open || fields.has(key) || relations.has(key) || key === identifier.name;
    return shown && link.at === 'source' && target.identifier.inRecord && !isTaken ? [[key, relation] as const] : [];
  });
  return new Map(named);
}
