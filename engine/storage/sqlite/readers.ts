/** Reader processes. Each serves one search at a time; killing the process ends the search. */
import { fork } from 'node:child_process';
import { extname, join } from 'node:path';
import { type Caller, CallerGone, onGone } from '../../edge/caller.ts';
import { tooSlow } from '../../problem.ts';
import { readerOf, type Row, type Snapshot, type Statement, type Values } from '../driver.ts';
import { unavailable } from '../unavailable.ts';
import { type OnPiece, translate } from './connection.ts';
import type { Piece, Question, Reply } from './reader-program.ts';
import { READER_HEAP_MIB, READER_IDLE_TIMEOUT_MS, READER_SEMI_SPACE_MIB } from './tuning.ts';

/** `timeout`: milliseconds per statement; Infinity for commands. Processes start when they are first needed. */
export function createReaders(file: string, timeout: number) {
  const idle = new Map<ReaderProcess, NodeJS.Timeout>();
  const all = new Set<ReaderProcess>();

  function forget(reader: ReaderProcess): void {
    clearTimeout(idle.get(reader));
    idle.delete(reader);
  }

  function acquire(): ReaderProcess {
    const [free] = idle.keys();
    if (free) {
      forget(free);
      return free;
    }
    const reader: ReaderProcess = startReader(file, timeout, () => {
      all.delete(reader);
      forget(reader);
    });
    all.add(reader);
    return reader;
  }

  function release(reader: ReaderProcess): void {
    const end = (): void => {
      if (idle.size > 1) reader.kill();
    };
    if (all.has(reader)) idle.set(reader, setTimeout(end, READER_IDLE_TIMEOUT_MS).unref());
  }

  return {
    /** Calls `onPiece` with the JSON of each chunk of a list. */
    snapshot: (caller: Caller, onPiece: OnPiece): Snapshot => {
      const reader = acquire();
      const stop = onGone(caller, () => reader.kill(new CallerGone()));
      return {
        ...readerOf(async (statement, values, onRow) => {
          const read: Row[] = [];
          for await (const rows of pieces(reader, statement, values))
            for (const row of rows) {
              onRow?.(row);
              read.push(row);
            }
          return read;
        }),
        async *texts(statement, values) {
          for await (const rows of pieces(reader, statement, values)) {
            const some = rows.map(([text]) => String(text));
            onPiece(some);
            yield some;
          }
        },
        close: () => {
          stop();
          // No caller needs the rows still being read.
          if (reader.isBusy()) reader.kill(new CallerGone());
          else reader.end();
          release(reader);
        },
      };
    },
    close: (): void => {
      for (const reader of all) reader.kill();
    },
  };
}

/** Reads one chunk ahead, and no more: slow clients slow the scan down. */
async function* pieces({ ask }: ReaderProcess, { sql }: Statement, values: Values): AsyncGenerator<readonly Row[]> {
  for (let piece = await ask({ sql, values }); ;) {
    const next = piece.isLast ? undefined : ask('more');
    // It might fail before it is awaited.
    next?.catch(() => undefined);
    if (piece.rows.length > 0) yield piece.rows;
    if (!next) return;
    piece = await next;
  }
}

type ReaderProcess = ReturnType<typeof startReader>;

interface OpenQuestion {
  readonly resolve: (piece: Piece) => void;
  readonly reject: (error: unknown) => void;
  timer?: NodeJS.Timeout;
}

const EXTENSION = extname(__filename);
const PROGRAM = join(__dirname, `reader-program${EXTENSION}`);
const OPTIONS = [
  `--max-old-space-size=${READER_HEAP_MIB}`,
  `--max-semi-space-size=${READER_SEMI_SPACE_MIB}`,
  ...(EXTENSION === '.ts' ? ['--require', 'esbuild-register'] : []),
];

function startReader(file: string, timeout: number, onEnd: () => void) {
  const child = fork(PROGRAM, [file], {
    execArgv: OPTIONS,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
  });
  let open: OpenQuestion | undefined;
  let isReady = false;
  let gone: Error | undefined;

  /** An idle reader must not keep the service running. */
  function setBusy(isBusy: boolean): void {
    child[isBusy ? 'ref' : 'unref']();
    child.channel?.[isBusy ? 'ref' : 'unref']();
  }

  /** The timeout excludes the process's start. */
  function limit(): void {
    if (open && isReady && timeout !== Infinity) open.timer = setTimeout(() => kill(tooSlow(timeout)), timeout);
  }

  function closeQuestion(): OpenQuestion | undefined {
    const closed = open;
    open = undefined;
    clearTimeout(closed?.timer);
    setBusy(false);
    return closed;
  }

  function settle(reply: Reply): void {
    const asked = closeQuestion();
    if ('failure' in reply)
      asked?.reject(translate(Object.assign(new Error(reply.failure.message), reply.failure), file));
    else asked?.resolve(reply);
  }

  /** An open question fails with the reason. */
  function kill(reason: Error = unavailable('stopping')): void {
    if (gone) return;
    gone = reason;
    child.kill('SIGKILL');
    onEnd();
    closeQuestion()?.reject(reason);
  }

  const send = (question: Question | 'end'): void => void child.send(question, (error) => error && failed(error));
  const failed = (cause: unknown): void => kill(unavailable('cutOff', cause));
  child.once('message', () => {
    isReady = true;
    limit();
    child.on('message', (reply) => settle(reply as Reply));
  });
  child.on('error', failed);
  child.on('exit', (code, signal) => failed(new Error(`a reader process ended: ${signal ?? code}`)));
  // A socket, though not by its type; missing if no process could start.
  const lifeline = (child.stdio as typeof child.stdio | undefined)?.[4];
  if (lifeline && 'unref' in lifeline && typeof lifeline.unref === 'function') lifeline.unref();
  setBusy(false);
  return {
    /** One question at a time. */
    ask: (question: Question) =>
      new Promise<Piece>((resolve, reject) => {
        if (gone) return reject(gone);
        open = { resolve, reject };
        setBusy(true);
        limit();
        // No process could start: its event comes later.
        if (child.connected) send(question);
        else failed(new Error('a reader process cannot be started'));
      }),
    /** Ends the snapshot. */
    end: (): void => send('end'),
    kill,
    isBusy: (): boolean => open !== undefined,
  };
}
