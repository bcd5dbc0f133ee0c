/** Translates SQLSTATEs to problems, and classifies errors by their innermost cause. Other errors are bugs of the engine. */
import { answerTooLong, innermost, Problem, NotYetThere, StartError, tooNested } from '../../problem.ts';
import { ConstraintError, type RulePlace } from '../driver.ts';
import type { PostgresAddress } from './address.ts';
import { diskFull, isOutage, MissingObject, RefusedByOthers, unavailable } from '../unavailable.ts';

function textOf(error: unknown, key: string): string {
  const value: unknown = Reflect.get(Object(innermost(error)), key);
  return typeof value === 'string' ? value : '';
}

const codeOf = (error: unknown): string => textOf(error, 'code');
const messageOf = (error: unknown): string => textOf(error, 'message');

type Translate = (cause: unknown) => Error;

const busy: Translate = (cause) => unavailable('busy', cause);
const unreachable: Translate = (cause) => unavailable('unreachable', cause);
/** Requests are valid here: only newer descriptors or third-party rules refuse them. */
const refused: Translate = (cause) => new RefusedByOthers(messageOf(cause), cause, placeOf(cause));
const placeOf = (cause: unknown): RulePlace => ({
  column: textOf(cause, 'column') || undefined,
  constraint: textOf(cause, 'constraint') || undefined,
});

const tooLong: Translate = (cause) =>
  new ConstraintError('too-long', cause, { constraint: / for index "(.+)"/.exec(messageOf(cause))?.[1] });
const invalidRow: Translate = (cause) =>
  new Problem('invalid-body', 'The record has too many long values for one row of the database', { cause });
/** Its list of time zones is older than that of Node.js. */
const unknownZone: Translate = (cause) =>
  new Problem('invalid-query', 'The database does not know the time zone', { cause });
const UNPRIVILEGED = 'The database user of the service lacks a privilege; the log of the service says which one';
const redacted = (cause: unknown): Error => new Error(stateOf(cause), { cause });

/** `SQLSTATE routine` -> problem; the first match applies. The routine is a function of the server. */
const TRANSLATIONS: readonly (readonly [RegExp, Translate])[] = [
  // A deferrable constraint of others cannot decide ON CONFLICT, without which the transaction that follows inserts.
  [/^(23505|55000 ExecCheckIndexConstraints)/, (cause) => new ConstraintError('unique', cause, placeOf(cause))],
  [/^(23503|23001)/, (cause) => new ConstraintError('reference', cause, placeOf(cause))],
  [/^23P01/, (cause) => new RefusedByOthers(messageOf(cause), cause, placeOf(cause), 'unique-conflict')],
  // Third-party objects cause these: a view, a rule, an expression, a publication or a narrowed column.
  [/^(42501 ExecWithCheckOptions|0A000 RewriteQuery|\w+ CheckCmdReplicaIdentity|23|44|22(?!023))/, refused],
  [/^42501/, (cause) => new Problem('missing-privilege', UNPRIVILEGED, { cause: redacted(cause) })],
  [/^(42P01|42703|3F000)/, (cause) => new MissingObject(redacted(cause))],
  // ENOSPC has a SQLSTATE; only the failing routine reveals EFBIG and EDQUOT.
  [/^(53100|XX000 (mdextend|mdzeroextend|BufFileDumpBuffer)$)/, (cause) => diskFull(cause)],
  [/^58030/, (cause) => unavailable('broken', cause)],
  [/^25006/, (cause) => unavailable('readOnly', cause)],
  [/^54000 RelationGetBufferForTuple/, invalidRow],
  [/^54000 (_bt_check_third_page|index_form_tuple)/, tooLong],
  [/^54000/, answerTooLong],
  [/^54001/, tooNested],
  [/^22023 timestamp(tz)?_zone/, unknownZone],
  [/^53300/, (cause) => unavailable('connections', cause)],
  [/^55P03/, (cause) => unavailable('locks', cause)],
  [/^(40001|40P01|25P02|53)/, busy],
];

