/** A database that another program holds or that is full, and a service without memory: writes are refused whole, and go on afterwards. */
import { collectionPath, guard, itemPath } from '../addresses.ts';
import type { Case, Condition, Expectation, Request } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { fullBody } from '../obtain.ts';
import type { Id } from '../reference/world.ts';
import { get, post, put } from '../requests.ts';
import { type Scenario, step } from '../scenario.ts';

const GROUP = 'storage';

/** The record is what it was. */
function readDuring(scenario: Scenario, { type }: Context, given: Condition, id: Id): void {
  const body = scenario.reference.get(type, id) ?? {};
  step(scenario, { method: 'GET', path: itemPath(type, id) }, { status: 200, body }, [], { given });
}

const BUSY: Expectation = {
  status: 503,
  headers: { 'retry-after': '{wait:seconds}' },
  problem: { code: 'storage-busy' },
};
const OVERLOADED: Expectation = {
  status: 503,
  headers: { 'retry-after': '{wait:seconds}' },
  problem: { code: 'overloaded' },
};
const FULL: Expectation = { status: 507, problem: { code: 'storage-full' } };

function refusedWhile(context: Context, given: Condition, expect: Expectation, methods: readonly string[]): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `${methods.join(', ')} ${collectionPath(type)}, ${given}`, (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    const change = fullBody(scenario, type);
    const requests: Readonly<Record<string, Request>> = {
      POST: { method: 'POST', path: collectionPath(type), body: fullBody(scenario, type) },
      PUT: { method: 'PUT', path: itemPath(type, id), body: change, ...guard(type) },
      PATCH: { method: 'PATCH', path: itemPath(type, id), body: change, ...guard(type) },
      DELETE: { method: 'DELETE', path: itemPath(type, id), ...guard(type) },
    };
    for (const method of methods) {
      const request = requests[method];
      if (request) step(scenario, request, expect, [], { given });
    }
    if (given !== 'memory used up') readDuring(scenario, context, given, id);
    put(scenario, type, id, change);
    get(scenario, type, id);
  });
}

/** Each write waits for a while before it is given up: one stands for all. */
export function storage(context: Context): readonly Case[] {
  const { operations } = context.type;
  if (!(['create', 'get', 'update', 'delete'] as const).every((name) => operations.has(name))) return [];
  return [
    ...refusedWhile(context, 'database held', BUSY, ['PUT']),
    ...refusedWhile(context, 'database full', FULL, ['POST', 'PUT', 'PATCH', 'DELETE']),
    ...refusedWhile(context, 'memory used up', OVERLOADED, ['POST', 'PUT', 'PATCH']),
  ];
}
