/** The processes of WORKERS: each is an instance of its own, and knows its number. */
import cluster from 'node:cluster';

/** The variable by which the first process tells each worker its number. */
export const WORKER_VARIABLE = 'RECORDS_WORKER';

/** From 1; undefined in a process that serves alone. */
export const workerNumber: number | undefined = cluster.isWorker
  ? Number(process.env[WORKER_VARIABLE]) || undefined
  : undefined;

/**
 * Each worker listens at the port itself: a connection that the first process passes on to a worker which is killed in that
 * moment would be answered by nobody. Only Linux spreads the connections over all that listen.
 */
export const PORT_SHARING =
  workerNumber !== undefined && process.platform === 'linux' ? { exclusive: true, reusePort: true } : {};
