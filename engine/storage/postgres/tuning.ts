/** Every figure that tunes the use of PostgreSQL, each with what chose it. */

// Pools.

/** Connections of a pool unless the URL says otherwise: a tenth of the default max_connections, for several instances. */
export const POOL_SIZE = 10;
/** Writes and searches leave a fifth of the connections to reads, which would otherwise wait behind them. */
export const READ_ONLY_SHARE = 0.2;
/** Searches leave half of the connections to short work. */
export const SEARCH_SHARE = 0.5;
/** A start that changes tables needs three: one holds the lock, one works, and one observes. */
export const MIGRATION_CONNECTIONS = 3;
/** A client hardly waits longer for its turn, for a connection or for connecting. */
export const ACQUIRE_TIMEOUT_MS = 5000;
/** A full server and the lock of a start come free unannounced; twenty tries a second cost nothing. */
export const RETRY_INTERVAL_MS = 50;
/** A quiet hour must not keep connections of the server, but pauses of a few seconds are common. */
export const IDLE_TIMEOUT_MS = 30_000;
/** Firewalls forget silent connections after minutes. */
export const TCP_KEEPALIVE_DELAY_MS = 10_000;
/** A proxy or a DNS name may lead to another server after a failover. */
export const MAX_CONNECTION_LIFETIME_S = 600;
/** A connection keeps the prepared statements of lists, whose shapes clients choose. */
export const MAX_CONNECTION_USES = 10_000;
/** Connections to a silent server never end in order. */
export const POOL_END_TIMEOUT_MS = 250;
/** Clients may send health probes as often as they like; each would open a connection. */
export const HEALTH_PROBE_INTERVAL_MS = 500;
/** A pooler may give the same connection of the server to two clients by chance; three times shows that it does. */
export const POOLER_PROBES = 3;

// Time limits.

/** A write waits this long for a row unless the URL says otherwise, and a definition for a table. */
export const LOCK_TIMEOUT_MS = 5000;
/** A transaction that waits longer for its own next statement belongs to a stalled process, and holds locks. */
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
/** A slow client may take an hour to read a whole list. */
export const STREAM_IDLE_TIMEOUT_MS = 3_600_000;
/** The server reports a statement that ran out of time within a second, unless it or the network is dead. */
export const SOCKET_TIMEOUT_MARGIN_MS = 1000;
/** The server checks that often whether the client of a running statement is there; each check is one system call. */
export const CLIENT_CHECK_INTERVAL_MS = 1000;
/** The server forgets a cancellation that comes before its statement. */
export const CANCEL_RETRY_MS = 200;
/** Connections for a cancellation or to a replica are made in the same network, or not at all. */
export const SIDE_CONNECT_TIMEOUT_MS = 2000;

// Transactions.

/** Each conflict means that another transaction succeeded, so that fifty only come with heavy load. */
export const MAX_CONFLICT_RETRIES = 50;
/** The pause before a retry is random up to this, a few times a short write: two transactions do not meet again. */
export const MAX_CONFLICT_BACKOFF_MS = 20;
/** The pool may hold one stale connection in front of a fresh one; a third means that the server is down. */
export const MAX_CONNECTION_RETRIES = 2;
/** Writes that share a transaction lock their rows until its end: 32 take a few milliseconds. */
export const MAX_BATCHED_WRITES = 32;
/** The first fetch of a list is small, since the length of its rows is not known yet. */
export const FIRST_FETCH_ROWS = 4;
/** More rows in one round trip are not faster. */
export const MAX_FETCH_ROWS = 256;
/** A fetch of this length is parsed in about a millisecond. */
export const FETCH_CHARS = 256 * 1024;
/** A fetch is held as it was received, and in the response. */
export const FETCH_COPIES = 2;

// Replicas.

/** Reads after a write wait for the replica: a third of a second is hardly noticed, and three queries a second cost nothing. */
export const REPLICA_POLL_INTERVAL_MS = 300;
/** With the interval, a lost replica gets no reads after a second. */
export const REPLICA_POLL_TIMEOUT_MS = 600;

// Statements.

/** Up to this distance, a sequence moves number by number, in under a millisecond, so that it never goes back. */
export const MAX_SEQUENCE_STEPS = 1000;
/** The planner's cost of counting some ten thousand rows, which takes a few milliseconds. */
export const CHEAP_PLAN_COST = 1000;

// Migrations.

/** Requests queue behind a strong lock that waits: it is given up before they notice, and tried again later. */
export const DDL_LOCK_TIMEOUT_MS = 100;
/** The pauses between the tries double up to this: a table that is not free at once is in use by a long transaction. */
export const MAX_DDL_BACKOFF_MS = 3000;
/** A table without a pause for ten minutes needs an operator. */
export const DDL_DEADLINE_MS = 600_000;
/** A batch of rows stays locked about this long, which writes to these rows hardly notice. */
export const FILL_BATCH_MS = 30;
/** The first batch is small, since its duration is not known yet. */
export const FIRST_FILL_ROWS = 500;
