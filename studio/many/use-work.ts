/** Something long that is done part by part: how far it is, stopping it between two parts, and what went wrong. */
import { useEffect, useRef, useState } from 'react';
import type { Progress } from './chosen.ts';

export interface Work {
  readonly progress: Progress | undefined;
  readonly isWorking: boolean;
  readonly isStopping: boolean;
  readonly error: unknown;
  /** Returns whether all of it was done. `step` is called as long as it returns true, unless it is stopped. */
  run(work: (tools: WorkTools) => Promise<boolean>): Promise<boolean>;
  stop(): void;
}

export interface WorkTools {
  readonly signal: AbortSignal;
  report(progress: Progress): void;
  /** Asked between two parts. */
  isStopped(): boolean;
}

export function useWork(): Work {
  const [progress, setProgress] = useState<Progress>();
  const [isWorking, setWorking] = useState(false);
  const [isStopping, setStopping] = useState(false);
  const [error, setError] = useState<unknown>();
  const stopped = useRef(false);
  const controller = useRef<AbortController>(undefined);
  useEffect(
    () => () => {
      stopped.current = true;
      controller.current?.abort();
    },
    [],
  );

  const run: Work['run'] = async (work) => {
    const current = new AbortController();
    controller.current = current;
    stopped.current = false;
    setStopping(false);
    setError(undefined);
    setWorking(true);
    setProgress({ done: 0, total: undefined });
    try {
      return await work({ signal: current.signal, report: setProgress, isStopped: () => stopped.current });
    } catch (problem) {
      if (!current.signal.aborted) setError(problem);
      return false;
    } finally {
      setWorking(false);
      setStopping(false);
      setProgress(undefined);
    }
  };
  const stop = (): void => {
    stopped.current = true;
    setStopping(true);
  };
  return { progress, isWorking, isStopping, error, run, stop };
}
