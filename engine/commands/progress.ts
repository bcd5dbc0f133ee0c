/** Shows on standard error how far a migration has come, and lets signals stop it. */
import { constants } from 'node:os';
import { callerUntil } from '../caller.ts';
import type { Doing, Follower, MigrationEvent } from '../storage/migrate/driver.ts';
import { titleOf } from '../storage/migrate/tasks.ts';
import { printable, printError } from '../terminal.ts';

interface Following {
  readonly watch: Follower;
  /** The exit code of a process that a signal has stopped; undefined without one. */
  readonly stopCode: () => number | undefined;
  /** Signals end the process again, and what is printed begins in a line of its own. */
  readonly end: () => void;
}

interface FollowOptions {
  /** Prints events as JSON, one a line. */
  readonly json: boolean;
  /**
   * Whether the work looks for signals. Where it is one transaction in a file, it cannot, and need not: a signal ends the
   * process at once, and nothing is changed.
   */
  readonly isStoppable: boolean;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export function follow({ json, isStoppable }: FollowOptions): Following {
  const stopping = new AbortController();
  const show = json ? showLines(asJson) : process.stderr.isTTY ? showLive : showLines(asText);
  let code: number | undefined;
  let hasBegun = false;
  const stop = (signal: NodeJS.Signals): void => {
    code = 128 + constants.signals[signal];
    stopping.abort();
    ignore();
  };
  const ignore = (): void => SIGNALS.forEach((signal) => process.off(signal, stop));
  const begin = (): void => {
    hasBegun = true;
    if (!json) printError(isStoppable ? STOPPABLE : UNDONE);
    if (isStoppable) SIGNALS.forEach((signal) => process.on(signal, stop));
  };
  return {
    watch: {
      caller: callerUntil(stopping.signal),
      report: (event) => {
        if (!hasBegun) begin();
        show(event);
      },
    },
    stopCode: () => code,
    end: () => {
      ignore();
      if (hasBegun && show === showLive) process.stderr.write(CLEAR);
    },
  };
}

const STOPPABLE =
  'You can stop this with Ctrl-C or SIGTERM. What is done is kept; the same command goes on from there.';
const UNDONE = 'You can stop this with Ctrl-C or SIGTERM. Nothing is changed then; the same command begins again.';

// What is shown.

type Show = Follower['report'];

/** Clears the line that the cursor is in. */
const CLEAR = '\r\u001B[K';
/** Of work on rows, a line is printed for each of so many parts. */
const PARTS = 10;

const showLive: Show = (event) => void process.stderr.write(`${CLEAR}${printable(asText(event))}`);

/** Batches are short: most of them are not worth a line. */
function showLines(format: (event: MigrationEvent) => string): Show {
  let shown = '';
  return (event) => {
    const part = event.kind === 'doing' ? `${event.number} ${Math.floor(PARTS * shareOf(event))}` : format(event);
    if (part !== shown) printError(format(event));
    shown = part;
  };
}

const shareOf = ({ position, last }: Doing): number => (last === 0 ? 0 : Math.min(1, position / last));

function asText(event: MigrationEvent): string {
  if (event.kind === 'waiting') {
    const holders = event.holders.length === 0 ? '' : `, which is held by ${event.holders.join(', ')}`;
    return `Waiting for ${event.table}${holders}`;
  }
  const { task, number, of, last } = event;
  const share = last === 0 ? '' : `: ${Math.floor(100 * shareOf(event))}%`;
  return `[${number}/${of}] ${titleOf(task)}${share}`;
}

function asJson(event: MigrationEvent): string {
  if (event.kind === 'waiting') return JSON.stringify(event);
  const { kind, task, ...rest } = event;
  return JSON.stringify({ kind, task: titleOf(task), table: task.table ?? null, ...rest });
}
