/** The processes of WORKERS: each is an instance of its own, and knows its number. */
import cluster from 'node:cluster';

/** The variable by which the first process tells each worker its number. */
export const WORKER_VARIABLE = 'RECORDS_WORKER';

/** From 1; undefined in a process that serves alone. */
export const workerNumber: number | undefined = cluster.isWorker
  ? Number(process.env[WORKER_VARIABLE]) || undefined
  : undefined;
