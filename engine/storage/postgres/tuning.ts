/** Tuning constants for PostgreSQL, each with its reason. */

// Connections.

/** A tenth of the default max_connections; the URL can override it. */
export const POOL_SIZE = 10;
/** Otherwise, reads would wait for long writes and searches. */
export const READ_ONLY_SHARE = 0.2;
/** Leaves half of the connections to short work. */
export const SEARCH_SHARE = 0.5;
/** A migrating start uses one to lock, one to work and one to observe. */
export const MIGRATION_CONNECTIONS = 3;
/** Clients rarely wait longer for a slot or connection. */
export const ACQUIRE_TIMEOUT_MS = 5000;
/** A full server and a start's lock free up without notice. */
export const RETRY_INTERVAL_MS = 50;
/** Three times a second, probing, polling a replica or repeating a cancellation costs next to nothing. */
export const POLL_INTERVAL_MS = 300;
/** Users pause for seconds; firewalls drop idle connections after minutes. */
export const IDLE_TIMEOUT_MS = 30_000;
/** After a failover, a proxy or DNS name may point to another server. */
export const MAX_CONNECTION_LIFETIME_S = 600;
/** Connections to a silent server never close gracefully. */
export const POOL_END_TIMEOUT_MS = 250;
/** Two clients may share a pooler's connection once by chance, but not three times. */
export const POOLER_PROBES = 3;

// Time limits.

/** Writes and starts rarely wait longer for a lock; the URL can override it for writes. */
export const LOCK_TIMEOUT_MS = 5000;
/** Only a stalled process leaves a transaction with locks idle for so long. */
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
/** A slow client may take an hour to read a whole list. */
export const STREAM_IDLE_TIMEOUT_MS = 3_600_000;
/** A live server reports a statement timeout within a second. */
export const SOCKET_TIMEOUT_MARGIN_MS = 1000;
/** Checking for a statement's client costs the server one system call. */
export const CLIENT_CHECK_INTERVAL_MS = 1000;
/** With POLL_INTERVAL_MS, a lost replica gets no reads after a second. */
export const REPLICA_POLL_TIMEOUT_MS = 600;

// Statements.

/**
 * PostgreSQL needs 100 to 200 bytes for each character of a prepared statement, so that each connection keeps up to 50 MB;
 * then it is closed. Clients choose the shapes of reads.
 */
export const MAX_KEPT_CHARS = 256 * 1024;
/** Planning a longer statement takes so long that parsing it hardly matters. */
export const MAX_PREPARED_CHARS = 64 * 1024;

/** Each conflict means that another transaction succeeded. */
export const MAX_CONFLICT_RETRIES = 50;
/** A random pause as long as a few short writes avoids repeated conflicts. */
export const MAX_CONFLICT_BACKOFF_MS = 20;
/** After two lost connections, the server is down. */
export const MAX_CONNECTION_RETRIES = 2;
/** A transaction with so many writes locks rows for a few milliseconds. */
export const MAX_BATCHED_WRITES = 32;
/** The row length is not known at first. */
export const FIRST_FETCH_ROWS = 4;
/** Long rows after short ones must not fill the memory. */
export const MAX_FETCH_ROWS = 256;
/** The round trip is negligible for so long a fetch. */
export const FETCH_CHARS = 256 * 1024;
/** Calling nextval so often takes under a millisecond, and never moves the sequence back. */
export const MAX_SEQUENCE_STEPS = 1000;
/** The planner's cost of counting some ten thousand rows. */
export const CHEAP_PLAN_COST = 1000;

// Migrations.

/** Requests queue behind a waiting strong lock, so give up and retry later. */
export const DDL_LOCK_TIMEOUT_MS = 100;
/** Pauses between retries double up to this. */
export const MAX_DDL_BACKOFF_MS = 3000;
/** A table busy for ten minutes needs an operator. */
export const DDL_DEADLINE_MS = 600_000;
/** Batches that lock rows for so long hardly delay writes. */
export const FILL_BATCH_MS = 30;
/** The batch duration is not known at first. */
export const FIRST_FILL_ROWS = 500;
