/** What every answer has, whatever it is about: headers, compression, entity tags; and the answers to OPTIONS. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import {
  addressed,
  type CallSetting,
  header,
  isPreflight,
  JSON_TYPE,
  PATCHES,
  preferred,
  READING,
  tagPlace,
} from './admission.ts';
import { allowedMethods, type Call, METHODS, takesBody } from './call.ts';
import type { Expectation } from './case.ts';
import { representAll } from './reads.ts';
import { refuse, refuseAt } from './refusal.ts';
import { reference } from './template.ts';
import { type Id, rowOf, type World } from './world.ts';

export type Headers = NonNullable<Expectation['headers']>;

/** Of every answer. `Vary` may name more. */
const ALWAYS: Headers = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};
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

// Entity tags: what each stands for, and what a request demands of it.

/** A record as the view of a request shows it; undefined where there is none. */
export const representation = (
  world: World,
  { type, view = {} }: Pick<Call, 'type' | 'view'>,
  id: Id,
): JsonObject | undefined => {
  const row = rowOf(world, type, id);
  return row && representAll(world, type, [row], view)[0];
};

/** What an entity tag stands for: the same text, the same tag. */
export const tagged = ({ type, list, view }: Call, ...content: readonly unknown[]): string =>
  JSON.stringify([type.name, list ?? {}, view ?? {}, content]);

/** Whether If-Match or If-None-Match names the tag. Weak ones and those of a coding only do where nothing is written. */
export function names(world: World, value: string, content: string, weakly: boolean): boolean {
  const listedTags = value.split(',').map((one) => one.trim());
  return listedTags.some((one) => {
    const [, weak, name = ''] = /^(W\/)?"\{(.*?)\}(-\w+)?"$/.exec(one) ?? [];
    return one === '*' || (world.tags.get(name) === content && (weakly || weak === undefined));
  });
}

/** Where nothing is there, a record is made. */
const isUnguarded = ({ on, unguarded }: Call, there: JsonObject | undefined): boolean =>
  on === undefined ? unguarded === true : there !== undefined;

/** `there`: what GET of the same address would answer; undefined where nothing is there. */
export function checkPreconditions({ world, call }: CallSetting, there: JsonObject | undefined): void {
  const [match, noneMatch] = [header(call, 'if-match'), header(call, 'if-none-match')];
  const fail = (name: string): never => refuse('precondition-failed', { headers: [name] });
  const onlyCreates = noneMatch === '*';
  if (match === undefined && isUnguarded(call, there) && call.type.preconditions === 'required' && !onlyCreates)
    refuse('precondition-required', { headers: ['If-Match'] });
  if (match !== undefined && (there === undefined || !names(world, match, tagged(call, there), false)))
    fail('If-Match');
  if (noneMatch !== undefined && there !== undefined && names(world, noneMatch, tagged(call, there), true))
    fail('If-None-Match');
}

/** Each item that is changed may have a tag, or must. */
export function checkTags(
  { world, call }: CallSetting,
  tags: readonly (JsonValue | undefined)[],
  there: readonly (JsonObject | undefined)[],
): void {
  if ((call.method === 'POST' && call.on === undefined) || call.type.preconditions === 'off') return;
  // What is not there yet is made.
  const isThere = (index: number): boolean => call.on === undefined || there[index] !== undefined;
  const untold = tags.flatMap((tag, index) => (tag === undefined && isThere(index) ? [tagPlace(index)] : []));
  const wrong = tags.flatMap((tag, index) =>
    tag === undefined || names(world, String(tag), tagged(call, there[index]), false) ? [] : [tagPlace(index)],
  );
  const isRequired = call.type.preconditions === 'required';
  // One kind is told: that of the first.
  if (isRequired && untold[0] !== undefined && (wrong[0] === undefined || isBefore(untold[0], wrong[0])))
    refuseAt('precondition-required', untold);
  refuseAt('precondition-failed', wrong);
}

const isBefore = (a: string, b: string): boolean => Number(a.split('/')[1]) < Number(b.split('/')[1]);
