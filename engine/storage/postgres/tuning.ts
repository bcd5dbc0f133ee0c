/** The figures that tune the use of PostgreSQL, each with its reason. */

// Connections.

/** A tenth of the default max_connections; the URL may say otherwise. */
export const POOL_SIZE = 10;
/** Reads would wait behind writes and searches, which take long. */
export const READ_ONLY_SHARE = 0.2;
/** Half of the connections are left to short work. */
export const SEARCH_SHARE = 0.5;
/** A start that changes tables holds a lock on one, works on one, and observes on one. */
export const MIGRATION_CONNECTIONS = 3;
/** A request hardly waits longer for its turn or a connection. */
export const ACQUIRE_TIMEOUT_MS = 5000;
/** A full server, and the lock of a start, come free unannounced. */
export const RETRY_INTERVAL_MS = 50;
/** To probe the server, ask a replica or repeat a cancellation three times a second costs next to nothing. */
export const POLL_INTERVAL_MS = 300;
/** Users pause for seconds; firewalls forget a silent connection after minutes. */
export const IDLE_TIMEOUT_MS = 30_000;
/** A proxy or a DNS name may lead to another server after a failover. */
export const MAX_CONNECTION_LIFETIME_S = 600;
/** A connection keeps the prepared statements of lists, whose shapes clients choose. */
export const MAX_CONNECTION_USES = 10_000;
/** Connections to a silent server never end in order. */
export const POOL_END_TIMEOUT_MS = 250;
/** A pooler may use one connection of the server for two clients by chance, but not three times. */
export const POOLER_PROBES = 3;

// Time limits.

/** A write, or a start, hardly waits longer for a lock; the URL may say otherwise for writes. */
export const LOCK_TIMEOUT_MS = 5000;
/** Only a stalled process keeps a transaction, with its locks, waiting for the next statement. */
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
/** A slow client may take an hour to read a whole list. */
export const STREAM_IDLE_TIMEOUT_MS = 3_600_000;
/** A server that lives reports within a second that a statement ran out of time. */
export const SOCKET_TIMEOUT_MARGIN_MS = 1000;
/** Each check whether the client of a statement is there is one system call of the server. */
export const CLIENT_CHECK_INTERVAL_MS = 1000;
/** With the interval, a lost replica gets no reads after a second. */
export const REPLICA_POLL_TIMEOUT_MS = 600;

// Statements.

/** Each conflict means that another transaction succeeded. */
export const MAX_CONFLICT_RETRIES = 50;
/** A random pause of a few short writes keeps two transactions from meeting again. */
export const MAX_CONFLICT_BACKOFF_MS = 20;
/** After two lost connections, the server is down. */
export const MAX_CONNECTION_RETRIES = 2;
/** So many writes that share a transaction lock their rows for a few milliseconds. */
export const MAX_BATCHED_WRITES = 32;
/** The length of the rows of a list is not known at first. */
export const FIRST_FETCH_ROWS = 4;
/** Short rows that turn into long ones must not fill the memory. */
export const MAX_FETCH_ROWS = 256;
/** The round trip of a fetch of this length no longer counts. */
export const FETCH_CHARS = 256 * 1024;
/** A sequence moves number by number, so that it never goes back, where this takes under a millisecond. */
export const MAX_SEQUENCE_STEPS = 1000;
/** The planner's cost of counting some ten thousand rows. */
export const CHEAP_PLAN_COST = 1000;

// Migrations.

/** Requests queue behind a strong lock that waits, so it is given up and tried again later. */
export const DDL_LOCK_TIMEOUT_MS = 100;
/** The pauses between the tries double up to this. */
export const MAX_DDL_BACKOFF_MS = 3000;
/** A table without a pause for ten minutes needs an operator. */
export const DDL_DEADLINE_MS = 600_000;
/** Writes hardly notice that a batch keeps its rows locked for so long. */
export const FILL_BATCH_MS = 30;
/** The duration of a batch is not known at first. */
export const FIRST_FILL_ROWS = 500;