/** Conflicts, limits, lost or cancelled statements: no row causes these. */
const NOT_ABOUT_ROWS = /^(08|25|40|53|57|58|55P03|42501)/;
/** Matches errors of functions that are not the engine's. */
const FOREIGN_FUNCTION = /\bfunction (?!inline_code_block|(?:[^(]*\.)?"?_records_)/;

export function translate(error: unknown): unknown {
  const state = sqlStateOf(error);
  if (state !== '' && !NOT_ABOUT_ROWS.test(state) && FOREIGN_FUNCTION.test(textOf(error, 'where')))
    return refused(error);
  const [, known] = TRANSLATIONS.find(([pattern]) => pattern.test(`${state} ${textOf(error, 'routine')}`)) ?? [];
  if (known) return known(error);
  return isConnectionLost(error) ? unreachable(error) : error;
}

/** Whatever keeps the service from connecting, it is not the request. */
export function connectFault(error: unknown): Error {
  if (isFull(error)) return unavailable('connections', error);
  // All connections of the pool are in use.
  if (messageOf(error).startsWith('timeout exceeded when trying to connect')) return busy(error);
  const known = translate(error);
  return known instanceof Problem && isOutage(known) ? known : unreachable(error);
}

const sqlStateOf = (error: unknown): string =>
  /^[0-9A-Z]{5}$/.test(codeOf(error)) && codeOf(error) !== 'EPIPE' ? codeOf(error) : '';

const LOST_CODES = /^(08|57P0[1-5]|25P03|25P04|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
/** Errors that pg raises before it sends the statement. */
const UNSENT_MESSAGES = /^(Client (was closed|has encountered)|Cannot use a pool after)/;
const LOST_MESSAGES = /^(Query read timeout|Connection terminated|timeout exceeded when trying to connect)/;

export const isConnectionLost = (error: unknown): boolean =>
  LOST_CODES.test(codeOf(error)) || UNSENT_MESSAGES.test(messageOf(error)) || LOST_MESSAGES.test(messageOf(error));

/** The statement might have run; after 57P01 and 57P05, it has not. */
export const isUnanswered = (error: unknown): boolean =>
  isConnectionLost(error) && !/^57P0[15]/.test(codeOf(error)) && !UNSENT_MESSAGES.test(messageOf(error));

export const silent = (): Error => new Error('Query read timeout');

export const isSilent = (error: unknown): boolean => messageOf(error) === 'Query read timeout';

export const isCancelled = (error: unknown): boolean => codeOf(error) === '57014';

export const isDividedByZero = (error: unknown): boolean => codeOf(error) === '22012';

export const abortedBefore = (): Error =>
  Object.assign(new Error('A statement of the transaction had failed'), { code: '25P02' });

export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** Another process has changed a table of a prepared statement, or dropped the type of one of its parameters. */
export const isStale = (error: unknown): boolean =>
  (codeOf(error) === '0A000' && textOf(error, 'routine') === 'RevalidateCachedQuery') ||
  (codeOf(error) === 'XX000' && messageOf(error).startsWith('cache lookup failed for type'));

export const isRepeatable = (error: unknown): boolean =>
  ['40001', '40P01', '25P02'].includes(codeOf(error)) || isStale(error);

/** The server refuses connections while it starts or shuts down. */
export const isRefusing = (error: unknown): boolean => codeOf(error) === '57P03';

const SERVER_FULL = /^53300|no more connections allowed/;

export const isFull = (error: unknown): boolean => SERVER_FULL.test(`${codeOf(error)} ${messageOf(error)}`);

/** Retrying is useless: the cause is no lock, limit or lost connection. */
export function isFinal(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== '' && !/^(08|25|40|53|55|57|58)/.test(state);
}

export const isLockTimeout = (error: unknown): boolean => /^(55P03|57014)/.test(codeOf(error));

export const postgresReasonOf = (error: unknown): string => messageOf(error) || codeOf(error) || String(error);

/** Classes of SQLSTATEs whose messages quote no values of records. */
const SAFE_CLASSES = /^(08|25|28|2B|3D|3F|40|42|53|54|55|57|58)/;

/** The database's message for operators, without record values. */
export function stateOf(error: unknown): string {
  const code = sqlStateOf(error);
  if (code === '') return postgresReasonOf(innermost(error));
  const detail = code.startsWith('2B') ? `: ${textOf(error, 'detail')}` : '';
  return SAFE_CLASSES.test(code) ? `SQLSTATE ${code}: ${messageOf(error)}${detail}` : `SQLSTATE ${code}`;
}

const isNotYetThere = (error: unknown): boolean =>
  (isConnectionLost(error) && sqlStateOf(error) !== '08P01') ||
  /^connect ENOENT|cannot connect to server|server login (has been )?fail|server_login/i.test(messageOf(error));

export const TRANSACTION_POOLER =
  'there is a pooler in transaction mode (PgBouncer) before the server: add prepared=off to the URL, or give this service a pool in session mode';

/** `SQLSTATE message` -> hint; the first match applies. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /password must be a string|no password supplied|empty password/i,
    'the URL has no password, and the server asks for one: postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  ],
  [/^28P01/, 'check user and password in the URL; characters like @ and / must be percent-encoded'],
  [/^28000.*(no encryption|SSL off)/s, 'the server wants an encrypted connection: add sslmode=require to the URL'],
  [/^28000/, 'the user must exist and may log in, and pg_hba.conf of the server must allow this address'],
  [/^3D000/, 'create the database, or correct its name in the URL'],
  [
    SERVER_FULL,
    'max_connections of the server (or the limit of the user, the database or the pooler) is in use: lower pool in the URL of each instance, end what holds connections, or raise it',
  ],
  [
    /does not support SSL/,
    'sslmode=prefer, require and verify-ca all insist on an encrypted connection here: set sslmode=disable, or turn on SSL on the server',
  ],
  [
    /certificate|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/i,
    'sslmode=prefer, require and verify-ca all verify the certificate here: name its issuer with sslrootcert=FILE, or set sslmode=no-verify to encrypt without verifying',
  ],
  // The connection has no statement of this name, or the pooler refuses a setting.
  [/^26000|^42P05|prepared statement|bind message supplies|unsupported startup parameter/, TRANSACTION_POOLER],
  [/^42501/, 'grant it to the user of the URL, for the schema with GRANT USAGE, CREATE ON SCHEMA'],
];

export const hintOf = (error: unknown): string | undefined =>
  HINTS.find(([pattern]) => pattern.test(`${codeOf(error)} ${messageOf(error)}`))?.[1];

export function startFault({ shown }: PostgresAddress, fault: unknown): StartError {
  if (fault instanceof StartError) return fault;
  const error = innermost(fault);
  const [state, hint] = [sqlStateOf(error), hintOf(error)];
  const why = `${state === '' ? '' : ` (SQLSTATE ${state})`}: ${postgresReasonOf(error)}${hint === undefined ? '' : `. What helps: ${hint}`}`;
  return isNotYetThere(error)
    ? new NotYetThere(`The database at ${shown} cannot be reached${why}`, { cause: error })
    : new StartError(`The database at ${shown} cannot be used${why}`, { cause: error });
}
