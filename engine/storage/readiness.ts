/** Whether the service can answer requests now, for probes and figures. */
import { Problem } from '../problem.ts';
import type { ModelNumbers } from './store.ts';
import { isUnreachable, MissingObject } from './unavailable.ts';

/** Milliseconds that the database may take to say that it is ready. */
const MAX_WAIT = 2000;

interface Readiness {
  readonly isReady: boolean;
  /** Whether the database answers at all. */
  readonly isReachable: boolean;
  readonly says: string;
}

interface Asked {
  readonly isDraining: () => boolean;
  ready(): Promise<ModelNumbers>;
}

export async function readinessOf({ isDraining, ready }: Asked): Promise<Readiness> {
  const late = new Promise<never>((_, reject) => setTimeout(reject, MAX_WAIT).unref());
  const found = await Promise.race([ready(), late]).then(
    ({ database, serves }) => ({
      isReady: true,
      isReachable: true,
      says: `ready\nThe database has model ${database}, this instance serves model ${serves}`,
    }),
    (error: unknown) => ({
      isReady: false,
      isReachable: error instanceof Problem && !isUnreachable(error),
      says: error instanceof Problem ? reasonOf(error) : 'the database does not answer',
    }),
  );
  return isDraining() ? { ...found, isReady: false, says: 'stopping' } : found;
}

const reasonOf = (error: Problem): string =>
  error.cause instanceof Error && (error instanceof MissingObject || error.code === 'missing-privilege')
    ? `${error.message}\n${error.cause.message}`
    : error.message;
