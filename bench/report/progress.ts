/** A bar on the terminal, on standard error: standard output holds the results alone. */
export interface Progress {
  /** One more of the steps is done. */
  step(what: string): void;
  end(): void;
}

const WIDTH = 24;

export function createProgress(steps: number, stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return { step: () => undefined, end: () => undefined };
  let done = 0;
  return {
    step: (what) => {
      done += 1;
      stream.write(`\r\u001B[K${bar(done, steps)} ${what}`);
    },
    end: () => void stream.write('\r\u001B[K'),
  };
}

/** `[######----] 60 %` */
export function bar(done: number, steps: number): string {
  const part = Math.min(1, done / Math.max(1, steps));
  const filled = Math.round(part * WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.round(part * 100)).padStart(3)} %`;
}
