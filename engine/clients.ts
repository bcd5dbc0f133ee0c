/** The clients of a model: their rights, and the routes and services that these give them. */
import type { IncomingMessage } from 'node:http';
import type { Access, Identity } from './access/access.ts';
import type { Role, Roles } from './access/roles.ts';
import { createBinder, type OnMissing } from './access/rules.ts';
import { dialectRoutes } from './http/dialects/dialect.ts';
import type { Service } from './http/exchange.ts';
import { CHANGES, type Changes } from './http/changes.ts';
import { API_ROOT, BINDINGS, createRoutes, meOffer, type RoutesByRoot } from './http/routes.ts';
import { createCache, memoized } from './memo.ts';
import type { Model, RecordType } from './model/model.ts';
import { ALL_RIGHTS, type Granted, type Rights, rightsOf, seenModel } from './model/rights.ts';
import { createQueryResolver } from './query/resolve.ts';
import type { Settings } from './settings/settings.ts';
import { Problem } from './problem.ts';
import { unavailable } from './storage/unavailable.ts';
import { validatorsOf } from './validation/compile.ts';

export interface Client {
  readonly rights: Rights;
  /** null without tokens. */
  readonly tokenName: string | null;
  readonly model: Model;
  /** The types and operations visible to the client; one object for all clients with equal rights. */
  seen(): Model;
  serviceOf(type: RecordType): Service;
  readonly routes: RoutesByRoot;
}

export interface Clients {
  /** Throws `unauthorized`. */
  of(request: IncomingMessage): Client;
  granted(granted: Granted, name: string): Client;
  /** Throws `forbidden` if it has no role that exists. */
  identified(identity: Identity): Client;
  readonly unrestricted: Client;
}

/** Settings and storage that all services share. */
interface ServiceParts extends Pick<Service, 'store'> {
  readonly access: Access | undefined;
  readonly roles: Roles;
  readonly onMissing: OnMissing;
  readonly changes: Changes;
  readonly settings: Omit<Settings, 'host' | 'port' | 'workers' | 'shutdownTimeout'>;
}

/** Identities with the services made for them. */
const MOST_CLIENTS = 1000;

/** Cached models, with their documents. */
const MOST_KEPT = 16;

/** The operations that a client may use, by type. */
const offered = ({ types }: Model): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    [...types].flatMap(([name, { operations }]) => (operations.size === 0 ? [] : [[name, [...operations]] as const])),
  );

/** The clients of the model that is served at the time. After `close`, `current` throws a Problem. */
export function createClients(served: { readonly model: Model }, parts: ServiceParts) {
  const isServed = (model: Model): boolean => model === served.model;
  const clientsOf = memoized((model: Model) => clientsOfModel(model, parts, isServed));
  let isClosed = false;
  const current = (): Clients => {
    if (isClosed) throw unavailable('stopping');
    return clientsOf(served.model);
  };
  return {
    current,
    routesOf: (request: IncomingMessage): RoutesByRoot => current().of(request).routes,
    close: () => void (isClosed = true),
  };
}

function clientsOfModel(model: Model, parts: ServiceParts, isServed: (model: Model) => boolean): Clients {
  const { access, settings, store, roles, onMissing, changes } = parts;
  const models = createCache<Model>(MOST_KEPT);
  const queriesOf = createQueryResolver(settings);
  const types = new Map([...model.types.values()].map((type) => [type.path, type]));
  const clientWith = (
    rights: Rights,
    tokenName: string | null,
    identity = tokenName ?? '',
    role: string | null = null,
  ): Client => {
    let made: Model | undefined;
    const seen = (): Model => (made ??= models(rights.names, () => seenModel(model, rights)));
    const seenAs = ({ name }: RecordType): RecordType => {
      const type = seen().types.get(name);
      if (type === undefined) throw new Error(`The client does not know ${name}`);
      return type;
    };
    const serviceOf = memoized((type: RecordType): Service => ({
      type,
      rights,
      author: tokenName,
      identity,
      path: API_ROOT + encodeURIComponent(type.path),
      store,
      limits: settings,
      idempotencyHours: settings.idempotencyHours,
      queries: queriesOf(seenAs(type), rights),
      seen: seenAs(type),
      validators: validatorsOf(model)(type),
    }));
    const about = (): string => {
      const history = [...seen().types.values()].flatMap((type) => (type.history ? type.name : []));
      return JSON.stringify({ name: tokenName, role, types: offered(seen()), history });
    };
    const isCurrent = async (request: IncomingMessage): Promise<boolean> =>
      isServed(model) && (access === undefined || hasStill(request, access, client));
    const own = { $me: meOffer(about), [CHANGES]: changes.offerOf(model, rights, isCurrent) };
    const client: Client = {
      rights,
      tokenName,
      model,
      seen,
      serviceOf,
      routes: [
        createRoutes(API_ROOT, types, rights, serviceOf, BINDINGS, own),
        ...settings.dialects.map((name) => dialectRoutes(name, types, rights, serviceOf, queriesOf)),
      ],
    };
    return client;
  };
  /** Whether the credentials give the client that they gave. */
  async function hasStill(request: IncomingMessage, known: Access, { rights, tokenName }: Client): Promise<boolean> {
    try {
      const now = identified(await known.renewed(request));
      return now.rights.key === rights.key && now.tokenName === tokenName;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  }
  const granted = memoized((given: Granted, name: string) => clientWith(rightsOf(model, given), name));
  const unrestricted = clientWith(ALL_RIGHTS, null);
  const binderOf = memoized((role: Role) => createBinder(role, model, onMissing));
  const ofRole = createCache<Client>(MOST_CLIENTS);
  const identified = (identity: Identity): Client => {
    const { name, key, claims, granted: rights } = identity;
    const role = roles.get(identity.role ?? '');
    if (rights) return granted(rights, name ?? '');
    if (role === undefined) throw new Problem('forbidden', 'Your account has no role that this service knows');
    const bound = binderOf(role)(claims);
    return ofRole(`${bound.key}${key}`, () => clientWith(bound, name, key, role.name));
  };
  return {
    of: (request) => (access === undefined ? unrestricted : identified(access.identityOf(request))),
    granted,
    identified,
    unrestricted,
  };
}
