/** SQLSTATEs -> problems. An error that is not listed is a fault of the engine and is passed on unchanged. */
import { answerTooLong, Problem, NotYetThere, StartError } from '../../problem.ts';
import { ConstraintError } from '../driver.ts';
import type { PostgresAddress } from './address.ts';
import { diskFull, missingPrivilege, MissingObject, refusedByOthers, unavailable } from '../unavailable.ts';

const busy = (cause: unknown): Error => unavailable('busy', cause);
const unreachable = (cause: unknown): Error => unavailable('unreachable', cause);
const entryTooLong = (cause: unknown): Error =>
  new ConstraintError('too-long', cause, / for index "(.+)"/.exec(messageOf(cause))?.[1]);
/** Requests are validated first: only what newer descriptors or others bring to the database can refuse them here. */
const refused = (cause: unknown): Error => refusedByOthers(messageOf(cause), cause);
const privilege = (cause: unknown): Error =>
  textOf(cause, 'routine') === 'ExecWithCheckOptions'
    ? refused(cause)
    : missingPrivilege(new Error(stateOf(cause), { cause }));
const missing = (cause: unknown): Error => new MissingObject(new Error(stateOf(cause), { cause }));
const unique = (cause: unknown): Error => new ConstraintError('unique', cause);
const reference = (cause: unknown): Error => new ConstraintError('reference', cause);

/** By SQLSTATE, or by its class of two characters. */
const translations = new Map<string, (cause: unknown) => Error>([
  ['23505', unique],
  ['23503', reference],
  ['23001', reference],
  ['23P01', (cause) => new Problem('unique-conflict', messageOf(cause), { cause })],
  ['23', refused],
  ['44', refused],
  // Columns that others have made narrower.
  ['22001', refused],
  ['22003', refused],
  ['42501', privilege],
  ['42P01', missing],
  ['42703', missing],
  ['3F000', missing],
  ['40001', busy],
  ['40P01', busy],
  ['25P02', busy],
  ['25P03', unreachable],
  ['25P04', unreachable],
  ['55P03', busy],
  ['53', busy],
  ['25006', (cause) => unavailable('readOnly', cause)],
  ['53100', (cause) => diskFull(cause)],
  ['58030', (cause) => unavailable('broken', cause)],
  ['57P01', unreachable],
  ['57P02', unreachable],
  ['57P03', unreachable],
  ['57P05', unreachable],
  ['08', unreachable],
]);

/** States that say nothing of the row, wherever they come from: conflicts, limits, what is lost or cancelled. */
const OF_NO_ROW = /^(08|25|40|53|57|58|55P03|42501)/;
/** In the context of an error: a function that neither the engine has made nor a migration runs. */
const OTHERS = /\bfunction (?!inline_code_block|"?_records_)/;

const REPEATED = new Set(['40001', '40P01', '25P02']);
const GONE = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '25P04']);
/** What Node's sockets and the pool say; they have no SQLSTATE. */
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
const SILENT = /^Query read timeout/;
const MESSAGES =
  /^(Query read timeout|Connection terminated|timeout exceeded when trying to connect|Client (was closed|has encountered)|Cannot use a pool after)/;
const rowTooLong = (cause: unknown): Error =>
  new Problem('invalid-body', 'The record has too many long values for one row of the database', { cause });
/** The server's function that finds a page for a row. */
const PLACING = /^RelationGetBufferForTuple/;
/** The server's functions that make the entries of indexes: the SQLSTATE alone says less. */
const INDEXING = /^(_bt_check_third_page|index_form_tuple)/;
/** Those that make files longer: of ENOSPC the SQLSTATE says it, of EFBIG and EDQUOT only they do. */
const GROWING = /^(mdextend|mdzeroextend|BufFileDumpBuffer)$/;
const CROWDED = /^timeout exceeded when trying to connect/;

/** By property, not by class. */
function textOf(error: unknown, key: 'code' | 'message' | 'routine' | 'detail' | 'where'): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : '';
}

const codeOf = (error: unknown): string => textOf(error, 'code');
export const messageOf = (error: unknown): string => textOf(error, 'message');

/** Empty for what is no error of the server. */
export const sqlStateOf = (error: unknown): string =>
  /^[0-9A-Z]{5}$/.test(codeOf(error)) && codeOf(error) !== 'EPIPE' ? codeOf(error) : '';

