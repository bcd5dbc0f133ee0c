/** Identifies clients: by the host application, by bearer tokens (RFC 6750) or JWT, or as anonymous; watches the file of tokens. */
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { followSettled } from '../files.ts';
import type { Granted } from '../model/rights.ts';
import { faultyRequest, Problem, reasonOf, StartError } from '../problem.ts';
import type { Settings } from '../settings/settings.ts';
import type { Claims } from './conditions.ts';
import { accessFiles } from './roles.ts';
import { type Grant, grantOf, type Grants, grantsByHash, isOfRole, parseGrants } from './tokens.ts';

/** Who sends a request: with the rights of a token, or with a role. */
export interface Identity {
  /** The value of `createdBy`; null for anonymous clients. */
  readonly name: string | null;
  /** Whose idempotency keys it uses; tokens have their names. */
  readonly key: string;
  readonly granted?: Granted;
  readonly role?: string | undefined;
  readonly claims: Claims;
}

/** An identity as a host application gives it. */
export interface GivenIdentity {
  readonly name: string;
  readonly role: string;
  readonly claims?: Claims | undefined;
}

export type Identify = (request: IncomingMessage) => GivenIdentity | undefined | Promise<GivenIdentity | undefined>;

/** Verifies JWT; undefined for what is none of its issuers. */
export interface Issuers {
  /** A Promise unless the token was verified before. */
  identityOf(token: string): Identity | Problem | Promise<Identity | Problem>;
  close(): void;
}

export interface Access {
  /** Must have resolved before the others are asked; undefined if there is nothing to await. */
  ready(request: IncomingMessage): Promise<void> | undefined;
  /** Throws `unauthorized`. */
  identityOf(request: IncomingMessage): Identity;
  /** Asks anew: during a long response, credentials may be revoked or expire. Throws `unauthorized`. */
  renewed(request: IncomingMessage): Promise<Identity>;
  /** undefined without valid credentials. */
  nameOf(request: IncomingMessage): string | undefined;
  close(): void;
}

type AccessSettings = Pick<Settings, 'tokens' | 'tokensFile' | 'accessDirectory'> & {
  readonly identify?: Identify | undefined;
};

export interface Reports {
  /** Called at the start and after each change. */
  readonly granted: (grants: readonly Grant[]) => void;
  readonly changed: (grants: readonly Grant[]) => void;
  /** Reports invalid lines of the file. */
  readonly refused: (faults: readonly string[]) => void;
}

/** Two polls must see a change: it takes effect within two seconds. */
const POLL_MS = 500;
const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i;
const BEARER_SCHEME = /^Bearer(?: |$)/i;
const MAX_TOKEN = 8192;

const ANONYMOUS = 'anonymous';

/** Whether requests need an identity, if only the role `anonymous`. */
export const isGuarded = ({ tokens, tokensFile, accessDirectory, identify }: AccessSettings): boolean =>
  tokens !== '' || tokensFile !== '' || identify !== undefined || accessFiles(accessDirectory).length > 0;

