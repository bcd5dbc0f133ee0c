/** Pages of other origins (Fetch standard, CORS protocol): those that are named may ask and see, others may not. */
import { collectionPath } from '../addresses.ts';
import type { Case, Request } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { doors, reading, withHeaders } from '../doors.ts';
import { type Scenario, step } from '../scenario.ts';

const GROUP = 'cors';

const STRANGER = 'https://elsewhere.example';
/** What scripts may see of answers besides what the standard lets them. */
const EXPOSED =
  'X-Total-Count, Link, ETag, Location, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id';
const SENT = 'Content-Type, Authorization, If-Match, If-None-Match, Idempotency-Key, Prefer';

/** Browsers ask in front whether they may, and send no token with that. */
const preflight = ({ method, path }: Request, origin: string): Request => ({
  method: 'OPTIONS',
  path,
  as: 'nobody',
  headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'content-type' },
});

function asked(scenario: Scenario, { type }: Context, origin: string, allowed: string | null): void {
  const seen = { 'access-control-allow-origin': allowed };
  const answered = { ...seen, ...(allowed === null ? {} : { 'access-control-expose-headers': EXPOSED }) };
  const expected = allowed === null || allowed === '*' ? answered : { ...answered, vary: 'Origin' };
  const path = collectionPath(type, ['_cnd[limit][1]=0']);
  if (type.operations.has('list'))
    step(scenario, { method: 'GET', path, headers: { origin } }, { status: 200, headers: expected, body: [] });
  const door = reading(type);
  if (door === undefined) return;
  const faulty = withHeaders({ ...door, path: `${door.path}?noSuchParameter=1` }, { origin });
  step(scenario, faulty, { status: 400, headers: expected, problem: { code: 'invalid-query' } });
}

function preflights(scenario: Scenario, { type }: Context, origin: string, allowed: string | null): void {
  const methods = [...new Set(doors(type).map(({ method }) => method))].join(', ');
  const permitted = {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': SENT,
    'access-control-max-age': '{age}',
  };
  const headers = { 'access-control-allow-origin': allowed, ...(allowed === null ? {} : permitted) };
  for (const door of doors(type)) step(scenario, preflight(door, origin), { status: 204, headers, empty: true });
}

function fromOrigin(context: Context, origin: string, allowed: string | null): Case[] {
  const { type } = context;
  const said = allowed === null ? 'which is not named' : 'which is named';
  return caseOf(context, GROUP, `${collectionPath(type)} from ${origin}, ${said}`, (scenario) => {
    preflights(scenario, context, origin, allowed);
    asked(scenario, context, origin, allowed);
  });
}

/** A page that is not named still may ask as everybody may who is no page: the browser is who keeps it from seeing. */
export function cors(context: Context): readonly Case[] {
  const { corsOrigins } = context.deployment;
  if (corsOrigins === undefined) return [];
  if (corsOrigins.includes('*')) return fromOrigin(context, STRANGER, '*');
  return [
    ...corsOrigins.flatMap((origin) => fromOrigin(context, origin, origin)),
    ...fromOrigin(context, STRANGER, null),
  ];
}
