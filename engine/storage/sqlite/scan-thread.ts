/** The thread for scans: whatever looks at many rows runs here, on read-only connections, and holds nobody up. */
import { parentPort, workerData } from 'node:worker_threads';
import type { SqlValue } from '../../field-types/field-type.ts';
import { createBoundedCache } from '../../query/bounded-cache.ts';
import type { Statement, Values } from '../driver.ts';
import { type Connection, connect } from './connection.ts';
import { type Counts, rememberingCounts } from './counts.ts';
import type { Failure, Question, Reply, Verb } from './scan-protocol.ts';

interface Session {
  readonly connection: Connection;
  readonly counts: Counts;
  /** Of a list that is being streamed. */
  rows?: IterableIterator<SqlValue>;
}

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
/** Rows whose texts travel together. */
const BATCH = 256;

const verbs: Readonly<Record<Verb, (session: Session, statement: Statement, values: Values) => unknown>> = {
  begin: ({ connection, counts }) => {
    // Somebody may have written since the session was used last.
    counts.expire();
    connection.command(BEGIN);
  },
  get: ({ connection }, statement, values) => connection.get(statement, values),
  all: ({ connection }, statement, values) => connection.all(statement, values),
  value: ({ connection }, statement, values) => connection.value(statement, values),
  column: ({ connection }, statement, values) => connection.column(statement, values),
  count: ({ counts }, statement, values) => counts.count(statement, values),
  open: (session, statement, values) => void (session.rows = session.connection.iterate(statement, values)),
  next: ({ rows }) => batch(rows),
  end: (session) => {
    session.rows?.return?.();
    if (session.connection.database.inTransaction) session.connection.command(COMMIT);
  },
  close: ({ connection }) => connection.close(),
};

/** undefined where no row is left. */
function batch(rows: IterableIterator<SqlValue> | undefined): string | undefined {
  if (!rows) throw new Error('no list is open');
  const texts: SqlValue[] = [];
  while (texts.length < BATCH) {
    const { value, done } = rows.next();
    if (done === true) break;
    texts.push(value);
  }
  return texts.length === 0 ? undefined : texts.join(',');
}

const sessions = new Map<number, Session>();

function sessionOf(id: number): Session {
  const known = sessions.get(id);
  if (known) return known;
  const connection = connect(String(workerData), true);
  const session = { connection, counts: rememberingCounts(connection) };
  sessions.set(id, session);
  return session;
}

/** The same statement is the same object, so that it is prepared once. */
const statements = createBoundedCache<Statement>(1000);

function statementOf(sql: string): Statement {
  const statement = statements.get(sql) ?? { sql };
  statements.set(sql, statement);
  return statement;
}

function answer({ id, session, verb, sql, values }: Question): Reply {
  try {
    const result = verbs[verb](sessionOf(session), statementOf(sql), values);
    if (verb === 'close') sessions.delete(session);
    return { id, result };
  } catch (error) {
    return { id, failure: failureOf(error) };
  }
}

/** Of what SQLite said, before it was translated. */
function failureOf(error: unknown): Failure {
  const original: unknown = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = original instanceof Error && 'code' in original ? String(original.code) : '';
  return { message: original instanceof Error ? original.message : String(original), code };
}

parentPort?.on('message', (question: Question) => parentPort?.postMessage(answer(question), []));
