/** The figures that SQLite was tuned with, each with its reason. */
import { availableParallelism } from 'node:os';

/** Bytes that the log (`-wal`) may keep. SQLite copies it into the database at 4 MB; a longer one was held by a reader. */
export const LONG_LOG = 8 * 1024 * 1024;
/** Milliseconds that another process may hold the file when it is opened. */
export const OPEN_TIMEOUT = 5000;
/** Rows of a table that are counted between the requests: without an index, 500,000 rows of 500 bytes take 400 ms. */
export const MOST_COUNTED = 100_000;
/** Whole lists at a time: each holds a snapshot, which stops checkpoints. */
export const MAX_STREAMS = 64;
/** Milliseconds that a whole list waits for others to end. */
export const LIST_PATIENCE = 5000;

/** A group of writes ends at this many, or milliseconds, so that the first of them do not wait long for their answers. */
export const GROUP_JOBS = 128;
export const GROUP_TIME = 20;
/** Milliseconds of writes before other requests have a turn. A single statement may exceed them. */
export const SLICE = 10;
/** Milliseconds that another process may hold the write lock before a write is given up, and between two tries. */
export const BUSY_TIMEOUT = 5000;
export const BUSY_STEP = 10;

/** Reader processes: at least two, so that one search does not stop all others; more would only take memory. */
export const MAX_READERS = Math.min(4, Math.max(2, availableParallelism()));
/** Milliseconds that a process is kept for the next search; the last one stays. */
export const READER_IDLE = 30_000;
/** Options of a process that only holds the pieces that it sends. */
export const READER_HEAP = ['--max-old-space-size=96', '--max-semi-space-size=2'];
/** KiB of the file that a process keeps; a sort that needs more goes to the disk. */
export const READER_CACHE = 16_000;
/** Milliseconds that a process waits for another one that recovers the log. */
export const READER_BUSY = 1000;
/** Statements that a process keeps prepared. */
export const READER_STATEMENTS = 200;
/** A piece that a process sends ends with this many rows, characters or milliseconds: a long message would hold up requests. */
export const PIECE = { rows: 256, length: 256 * 1024, time: 50 };

/** Light lists: connections that are kept for the next one, and KiB of the file that each of them keeps. */
export const LIGHT_IDLE = 2;
export const LIGHT_CACHE = 1000;
/** Rows and characters of a light list that are read in one turn: a millisecond. */
export const LIGHT_PIECE = { rows: 100, length: 64 * 1024 };
/** How often a list holds a record while it waits to be read on: its pages, its columns, and its JSON as it grows. */
export const HELD = 5;
