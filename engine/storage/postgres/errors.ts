/** SQLSTATEs, translated in one place. What is not listed is a fault of ours and stays as it is. */
import { answerTooLong, Problem } from '../../problem.ts';
import { ConstraintError } from '../driver.ts';

const busy =
  (detail: string) =>
  (cause: unknown): Error =>
    new Problem('storage-busy', detail, { cause });

const away = busy('The database cannot be reached; try again');
const crowded = busy('The database is busy; try again');
const readOnly = busy('The database takes no writes at the moment; try again');
const broken = busy('The database cannot use its disk; try again');
const entryTooLong = (cause: unknown): Error =>
  new Problem('invalid-body', 'A value is too long for an index of the database', { cause });
const full = (cause: unknown): Error =>
  new Problem('storage-full', 'The database has no space left on its disk', { cause });

/** By SQLSTATE, or by its class of two characters. */
const translations: ReadonlyMap<string, (cause: unknown) => Error> = new Map([
  ['23505', (cause: unknown) => new ConstraintError('unique', cause)],
  ['23503', (cause: unknown) => new ConstraintError('reference', cause)],
  ['23001', (cause: unknown) => new ConstraintError('reference', cause)],
  ['40001', crowded],
  ['40P01', crowded],
  ['55P03', crowded],
  ['53', crowded],
  ['25006', readOnly],
  ['53100', full],
  ['58030', broken],
  ['57P01', away],
  ['57P02', away],
  ['57P03', away],
  ['57P05', away],
  ['08', away],
]);

const REPEATED = new Set(['40001', '40P01']);
const GONE = new Set(['57P01', '57P02', '57P03', '57P05']);
/** What Node's sockets and the pool say; they have no SQLSTATE. */
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
const SILENT = /^Query read timeout/;
const MESSAGES =
  /^(Query read timeout|Connection terminated|timeout exceeded when trying to connect|Client (was closed|has encountered)|Cannot use a pool after)/;
/** The server's functions that make the entries of indexes: the SQLSTATE alone says less. */
const INDEXING = /^(_bt_check_third_page|index_form_tuple)/;
/** Those that make files longer: of ENOSPC the SQLSTATE says it, of EFBIG and EDQUOT only they do. */
const GROWING = /^(mdextend|mdzeroextend|BufFileDumpBuffer)$/;
const CROWDED = /^timeout exceeded when trying to connect/;

/** Known by what they have, whatever made them. */
function textOf(error: unknown, key: 'code' | 'message' | 'routine'): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : '';
}

const codeOf = (error: unknown): string => textOf(error, 'code');
const messageOf = (error: unknown): string => textOf(error, 'message');

/** Nothing is known any more of a statement that was under way. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return GONE.has(code) || code.startsWith('08') || NETWORK.test(code) || MESSAGES.test(messageOf(error));
}

/** The connection is there, and nothing came back on it in time. */
export const isSilent = (error: unknown): boolean => SILENT.test(messageOf(error));

/** The server ended a statement: its time was over, or it was told to. */
export const isCancelled = (error: unknown): boolean => codeOf(error) === '57014';

/** An earlier statement of the transaction failed. */
export const isAborted = (error: unknown): boolean => codeOf(error) === '25P02';

/** A neighbour has changed a table, and this connection has prepared a statement for it as it was. */
export const isStale = (error: unknown): boolean =>
  codeOf(error) === '0A000' && textOf(error, 'routine') === 'RevalidateCachedQuery';

/** The whole transaction was given up, and may go well when it is repeated. */
export const isRepeatable = (error: unknown): boolean => REPEATED.has(codeOf(error)) || isStale(error);

/** Why, for people. */
export const postgresReasonOf = (error: unknown): string => messageOf(error) || codeOf(error) || String(error);

/** The error that callers of the driver see. */
export function translate(error: unknown): unknown {
  const code = codeOf(error);
  const known = translations.get(code) ?? translations.get(code.slice(0, 2));
  if (known && code.length === 5) return known(error);
  if (code === 'XX000' && GROWING.test(textOf(error, 'routine'))) return full(error);
  if (code === '54000') return (INDEXING.test(textOf(error, 'routine')) ? entryTooLong : answerTooLong)(error);
  if (CROWDED.test(messageOf(error))) return crowded(error);
  return isConnectionLost(error) ? away(error) : error;
}
