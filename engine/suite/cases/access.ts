/** Tokens: nobody gets in without one, and who may only read does not write. */
import { collectionPath, itemPath, MISSING_ID } from '../addresses.ts';
import type { Case, Request, Sender } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { COLLECTION, doors, ITEM, METHODS, withBody } from '../doors.ts';
import { type Scenario, step } from '../scenario.ts';

const GROUP = 'access';

const CHALLENGES = { nobody: 'Bearer', stranger: 'Bearer error="invalid_token"' } as const;

/** Not even whether there is something. */
function shut(context: Context, as: keyof typeof CHALLENGES): Case[] {
  const { type } = context;
  const headers = { 'www-authenticate': CHALLENGES[as], vary: 'Authorization' };
  const problem = { code: 'unauthorized', headers: ['Authorization'] } as const;
  return caseOf(context, GROUP, `${collectionPath(type)} for ${as}`, (scenario) => {
    const others = [
      { method: 'OPTIONS', path: collectionPath(type) },
      { method: 'GET', path: `${collectionPath(type)}-none` },
    ];
    for (const door of [...doors(type), ...others])
      step(scenario, { ...withBody(door), as }, { status: 401, headers, problem });
    const head = { method: 'HEAD', path: collectionPath(type), as };
    step(scenario, head, { status: 401, headers, empty: true });
  });
}

const READER = { as: 'reader' as Sender };
const reads = ({ method }: Request): boolean => method === 'GET';

function forbidden(context: Context): Case[] {
  const writing = doors(context.type).filter((door) => !reads(door));
  const headers = { 'www-authenticate': 'Bearer error="insufficient_scope"' };
  return writing.flatMap((door) =>
    caseOf(context, GROUP, `${door.method} ${door.path} for who may only read`, (scenario) =>
      step(scenario, { ...withBody(door), ...READER }, { status: 403, headers, problem: { code: 'forbidden' } }),
    ),
  );
}

function offered(scenario: Scenario, { type }: Context): void {
  const paths = [
    [COLLECTION, collectionPath(type)],
    [ITEM, itemPath(type, MISSING_ID)],
  ] as const;
  for (const [operations, path] of paths) {
    const methods = operations.filter((name) => type.operations.has(name)).flatMap((name) => METHODS[name]);
    const allow = [...methods.filter((method) => method === 'GET' || method === 'HEAD'), 'OPTIONS'].join(', ');
    step(scenario, { method: 'OPTIONS', path, ...READER }, { status: 204, headers: { allow }, empty: true });
  }
}

function readable(context: Context): Case[] {
  const { type } = context;
  return caseOf(
    context,
    GROUP,
    `${collectionPath(type)} for who may only read: reads, and what is offered`,
    (scenario) => {
      const path = collectionPath(type, ['_cnd[limit][1]=0']);
      if (type.operations.has('list')) step(scenario, { method: 'GET', path, ...READER }, { status: 200, body: [] });
      offered(scenario, context);
    },
  );
}

export function access(context: Context): readonly Case[] {
  const { guarded, hasReader } = context.deployment;
  return [
    ...(guarded ? [...shut(context, 'nobody'), ...shut(context, 'stranger')] : []),
    ...(guarded && hasReader ? [...forbidden(context), ...readable(context)] : []),
  ];
}
