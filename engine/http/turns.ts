/** Long work waits for its turn of the event loop, so that small requests are answered in between. */

/** Resolves when it is the caller's turn. */
export type Turns = () => Promise<void>;

interface TurnOptions {
  /** How many callers share one turn. */
  readonly atOnce: number;
  /** Turns left to other work after each one that was used. */
  readonly between: number;
}

/** First come, first served. */
export function createTurns({ atOnce, between }: TurnOptions): Turns {
  const waiting: (() => void)[] = [];
  let pause = 0;
  let isRunning = false;

  function next(): void {
    if (pause > 0) pause -= 1;
    else {
      for (const begin of waiting.splice(0, atOnce)) begin();
      pause = between;
    }
    isRunning = waiting.length > 0 || pause > 0;
    if (isRunning) setImmediate(next);
  }

  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (isRunning) return;
      isRunning = true;
      setImmediate(next);
    });
}

/** For large bodies. Node accepts one new connection in each of the turns between. */
export const createLargeTurns = (): Turns => createTurns({ atOnce: 1, between: 4 });
