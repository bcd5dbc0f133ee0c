/** The clients of a model: their rights, and the routes and services that these give them. */
import type { IncomingMessage } from 'node:http';
import type { Access } from './access/access.ts';
import { dialectRoutes } from './http/dialects/dialect.ts';
import type { Service } from './http/exchange.ts';
import { API_ROOT, createRoutes, type RoutesByRoot } from './http/routes.ts';
import { createCache, memoized } from './memo.ts';
import type { Model, RecordType } from './model/model.ts';
import { ALL_RIGHTS, type Granted, type Rights, rightsOf, seenModel } from './model/rights.ts';
import { createQueryResolver } from './query/resolve.ts';
import type { Settings } from './settings/settings.ts';
import { unavailable } from './storage/unavailable.ts';

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
  readonly unrestricted: Client;
}

/** Settings, storage and validators that all services share. */
export interface ServiceParts extends Pick<Service, 'store'> {
  readonly access: Access | undefined;
  readonly validatorsFor: (model: Model) => (type: RecordType) => Service['validators'];
  readonly settings: Omit<Settings, 'host' | 'port' | 'workers' | 'shutdownTimeout'>;
}

/** Cached models, with their documents. */
const MOST_KEPT = 16;

/** The clients of the model that is served at the time. After `close`, `current` throws a Problem. */
export function createClients(served: { readonly model: Model }, parts: ServiceParts) {
  const clientsOf = memoized((model: Model) => clientsOfModel(model, parts));
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

function clientsOfModel(model: Model, { access, validatorsFor, settings, store }: ServiceParts): Clients {
  const validatorsOf = validatorsFor(model);
  const models = createCache<Model>(MOST_KEPT);
  const queriesOf = createQueryResolver(settings);
  const types = new Map([...model.types.values()].map((type) => [type.path, type]));
  const clientWith = (rights: Rights, tokenName: string | null): Client => {
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
      path: API_ROOT + encodeURIComponent(type.path),
      store,
      limits: settings,
      idempotencyHours: settings.idempotencyHours,
      queries: queriesOf(seenAs(type), rights),
      seen: seenAs(type),
      validators: validatorsOf(type),
    }));
    return {
      rights,
      tokenName,
      model,
      seen,
      serviceOf,
      routes: [
        createRoutes(API_ROOT, types, rights, serviceOf),
        ...settings.dialects.map((name) => dialectRoutes(name, types, rights, serviceOf, queriesOf)),
      ],
    };
  };
  const granted = memoized((given: Granted, name: string) => clientWith(rightsOf(model, given), name));
  const unrestricted = clientWith(ALL_RIGHTS, null);
  return {
    of: (request) => {
      const grant = access?.grantOf(request);
      return grant === undefined ? unrestricted : granted(grant, grant.name);
    },
    granted,
    unrestricted,
  };
}
