/** What a client finds behind the door: the Model and the routes that its token opens, made when it first comes. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Routes } from '../http/routes.ts';
import type { Model } from '../model/model.ts';
import type { Access } from './access.ts';
import { restrict, type Restricted } from './restrict.ts';
import type { Rights, Types } from './tokens.ts';

export interface Entrance {
  readonly model: Model;
  readonly routes: Routes;
}

export type OpenEntrance = (restricted: Restricted, scope: string) => Entrance;

/** Answers the entrance of each request; throws a Problem where it has none. */
export function createEntrances(
  model: Model,
  access: Access,
  open: OpenEntrance,
): (request: IncomingMessage) => Entrance {
  const entrances = new Map<string, Entrance>();
  return (request) => {
    const { name, ...rights } = access.grantOf(request);
    const scope = scopeOf(name, rights);
    const known = entrances.get(scope) ?? open(restrict(model, rights), scope);
    entrances.set(scope, known);
    return known;
  };
}

/** The same for the same client with the same rights. */
function scopeOf(name: string, { read, write }: Rights): string {
  const text = JSON.stringify([name, listed(read), listed(write)]);
  return `${createHash('sha256').update(text).digest('base64url')} `;
}

const listed = (types: Types): unknown => (types === 'all' ? types : [...types].toSorted());
