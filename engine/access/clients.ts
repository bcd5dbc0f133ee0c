/** Finds the client of a request by its token: rights, routes and documents, kept once per set of rights. */
import type { IncomingMessage } from 'node:http';
import type { Service } from '../http/request.ts';
import type { Routes } from '../http/routes.ts';
import { createCache, memoized } from '../memo.ts';
import type { Model, RecordType } from '../model/model.ts';
import { ALL_RIGHTS, type Granted, type Rights, rightsOf, seenModel, type TypeNames } from '../model/rights.ts';
import type { Access } from './access.ts';

export interface Client {
  readonly rights: Rights;
  /** The name of its token; null without tokens. */
  readonly tokenName: string | null;
  /** All types. */
  readonly model: Model;
  /** The part of the Model that the client may see, for documents: the same for all clients with equal rights. */
  seen(): Model;
  serviceOf(type: RecordType): Service;
  /** Those below `/api`, or below the root of a dialect. */
  routesBelow(root: string): Routes;
}

export interface Clients {
  /** Throws a Problem, `unauthorized`, if there is no token, or an unknown one. */
  of(request: IncomingMessage): Client;
  granted(granted: Granted, name: string): Client;
  readonly unrestricted: Client;
}

/** Clients, and sets of rights with their documents, that are kept. */
const MOST_KEPT = 16;

type Make = (rights: Rights, tokenName: string | null) => Pick<Client, 'serviceOf' | 'routesBelow'>;

export function createClients(model: Model, access: Access | undefined, make: Make): Clients {
  const clients = createCache<Client>(MOST_KEPT);
  const models = createCache<Model>(MOST_KEPT);
  const clientWith = (rights: Rights, tokenName: string | null): Client => ({
    rights,
    tokenName,
    model,
    seen: () => models(rights.key, () => seenModel(model, rights)),
    ...make(rights, tokenName),
  });
  const granted = (given: Granted, name: string): Client =>
    clients(`${name} ${keyOf(given)}`, () => clientWith(rightsOf(model, given), name));
  const unrestricted = clientWith(ALL_RIGHTS, null);
  return {
    of: (request) => {
      if (access === undefined) return unrestricted;
      const grant = access.grantOf(request);
      return granted(grant, grant.name);
    },
    granted,
    unrestricted,
  };
}

const keyOf = memoized(({ read, write }: Granted) => JSON.stringify([listed(read), listed(write)]));

const listed = (names: TypeNames): unknown => (names === 'all' ? names : [...names].toSorted());
