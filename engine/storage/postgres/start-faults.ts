/** Why a start cannot use the server: what it said, and what to do about it. */
import { NotYetThere, StartError } from '../../start-error.ts';
import { codeOf } from '../../files.ts';
import type { PostgresAddress } from './address.ts';
import { isConnectionLost, messageOf, sqlStateOf } from './errors.ts';

/** What stands between, where it cannot reach the server itself. */
const POOLER_WAITS = /cannot connect to server|server login (has been )?fail|server_login/i;
/** A socket of this machine that is not there yet. */
const NO_SOCKET = /^connect ENOENT/;

/** Whether waiting may help: nobody answers there, or the server is still starting. */
const isNotYetThere = (error: unknown): boolean =>
  isConnectionLost(error) && (sqlStateOf(error) !== '08P01' || POOLER_WAITS.test(messageOf(error)))
    ? true
    : NO_SOCKET.test(messageOf(error));

const CERTIFICATE = /certificate|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/i;
const NO_PASSWORD = /password must be a string|no password supplied|empty password/i;
/** What a statement by name gets on another connection than the one that learned it, and a setting of the session from a pooler. */
const POOLED = /prepared statement|bind message supplies|unsupported startup parameter/;

export const TRANSACTION_POOLER =
  'there is a pooler in transaction mode (PgBouncer) before the server: add prepared=off to the URL, or give this service a pool in session mode';

interface Cure {
  readonly when: (said: { readonly state: string; readonly message: string }) => boolean;
  readonly cure: string;
}

/** The first one that suits. */
const cures: readonly Cure[] = [
  {
    when: ({ message }) => NO_PASSWORD.test(message),
    cure: 'the URL has no password, and the server asks for one: postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  },
  {
    when: ({ state }) => state === '28P01',
    cure: 'check user and password in the URL; characters like @ and / must be percent-encoded',
  },
  {
    when: ({ state, message }) => state === '28000' && /no encryption|SSL off/.test(message),
    cure: 'the server wants an encrypted connection: add sslmode=require to the URL',
  },
  {
    when: ({ state }) => state === '28000',
    cure: 'the user must exist and may log in, and pg_hba.conf of the server must allow this address',
  },
  { when: ({ state }) => state === '3D000', cure: 'create the database, or correct its name in the URL' },
  {
    when: ({ state, message }) => state === '53300' || /no more connections allowed/.test(message),
    cure: 'max_connections of the server (or the limit of the user, the database or the pooler) is in use: lower pool in the URL of each instance, end what holds connections, or raise it',
  },
  {
    when: ({ message }) => /does not support SSL/.test(message),
    cure: 'sslmode=prefer, require and verify-ca all insist on an encrypted connection here: set sslmode=disable, or turn on SSL on the server',
  },
  {
    when: ({ message }) => CERTIFICATE.test(message),
    cure: 'sslmode=prefer, require and verify-ca all verify the certificate here: name its issuer with sslrootcert=FILE, or set sslmode=no-verify to encrypt without verifying',
  },
  {
    when: ({ state, message }) => state === '26000' || state === '42P05' || POOLED.test(message),
    cure: TRANSACTION_POOLER,
  },
  {
    when: ({ state }) => state === '42501',
    cure: 'grant it to the user of the URL, for the schema with GRANT USAGE, CREATE ON SCHEMA',
  },
];

/** What an operator can do about an error of the server; undefined if it says all by itself. */
export const cureOf = (error: unknown): string | undefined =>
  cures.find(({ when }) => when({ state: sqlStateOf(error), message: `${codeOf(error)} ${messageOf(error)}` }))?.cure;

/** ` (SQLSTATE 28P01): what the server said. What helps: …` */
function whyAndCure(error: unknown): string {
  const [state, message, cure] = [sqlStateOf(error), messageOf(error), cureOf(error)];
  const said = `${state === '' ? '' : ` (SQLSTATE ${state})`}: ${message || codeOf(error) || String(error)}`;
  return cure === undefined ? said : `${said}. What helps: ${cure}`;
}

export function startFault({ shown }: PostgresAddress, error: unknown): StartError {
  if (error instanceof StartError) return error;
  if (isNotYetThere(error))
    return new NotYetThere(`The database at ${shown} cannot be reached${whyAndCure(error)}`, { cause: error });
  return new StartError(`The database at ${shown} cannot be used${whyAndCure(error)}`, { cause: error });
}
