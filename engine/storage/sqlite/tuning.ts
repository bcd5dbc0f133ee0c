/** The figures that tune the use of SQLite, each with its reason. */
import { availableParallelism } from 'node:os';

// The file and its log.

/** Another process holds the file for a group of writes, or to define tables; a whole list waits as long for its turn. */
export const BUSY_TIMEOUT_MS = 5000;
/** The writer retries a busy file itself: SQLite would block the event loop. */
export const BUSY_RETRY_MS = 10;
/** SQLite copies the log at 4 MB unless a reader holds it. */
export const WAL_LIMIT_BYTES = 8 * 1024 * 1024;
/** A start checks so much in a fifth of a second; a backup checks larger files. */
export const MAX_QUICK_CHECK_BYTES = 128 * 1024 * 1024;

// Writes.

/** The first write of a group is not answered before the last one has run. */
export const MAX_GROUP_WRITES = 128;
export const MAX_GROUP_MS = 20;
/** Other requests have a turn after so much time of writes. */
export const WRITE_SLICE_MS = 10;
/** With a larger cache, a long transaction writes fewer pages twice. */
export const BULK_CACHE_KIB = 65_536;
/** The progress of a migration is shown some times a second. */
export const FILL_BATCH_ROWS = 50_000;

// Reads in this process, between the requests.

/** Counting 500,000 rows of 500 bytes without an index takes 400 ms. */
export const MAX_COUNTED_ROWS = 100_000;
/** An estimate reads 10,000 rows, so many ranges of so many identifiers. */
export const SAMPLE_RANGES = 40;
export const SAMPLE_RANGE_IDS = 250;
/** A list reads so many rows and characters in a millisecond or two: then other requests have a turn. */
export const BATCH_ROWS = 256;
export const BATCH_CHARS = 64 * 1024;
/** Each whole list has a snapshot, which keeps the log from being copied. */
export const MAX_STREAMS = 64;
/** A waiting list holds a record in its pages, its columns, and its JSON as it grows. */
export const COPIES_OF_RECORD = 5;

// Reader processes.

/** At least two, so that one search does not stop all others. */
export const MAX_READERS = Math.min(4, Math.max(2, availableParallelism()));
/** To start a process takes longer than most searches; the last one stays. */
export const READER_IDLE_TIMEOUT_MS = 30_000;
/** A sort that needs more goes to the disk. */
export const READER_CACHE_KIB = 16_000;
/** To prepare a statement costs more than most searches. */
export const READER_STATEMENTS = 200;
/** A search that finds rows slowly sends them after this time. */
export const MESSAGE_MS = 50;
/** A reader holds one message at a time. */
export const READER_HEAP_MIB = 96;
export const READER_SEMI_SPACE_MIB = 2;
