/**
 * The time budget of a turn of the event loop. All long work together gets a few milliseconds of it, whichever requests it
 * is for: bodies that are parsed and validated, and writes that work out many records. Then it leaves some turns to
 * requests that take no time.
 */
import type { Awaitable } from './awaitable.ts';

/** Work that may be interrupted at each `yield`. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Does all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export interface Pace {
  /** Does new work at once if this turn has time left for it, else when a later one has. First come, first served. */
  begin<T>(work: () => Awaitable<T>): Awaitable<T>;
  /** In the middle of work, which may hold a connection or locks: it goes on before other work begins. Undefined if it may go on at once. */
  pause(): Promise<void> | undefined;
  /** Does the steps of work that has begun, with pauses between them. */
  run<T>(steps: Steps<T>): Awaitable<T>;
}

/** For work that has the process to itself. */
export const UNPACED: Pace = { begin: (work) => work(), pause: () => undefined, run: finish };

interface PaceOptions {
  /** Milliseconds of a turn. A step that cannot be divided may exceed them. */
  readonly slice?: number;
  /** Turns left to other requests. In each of them, Node accepts one new connection. */
  readonly between?: number;
  /** Tells the time in milliseconds. */
  readonly now?: () => number;
}

export function createPace({ slice = 5, between = 4, now = () => performance.now() }: PaceOptions = {}): Pace {
  const waiting = { begun: [] as (() => void)[], fresh: [] as (() => void)[] };
  /** When the first work of this turn began. */
  let began: number | undefined;
  let left = 0;
  let isRunning = false;

  const isWanted = (): boolean => waiting.begun.length + waiting.fresh.length > 0;

  function beginTurn(): void {
    began = now();
    setImmediate(() => (began = undefined));
  }

  function isSpent(): boolean {
    if (began === undefined) beginTurn();
    return now() - (began ?? 0) >= slice;
  }

  function nextTurn(): void {
    if (left > 0) {
      left -= 1;
      setImmediate(nextTurn);
    } else {
      beginTurn();
      letIn();
    }
  }

  function letIn(): void {
    const next = waiting.begun.shift() ?? waiting.fresh.shift();
    next?.();
    // Behind all that it does before it waits for something.
    queueMicrotask(() => process.nextTick(goOn));
  }

  function goOn(): void {
    if (!isWanted()) isRunning = false;
    else if (isSpent()) rest();
    else letIn();
  }

  function rest(): void {
    left = between;
    setImmediate(nextTurn);
  }

  function waitIn(queue: (() => void)[]): Promise<void> {
    return new Promise((resolve) => {
      queue.push(resolve);
      if (isRunning) return;
      isRunning = true;
      rest();
    });
  }

  const pause = (): Promise<void> | undefined => (isSpent() ? waitIn(waiting.begun) : undefined);

  async function goOnAfter<T>(steps: Steps<T>, paused: Promise<void>): Promise<T> {
    await paused;
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await pause();
    }
  }

  return {
    begin: (work) => (isSpent() || isWanted() ? waitIn(waiting.fresh).then(work) : work()),
    pause,
    run: (steps) => {
      for (;;) {
        const step = steps.next();
        if (step.done === true) return step.value;
        const paused = pause();
        if (paused) return goOnAfter(steps, paused);
      }
    },
  };
}
