/** Who sends a request: by its bearer token (RFC 6750), or nobody. The file of tokens is followed while the service runs. */
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';
import type { Settings } from '../settings.ts';
import { reasonOf, StartError } from '../start-error.ts';
import { type Grant, grantOf, parseGrants } from './tokens.ts';

export interface Access {
  /** Throws a Problem, `unauthorized`, where there is no token, or one that is not known. */
  grantOf(request: IncomingMessage): Grant;
  close(): void;
}

export type AccessSettings = Pick<Settings, 'tokens' | 'tokensFile'>;

export interface Reports {
  /** The file was read again. */
  readonly changed: (grants: readonly Grant[]) => void;
  /** It cannot be used: what was known before goes on. */
  readonly refused: (message: string) => void;
}

/** How often the file is looked at: rotation takes at most this long. */
const LOOK_MS = 1000;
const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i;

export const isGuarded = ({ tokens, tokensFile }: AccessSettings): boolean => tokens !== '' || tokensFile !== '';

/** Throws a StartError where the tokens cannot be read. */
export function openAccess({ tokens, tokensFile }: AccessSettings, reports: Reports): Access {
  let grants = allGrants(tokens, tokensFile);
  const look = (): void => {
    try {
      grants = allGrants(tokens, tokensFile);
      reports.changed(grants);
    } catch (error) {
      reports.refused(reasonOf(error));
    }
  };
  if (tokensFile !== '') watchFile(tokensFile, { interval: LOOK_MS, persistent: false }, look);
  return {
    grantOf: ({ headers }) => identified(headers.authorization, grants),
    close: () => unwatchFile(tokensFile, look),
  };
}

/** Who asks, as far as that is known: a token's name, else an address. Unknown tokens are as good as none. */
export function clientOf(request: IncomingMessage, access: Access | undefined): string {
  const address = request.socket.remoteAddress ?? '';
  if (access === undefined || request.headers.authorization === undefined) return address;
  try {
    return `token ${access.grantOf(request).name}`;
  } catch {
    return address;
  }
}

function allGrants(tokens: string, file: string): readonly Grant[] {
  const text = file === '' ? '' : readTokens(file);
  const { grants, faults } = parseGrants([text, tokens].filter((part) => part !== '').join('\n'));
  if (faults.length > 0) throw new StartError(`${file === '' ? 'TOKENS' : file}: ${faults.join('; ')}`);
  return grants;
}

function readTokens(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`TOKENS_FILE is "${file}", which cannot be read`, { cause: error });
  }
}

function identified(header: string | undefined, grants: readonly Grant[]): Grant {
  if (header === undefined) throw unauthorized('This needs a token: Authorization: Bearer TOKEN', 'Bearer');
  const [, token] = BEARER.exec(header) ?? [];
  const grant = token === undefined ? undefined : grantOf(token, grants);
  return grant ?? unknownToken();
}

function unknownToken(): never {
  throw unauthorized('The token is not known, or no longer', 'Bearer error="invalid_token"');
}

function unauthorized(message: string, challenge: string): Problem {
  return new Problem('unauthorized', message, {
    errors: [{ header: 'Authorization', code: 'unauthorized', message }],
    headers: { 'WWW-Authenticate': challenge },
  });
}
