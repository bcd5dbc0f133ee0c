/** Clients are known by bearer tokens (RFC 6750). The file of tokens is followed while the service runs. */
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { memoized } from '../memo.ts';
import { Problem, reasonOf, StartError } from '../problem.ts';
import type { Settings } from '../settings/settings.ts';
import { followSettled } from '../files.ts';
import { type Grant, grantOf, type ParsedGrants, parseGrants } from './tokens.ts';
import { networkOf } from '../edge/admission.ts';

export interface Access {
  /** Throws a Problem, `unauthorized`, if there is no token, or an unknown one. */
  grantOf(request: IncomingMessage): Grant;
  close(): void;
}

type AccessSettings = Pick<Settings, 'tokens' | 'tokensFile'>;

export interface Reports {
  /** The file was reloaded: the grants that are valid now. */
  readonly changed: (grants: readonly Grant[]) => void;
  /** Lines of the file that give no access, and why. */
  readonly refused: (faults: readonly string[]) => void;
}

/** Milliseconds between polls of the file. A change takes effect after two polls, so within two seconds. */
const POLL_MS = 500;
const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i;
const BEARER_SCHEME = /^Bearer(?: |$)/i;

export const isGuarded = ({ tokens, tokensFile }: AccessSettings): boolean => tokens !== '' || tokensFile !== '';

/** Throws a StartError if the tokens cannot be read. */
export function openAccess({ tokens, tokensFile }: AccessSettings, reports: Reports): Access {
  const text = tokensFile === '' ? undefined : readTokens(tokensFile);
  const first = parseAll(tokens, tokensFile, text);
  if (first.faults.length > 0) throw new StartError(first.faults.join('; '));
  let { grants } = first;
  if (grants.length === 0)
    reports.refused([
      `${tokensFile === '' ? 'TOKENS has' : `TOKENS_FILE is "${tokensFile}", which has`} no tokens: nobody has access`,
    ]);
  const take = (found: TokenText): void => {
    const { grants: now, faults } = parseAll(tokens, tokensFile, found.text);
    grants = now;
    reports.changed(grants);
    const all = found.reason === undefined ? faults : [`${unreadable(tokensFile)}: ${found.reason}`, ...faults];
    if (all.length > 0) reports.refused(all);
  };
  const stop = text === undefined || !isFollowed(tokensFile) ? () => undefined : follow(tokensFile, text, take);
  // The log asks when the request is over, and its token may have been revoked meanwhile.
  const grantedTo = memoized(({ headers }: IncomingMessage) => identified(headers.authorization, grants));
  return { grantOf: grantedTo, close: () => void stop() };
}

/** The state of the file at one poll. */
interface TokenText {
  readonly text?: string;
  /** Why there is no text. */
  readonly reason?: string;
}

/**
 * A missing or unreadable file has no tokens: otherwise removing it would revoke nothing. A file that an editor empties
 * before writing it does no harm, since a change counts only if two polls find it.
 */
const follow = (file: string, text: string, take: (found: TokenText) => void): (() => Promise<void>) =>
  followSettled<TokenText>(JSON.stringify({ text }), {
    look: () =>
      readFile(file, 'utf8').then(
        (found) => ({ text: found }),
        (error: unknown) => ({ reason: reasonOf(error) }),
      ),
    textOf: (found) => JSON.stringify(found),
    every: POLL_MS,
    changed: take,
  });

/** A pipe can only be read once. */
const isFollowed = (file: string): boolean => statSync(file).isFile();

/** The name of the client for the rate limit: that of its token, else its address. An unknown token counts as none. */
export function clientOf(request: IncomingMessage, address: string, access: Access | undefined): string {
  const name = tokenNameOf(request, access);
  return name === undefined ? networkOf(address) : `token ${name}`;
}

/** undefined without a token, or for one that is unknown. */
export function tokenNameOf(request: IncomingMessage, access: Access | undefined): string | undefined {
  if (access === undefined || request.headers.authorization === undefined) return undefined;
  try {
    return access.grantOf(request).name;
  } catch {
    return undefined;
  }
}

function parseAll(tokens: string, file: string, text: string | undefined): ParsedGrants {
  return parseGrants({ name: file, text: text ?? '' }, { name: 'TOKENS', text: tokens });
}

function readTokens(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(unreadable(file), { cause: error });
  }
}

const unreadable = (file: string): string => `TOKENS_FILE is "${file}", which cannot be read`;

function identified(header: string | undefined, grants: readonly Grant[]): Grant {
  if (header === undefined) throw unauthorized('This request needs a token: Authorization: Bearer TOKEN', 'Bearer');
  // As if there were none (RFC 6750, 3): a client that knows another scheme must not discard a token.
  if (!BEARER_SCHEME.test(header))
    throw unauthorized('The service takes tokens only, not other credentials: Authorization: Bearer TOKEN', 'Bearer');
  const [, token] = BEARER.exec(header) ?? [];
  const grant = token === undefined ? undefined : grantOf(token, grants);
  return grant ?? unknownToken();
}

function unknownToken(): never {
  throw unauthorized('The token is unknown or was revoked', 'Bearer error="invalid_token"');
}

function unauthorized(message: string, challenge: string): Problem {
  return new Problem('unauthorized', message, {
    errors: [{ header: 'Authorization', code: 'unauthorized', message }],
    headers: { 'WWW-Authenticate': challenge },
  });
}
