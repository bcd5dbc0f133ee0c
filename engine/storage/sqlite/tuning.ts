/** Every figure that tunes the use of SQLite, each with what chose it. */
import { availableParallelism } from 'node:os';

// The file and its log.

/** Another process holds the write lock for one group of writes, or while it defines tables; five seconds cover both. */
export const BUSY_TIMEOUT_MS = 5000;
/** The writer retries a busy file itself: SQLite would block the event loop. */
export const BUSY_RETRY_MS = 10;
/** SQLite copies the log at 4 MB unless a reader holds it; twice that means that one did. */
export const WAL_LIMIT_BYTES = 8 * 1024 * 1024;
/** A start checks a file of this size in a fifth of a second; a backup checks larger ones. */
export const MAX_QUICK_CHECK_BYTES = 128 * 1024 * 1024;

// Writes.

/** Writes that share an fsync; the first one is not answered before the last one has run. */
export const MAX_GROUP_WRITES = 128;
/** A group ends after this time, a few times the duration of an fsync. */
export const MAX_GROUP_MS = 20;
/** Other requests have a turn after this time of writes. */
export const WRITE_SLICE_MS = 10;
/** With 64 MiB, a transaction that changes much writes few pages twice. */
export const BULK_CACHE_KIB = 65_536;
/** A batch of a migration takes some hundred milliseconds, often enough for its progress. */
export const FILL_BATCH_ROWS = 50_000;

// Reads in this process.

/** Counting 500,000 rows of 500 bytes without an index takes 400 ms, which would hold up other requests. */
export const MAX_COUNTED_ROWS = 100_000;
/** An estimate reads 40 ranges of 250 identifiers: 10,000 rows, in some milliseconds. */
export const SAMPLE_RANGES = 40;
export const SAMPLE_RANGE_IDS = 250;
/** Rows and characters that a list reads in one turn, or in one message of a reader: they take a millisecond. */
export const BATCH_ROWS = 100;
export const BATCH_CHARS = 64 * 1024;
/** A list that an index serves reads each page of the file once. */
export const LIST_CACHE_KIB = 1000;
/** Each whole list has a snapshot, which keeps the log from being copied. */
export const MAX_STREAMS = 64;
/** A client hardly waits longer for its turn. */
export const STREAM_QUEUE_TIMEOUT_MS = 5000;
/** A waiting list holds a record in its pages, its columns, and three times while its JSON grows. */
export const COPIES_OF_RECORD = 5;

// Reader processes.

/** At least two, so that one search does not stop all others; with more than four, they wait for the disk. */
export const MAX_READERS = Math.min(4, Math.max(2, availableParallelism()));
/** To start a process takes longer than most searches; the last one stays. */
export const READER_IDLE_TIMEOUT_MS = 30_000;
/** A sort that needs more goes to the disk. */
export const READER_CACHE_KIB = 16_000;
/** A statement of a list costs more to prepare than most searches to run. */
export const READER_STATEMENTS = 200;
/** A search that finds few rows sends them after this time. */
export const MESSAGE_MS = 50;
/** A reader holds one message at a time. */
export const READER_HEAP_MIB = 96;
export const READER_SEMI_SPACE_MIB = 2;
