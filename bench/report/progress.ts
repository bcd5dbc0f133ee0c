/** A bar on standard error: standard output holds the results alone. */
export interface Progress {
  /** One more of the steps is done. */
  step(what: string): void;
  end(): void;
}

export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const WIDTH = 24;
/** A log gets one line for each of them. */
const PARTS = 10;
const CLEAR = '\r\u001B[K';

export function createProgress(steps: number, terminal: Terminal = process.stderr): Progress {
  let done = 0;
  const shown = (what: string): string => `${bar(done, steps)} ${what}`;
  const part = (): number => Math.floor((done * PARTS) / steps);
  return {
    step: (what) => {
      const before = part();
      done += 1;
      if (terminal.isTTY) terminal.write(`${CLEAR}${shown(what).slice(0, (terminal.columns ?? 80) - 1)}`);
      else if (part() > before) terminal.write(`${shown(what)}\n`);
    },
    end: () => void (terminal.isTTY && terminal.write(CLEAR)),
  };
}

/** `[######----] 60 %` */
export function bar(done: number, steps: number): string {
  const part = Math.min(1, done / Math.max(1, steps));
  const filled = Math.round(part * WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.round(part * 100)).padStart(3)} %`;
}
