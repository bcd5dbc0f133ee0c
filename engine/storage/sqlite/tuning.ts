/** Tuning constants for SQLite, each with its reason. */
import { availableParallelism } from 'node:os';

// The file and its log.

/** Another process may lock the file for a group of writes or DDL; a whole list waits as long for its turn. */
export const BUSY_TIMEOUT_MS = 5000;
/** The writer retries a busy file itself: SQLite would block the event loop. */
export const BUSY_RETRY_MS = 10;
/** SQLite copies the log at 4 MB unless a reader holds it. */
export const WAL_LIMIT_BYTES = 8 * 1024 * 1024;
/** A start checks so much in a fifth of a second; backups check larger files. */
export const MAX_QUICK_CHECK_BYTES = 128 * 1024 * 1024;

// Writes.

/** The first write of a group must wait until the last has run. */
export const MAX_GROUP_WRITES = 128;
export const MAX_GROUP_MS = 20;
/** Other requests get a turn after so much time of writes. */
export const WRITE_SLICE_MS = 10;
/** With a larger cache, long transactions write fewer pages twice. */
export const BULK_CACHE_KIB = 65_536;
/** Migrations report progress a few times a second. */
export const FILL_BATCH_ROWS = 50_000;

// Reads in this process, between the requests.

/** Counting 500,000 rows of 500 bytes without an index takes 400 ms. */
export const MAX_COUNTED_ROWS = 100_000;
/** An estimate reads this many ranges of this many identifiers: 10,000 rows. */
export const SAMPLE_RANGES = 40;
export const SAMPLE_RANGE_IDS = 250;
/** A list reads so much in a millisecond or two; then other requests get a turn. */
export const BATCH_ROWS = 256;
export const BATCH_CHARS = 64 * 1024;
/** Each whole list has a snapshot, which prevents copying the log. */
export const MAX_STREAMS = 64;
/** A waiting list holds a record in its pages, its columns, and its growing JSON. */
export const COPIES_OF_RECORD = 5;

// Reader processes.

/** At least two, so that one search does not block all others. */
export const MAX_READERS = Math.min(4, Math.max(2, availableParallelism()));
/** Starting a process takes longer than most searches; the last process stays. */
export const READER_IDLE_TIMEOUT_MS = 30_000;
/** Larger sorts use the disk. */
export const READER_CACHE_KIB = 16_000;
/** Preparing a statement costs more than most searches. */
export const READER_STATEMENTS = 200;
/** A slow search sends the rows found after this time. */
export const MESSAGE_MS = 50;
/** A reader holds one message at a time. */
export const READER_HEAP_MIB = 96;
export const READER_SEMI_SPACE_MIB = 2;
