/** Identifies clients by bearer tokens (RFC 6750), and watches the file of tokens. */
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { followSettled } from '../files.ts';
import { memoized } from '../memo.ts';
import { Problem, reasonOf, StartError } from '../problem.ts';
import type { Settings } from '../settings/settings.ts';
import { type Grant, grantOf, type Grants, grantsByHash, parseGrants } from './tokens.ts';

export interface Access {
  /** Throws `unauthorized`. */
  grantOf(request: IncomingMessage): Grant;
  /** undefined without a valid token. */
  nameOf(request: IncomingMessage): string | undefined;
  close(): void;
}

type AccessSettings = Pick<Settings, 'tokens' | 'tokensFile'>;

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

export const isGuarded = ({ tokens, tokensFile }: AccessSettings): boolean => tokens !== '' || tokensFile !== '';

/** Throws a StartError if the tokens are unreadable or invalid. */
export function openAccess({ tokens, tokensFile: file }: AccessSettings, reports: Reports): Access {
  const unreadable = `TOKENS_FILE is "${file}", which cannot be read`;
  const parsed = (text = '') => parseGrants({ name: file, text }, { name: 'TOKENS', text: tokens });
  const text = file === '' ? undefined : readTokens(file, unreadable);
  const { grants: first, faults: wrong } = parsed(text);
  if (wrong.length > 0) throw new StartError(wrong.join('; '));
  let grants = grantsByHash(first);
  reports.granted(first);
  if (first.length === 0)
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
  const resultOf = memoized(({ headers }: IncomingMessage) => identified(headers.authorization, grants));
  return {
    grantOf: (request) => {
      const grant = resultOf(request);
      if (grant instanceof Problem) throw grant;
      return grant;
    },
    nameOf: (request) => {
      const grant = resultOf(request);
      return grant instanceof Problem ? undefined : grant.name;
    },
    close: () => void stop?.(),
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

function readTokens(file: string, unreadable: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(unreadable, { cause: error });
  }
}

function identified(header: string | undefined, grants: Grants): Grant | Problem {
  if (header === undefined) return unauthorized('This request needs a token: Authorization: Bearer TOKEN', 'Bearer');
  // Another scheme counts as no credentials (RFC 6750, 3): the client keeps its token.
  if (!BEARER_SCHEME.test(header))
    return unauthorized('The service takes tokens only, not other credentials: Authorization: Bearer TOKEN', 'Bearer');
  const [, token] = BEARER.exec(header) ?? [];
  const grant = token === undefined ? undefined : grantOf(token, grants);
  return grant ?? unauthorized('The token is unknown or was revoked', 'Bearer error="invalid_token"');
}

const unauthorized = (message: string, challenge: string): Problem =>
  new Problem('unauthorized', message, {
    errors: [{ header: 'Authorization', code: 'unauthorized', message }],
    headers: { 'WWW-Authenticate': challenge },
  });
