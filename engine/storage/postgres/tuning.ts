/** The figures that PostgreSQL was tuned with, each with its reason. */

/** A request waits this long for a connection to come free, in milliseconds. */
export const WAIT_TIMEOUT = 5_000;
/** Milliseconds until a server that has taken no further connection is asked again. */
export const FULL_PAUSE = 50;
/** Milliseconds until an idle connection is probed, and until it is closed. */
export const KEEP_ALIVE_DELAY = 10_000;
export const IDLE_TIMEOUT = 30_000;
/** Seconds. Where a proxy or a DNS name leads to another server meanwhile, connections get there without a restart. */
export const MAX_LIFETIME = 600;
/** How long connections may take to end in order, in milliseconds, before they are closed. */
export const END_TIMEOUT = 250;

/** Clients choose the shapes of lists, and each connection keeps their statements: it is replaced after this many requests. */
export const MAX_USES = 10_000;
/** Milliseconds after which this side gives up, too: the server does not answer at all then. */
export const GRACE = 1000;
/** Milliseconds until a request to cancel is repeated: the server forgets one that comes before the statement. */
export const CANCEL_AGAIN = 200;
/** Milliseconds for the request to cancel: a server that has not taken it by then will not. */
export const CANCEL_PATIENCE = 2000;

/** Connections without limits, which change tables: one holds the lock of a start, one works, and one looks meanwhile. */
export const UNLIMITED_CONNECTIONS = 3;
/** Milliseconds between two looks at whether the lock is free. */
export const LOCK_PAUSE = 50;
/** Milliseconds that a transaction may wait for its next statement; that of a streamed list waits for the client. */
export const MAX_IDLE = 10_000;
export const MAX_SLOW = 3_600_000;
/** Milliseconds that work may wait for its turn, and a write at least. */
export const MAX_WAIT = 5000;
/** Tries to find a connection of the server that a second client gets while the first one is there. */
export const POOLER_TRIES = 3;

/** Each conflict means that another transaction succeeded: many may have to wait for one row. */
export const MAX_CONFLICTS = 50;
/** Connections that may be lost under one piece of work. */
export const MAX_LOST = 2;
/** Milliseconds before a transaction that conflicted is tried again, at most. */
export const LONGEST_PAUSE = 20;

/** Writes of one transaction: the rows that it has locked are free again after a few milliseconds. */
export const SHARED_WRITES = 32;

/** Rows that are fetched together: few, until it is known how long they are. */
export const FIRST_ROWS = 4;
export const MOST_ROWS = 256;
/** Characters that rows fetched together should have. */
export const PIECE_LENGTH = 256 * 1024;

/** Together less than a second: after that, a lost replica is no longer asked. */
export const LOOK_EVERY = 300;
export const LOOK_PATIENCE = 600;
/** Milliseconds until a replica that does not connect is tried anew. */
export const LOOK_CONNECT = 2000;