/** It is not known what became of a statement that was running. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return GONE.has(code) || code.startsWith('08') || NETWORK.test(code) || MESSAGES.test(messageOf(error));
}

/** The server closed the connection before it did the statement that it was sent, and said so. */
const DISMISSED = new Set(['57P01', '57P05']);

/** The client knew before it sent anything. */
const UNSENT = /^(Client (was closed|has encountered)|Cannot use a pool after)/;

/** Nothing says whether a statement was done. */
export const isUnanswered = (error: unknown): boolean =>
  isConnectionLost(error) && !DISMISSED.has(codeOf(error)) && !UNSENT.test(messageOf(error));

/** The connection is there, and nothing came back on it in time. */
export const isSilent = (error: unknown): boolean => SILENT.test(messageOf(error));

/** The server ended a statement: its time was over, or it was cancelled. */
export const isCancelled = (error: unknown): boolean => codeOf(error) === '57014';

const ABORTED = '25P02';

/** An earlier statement of the transaction failed. */
export const isAborted = (error: unknown): boolean => codeOf(error) === ABORTED;

export const abortedBefore = (): Error =>
  Object.assign(new Error('A statement of the transaction had failed'), { code: ABORTED });

/** The server takes no writes, or took none when the connection was opened. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** Rows do not fit what was asked of them: a constraint, or a value that cannot be another type. */
export function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  if (code.startsWith('23') || code.startsWith('22')) return true;
  return error instanceof Error && error.cause !== undefined && isRefusal(error.cause);
}

/** What may succeed later: locks, limits of the server, lost connections. */
const PASSING = /^(08|25|40|53|55|57|58)/;

/** The database refused a statement, and would refuse it again. */
export function isFinal(error: unknown): boolean {
  const code = codeOf(error);
  if (/^[0-9A-Z]{5}$/.test(code)) return !PASSING.test(code) && !isConnectionLost(error);
  return error instanceof Error && error.cause !== undefined && isFinal(error.cause);
}

/** Another process changed a table for which this connection has a prepared statement. */
export const isStale = (error: unknown): boolean =>
  codeOf(error) === '0A000' && textOf(error, 'routine') === 'RevalidateCachedQuery';

/** The server, or a pooler, has as many connections as it may have. */
export const isFull = (error: unknown): boolean =>
  codeOf(error) === '53300' || /no more connections allowed/.test(messageOf(error));

/** A statement took longer than it may, or waited for a lock for longer. */
export const isLimit = (error: unknown): boolean =>
  isLocked(error) || isCancelled(error) || (error instanceof Problem && error.code === 'statement-timeout');

/** It waited for others for too long. */
export const isLocked = (error: unknown): boolean => codeOf(error) === '55P03';

/** The whole transaction was given up, and may succeed if it is repeated. */
export const isRepeatable = (error: unknown): boolean => REPEATED.has(codeOf(error)) || isStale(error);

/** Why, for people. */
export const postgresReasonOf = (error: unknown): string => messageOf(error) || codeOf(error) || String(error);

/** Classes of SQLSTATEs whose messages quote no values of records. */
const TELLING = /^(08|25|2B|3F|40|42|53|54|55|57|58)/;

/** What the database said, for operators: without values of records. */
export function stateOf(error: unknown): string {
  const said = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = codeOf(said);
  if (!/^[0-9A-Z]{5}$/.test(code)) return postgresReasonOf(said);
  // What depends on an object is in the detail.
  const detail = code.startsWith('2B') ? `: ${textOf(said, 'detail')}` : '';
  return TELLING.test(code) ? `SQLSTATE ${code}: ${messageOf(said)}${detail}` : `SQLSTATE ${code}`;
}

/** The error that callers of the driver see. */
export function translate(error: unknown): unknown {
  const code = codeOf(error);
  if (code.length === 5 && !OF_NO_ROW.test(code) && OTHERS.test(textOf(error, 'where'))) return refused(error);
  const known = translations.get(code) ?? translations.get(code.slice(0, 2));
  if (known && code.length === 5) return known(error);
  if (code === 'XX000' && GROWING.test(textOf(error, 'routine'))) return diskFull(error);
  if (code === '54000' && PLACING.test(textOf(error, 'routine'))) return rowTooLong(error);
  if (code === '54000') return (INDEXING.test(textOf(error, 'routine')) ? entryTooLong : answerTooLong)(error);
  if (CROWDED.test(messageOf(error))) return busy(error);
  return isConnectionLost(error) ? unreachable(error) : error;
}

// Why a start cannot use the server: what it said, and what to do about it.

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
