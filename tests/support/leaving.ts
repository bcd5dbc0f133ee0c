/** Callers that leave. */
import type { Caller } from '../../engine/edge/caller.ts';

interface LeavingCaller extends Caller {
  /** Resolves once somebody wants to know when it leaves. */
  readonly watched: Promise<void>;
  readonly isWatched: boolean;
  leave(): void;
}

export function leaving(origin = 'somewhere'): LeavingCaller {
  const listeners = new Set<() => void>();
  let watch: (() => void) | undefined;
  const watched = new Promise<void>((resolve) => (watch = resolve));
  let isGone = false;
  return {
    pageBytes: Infinity,
    take: () => undefined,
    origin,
    watched,
    get isWatched() {
      return listeners.size > 0;
    },
    get isGone() {
      return isGone;
    },
    onGone: (listener) => {
      listeners.add(listener);
      watch?.();
      if (isGone) listener();
      return () => listeners.delete(listener);
    },
    leave: () => {
      isGone = true;
      for (const listener of listeners) listener();
    },
  };
}

export const settled = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

/** Waits until something is so; gives up after a time that only a fault needs. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const limit = AbortSignal.timeout(900_000);
  while (!(await isSo())) {
    limit.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
