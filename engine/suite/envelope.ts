/** What every answer has, whatever it is about; and the answers to OPTIONS. */
import { allowedMethods, type Call, METHODS, takesBody } from './call.ts';
import {
  addressed,
  type CallSetting,
  header,
  isPreflight,
  JSON_TYPE,
  PATCHES,
  preferred,
  READING,
} from './admission.ts';
import type { Expectation } from './case.ts';
import { reference } from './template.ts';

export type Headers = NonNullable<Expectation['headers']>;

/** Of every answer. `Vary` may name more. */
const ALWAYS: Headers = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' };
const VARY = ['Accept', 'Accept-Encoding', 'Prefer'];

/** In characters: the service compresses answers that are at least this long. */
export const LONG = 4096;

/** What scripts of other origins may see of answers, and send, besides what the Fetch standard lets them. */
const EXPOSED =
  'X-Total-Count, Content-Range, Link, ETag, Location, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, X-Position';
const SENT = 'Content-Type, Authorization, If-Match, If-None-Match, Idempotency-Key, Prefer, Range';

export function options({ call }: CallSetting): Expectation {
  const { type, as } = call;
  const all = allowedMethods(type, addressed(call) ?? 'collection');
  const allow = as === 'reader' ? all.filter((method) => READING.includes(method)) : all;
  const takes = addressed(call) === 'item' ? PATCHES : [JSON_TYPE];
  const patches = allow.includes('PATCH') ? takes.join(', ') : null;
  return { status: 204, headers: { allow: allow.join(', '), 'accept-patch': patches }, empty: true };
}

/** The origin that may see the answer; undefined if the request has no origin. */
function allowedOrigin({ call, deployment: { corsOrigins } }: CallSetting): string | null | undefined {
  const origin = header(call, 'origin');
  if (origin === undefined || corsOrigins === undefined) return undefined;
  return corsOrigins.includes('*') ? '*' : corsOrigins.includes(origin) ? origin : null;
}

/** Before a request of another origin, browsers ask whether they may send it. That request has no token. */
export function preflight({ call: { type } }: CallSetting): Expectation {
  const methods = new Set([...type.operations].flatMap((operation): readonly string[] => METHODS[operation]));
  methods.delete('HEAD');
  const headers = {
    'access-control-allow-methods': [...methods].join(', '),
    'access-control-allow-headers': SENT,
    'access-control-max-age': '{age}',
  };
  return { status: 204, headers, empty: true };
}

function ofOrigin(setting: CallSetting, headers: Headers): Headers {
  const allowed = allowedOrigin(setting);
  if (allowed === undefined) return headers;
  const isAsked = isPreflight(setting.call);
  if (allowed === null) return { ...(isAsked ? {} : headers), 'access-control-allow-origin': null };
  const exposed = isAsked ? {} : { 'access-control-expose-headers': EXPOSED };
  return { ...headers, ...exposed, 'access-control-allow-origin': allowed };
}

/** null: it must not be compressed; undefined: short ones need not be. */
export function compressed(call: Call, length: number): string | null | undefined {
  const accepted = header(call, 'accept-encoding');
  if (accepted === undefined) return undefined;
  const coding = preferred(accepted, ['br', 'gzip']);
  return coding === undefined ? null : length < LONG ? undefined : coding;
}

const isName = (text: string): boolean => /^[\w.:/+=-]{1,128}$/.test(text);

/** What every answer has. */
export function completed(setting: CallSetting, expect: Expectation): Expectation {
  const { call, given } = setting;
  const { headers: { vary, ...headers } = {}, ...rest } = expect;
  const { parameters = [] } = rest.problem ?? {};
  const coding = compressed(call, parameters.length * 150 + JSON.stringify(rest.body ?? '').length);
  const id = header(call, 'x-request-id') ?? '';
  const origin = allowedOrigin(setting);
  const isNamed = typeof origin === 'string' && origin !== '*';
  return {
    ...rest,
    ...(call.bound !== undefined && !takesBody(call) ? { body: reference(call.bound) } : {}),
    headers: {
      ...ALWAYS,
      'x-request-id': isName(id) ? id : '{*}',
      ...(coding === undefined ? {} : { 'content-encoding': coding }),
      ...(given === 'service stopping' ? { connection: 'close' } : {}),
      ...(call.length === undefined ? {} : { 'content-length': `{${call.length}}` }),
      ...ofOrigin(setting, headers),
      vary: [...VARY, ...(vary ? [vary] : []), ...(isNamed ? ['Origin'] : [])].join(', '),
    },
  };
}
