/** Callers that leave. */
import { getEventListeners } from 'node:events';
import type { Caller } from '../../engine/edge/caller.ts';

interface LeavingCaller extends Caller {
  /** Resolves once somebody wants to know when it leaves. */
  readonly watched: Promise<void>;
  readonly isWatched: boolean;
  leave(): void;
}

export function leaving(origin = 'somewhere'): LeavingCaller {
  const controller = new AbortController();
  const { signal } = controller;
  let watch: (() => void) | undefined;
  const watched = new Promise<void>((resolve) => (watch = resolve));
  const listen = signal.addEventListener.bind(signal);
  signal.addEventListener = (...listener: Parameters<typeof listen>) => {
    listen(...listener);
    watch?.();
  };
  return {
    pageBytes: Infinity,
    take: () => undefined,
    turn: async () => undefined,
    origin,
    signal,
    watched,
    get isWatched() {
      return getEventListeners(signal, 'abort').length > 0;
    },
    leave: () => controller.abort(),
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