/** Throws a StartError if the tokens are unreadable or invalid. */
export function openAccess(
  { tokens, tokensFile: file, identify }: AccessSettings,
  roles: ReadonlySet<string>,
  issuers: Issuers | undefined,
  reports: Reports,
): Access {
  const unreadable = `TOKENS_FILE is "${file}", which cannot be read`;
  const parsed = (text = '') => parseGrants(roles, { name: file, text }, { name: 'TOKENS', text: tokens });
  const text = file === '' ? undefined : readTokens(file, unreadable);
  const { grants: first, faults: wrong } = parsed(text);
  if (wrong.length > 0) throw new StartError(wrong.join('; '));
  let grants = grantsByHash(first);
  reports.granted(first);
  if (first.length === 0 && tokens + file !== '')
    reports.refused([
      `${file === '' ? 'TOKENS has' : `TOKENS_FILE is "${file}", which has`} no tokens: nobody has access`,
    ]);
  // A pipe can be read only once.
  const isFollowed = text !== undefined && statSync(file).isFile();
  // A change counts only if two polls see it: editors may empty the file before writing.
  const stop = isFollowed
    ? followSettled(text, { look: () => readFile(file, 'utf8').catch(reasonOf), every: POLL_MS, changed: reload })
    : undefined;
  // The log needs the name after the request, when the token may have been revoked.
  const known = new WeakMap<IncomingMessage, Identity | Problem>();
  const ofCredentials = ({ headers }: IncomingMessage) =>
    identified(headers.authorization, grants, issuers, roles.has(ANONYMOUS));
  const askAnew = async (request: IncomingMessage): Promise<Identity | Problem> => {
    const given = await identify?.(request);
    return given === undefined ? ofCredentials(request) : ofHost(given);
  };
  return {
    ready: (request) => {
      if (known.has(request)) return undefined;
      const found = identify ? askAnew(request) : ofCredentials(request);
      if (found instanceof Promise) return found.then((identity) => void known.set(request, identity));
      known.set(request, found);
      return undefined;
    },
    identityOf: (request) => {
      const found = known.get(request);
      if (found === undefined) throw new Error('The client of this request was not awaited');
      return accepted(found);
    },
    renewed: async (request) => accepted(await askAnew(request)),
    nameOf: (request) => {
      const identity = known.get(request);
      return identity === undefined || identity instanceof Problem ? undefined : (identity.name ?? undefined);
    },
    close: () => {
      void stop?.();
      issuers?.close();
    },
  };

  /** An unreadable file has no tokens: removing it revokes all. */
  async function reload(): Promise<void> {
    const unread: string[] = [];
    const found = await readFile(file, 'utf8').catch((error: unknown) => {
      unread.push(`${unreadable}: ${reasonOf(error)}`);
      return undefined;
    });
    const { grants: now, faults } = parsed(found);
    grants = grantsByHash(now);
    reports.granted(now);
    reports.changed(now);
    if (unread.length + faults.length > 0) reports.refused([...unread, ...faults]);
  }
}

function accepted(identity: Identity | Problem): Identity {
  if (identity instanceof Problem) throw identity;
  return identity;
}

function readTokens(file: string, unreadable: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`${unreadable}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Throws a TypeError if a host application gives something else. */
export function ofHost(given: GivenIdentity): Identity {
  const { name, role, claims = {} } = given;
  if (typeof name !== 'string' || name === '' || typeof claims !== 'object' || claims === null)
    throw new TypeError(
      'An identity is { name, role, claims }, with a name that is not empty, and claims as an object',
    );
  // Names of tokens have no space.
  return { name, key: `host ${name}`, role: typeof role === 'string' ? role : undefined, claims };
}

function identified(
  header: string | undefined,
  grants: Grants,
  issuers: Issuers | undefined,
  hasAnonymous: boolean,
): Identity | Problem | Promise<Identity | Problem> {
  if (header === undefined && hasAnonymous) return { name: null, key: ' anonymous', role: ANONYMOUS, claims: {} };
  if (header === undefined) return unauthorized('This request needs a token: Authorization: Bearer TOKEN', 'Bearer');
  // Another scheme counts as no credentials (RFC 6750, 3): the client keeps its token.
  if (!BEARER_SCHEME.test(header))
    return unauthorized('The service takes tokens only, not other credentials: Authorization: Bearer TOKEN', 'Bearer');
  const [, token = ''] = BEARER.exec(header) ?? [];
  if (token === '' || token.length > MAX_TOKEN) return invalidToken();
  const grant = grantOf(token, grants);
  if (grant === undefined) return issuers?.identityOf(token) ?? invalidToken();
  const { name } = grant;
  if (!isOfRole(grant)) return { name, key: name, granted: grant, claims: { sub: name } };
  return { name, key: name, role: grant.role, claims: { ...grant.claims, sub: name } };
}

export const invalidToken = (message = 'The token is unknown or was revoked'): Problem =>
  unauthorized(message, 'Bearer error="invalid_token"');

const unauthorized = (message: string, challenge: string): Problem =>
  faultyRequest('unauthorized', [{ header: 'Authorization', code: 'unauthorized', message }], {
    headers: { 'WWW-Authenticate': challenge },
  });
