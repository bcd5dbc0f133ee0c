/** `start` serves the records until a signal stops it. */
import { createLog, type Log } from '../log.ts';
import { VERSION, print, workerNumber } from '../process.ts';
import { announcement, serve, type Serving } from '../server/serve.ts';
import { type Settings, withoutPassword } from '../settings/settings.ts';
import { BOOLEAN, command, printWarnings, stopSignal } from './command.ts';

/** Milliseconds to wait for open handles before exiting. */
const EXIT_DELAY = 100;

const USAGE =
  'records start [--no-migrate]: serves the records, with settings from the environment; --no-migrate changes no tables, and fails if they do not suit the descriptors';

export const start = command(USAGE, { 'no-migrate': BOOLEAN }, [], async (values, _, read) => {
  const settings = { ...read, migrate: read.migrate && values['no-migrate'] !== true };
  if (workerNumber !== undefined) return work(settings);
  return settings.workers === 1 ? alone(settings) : together(settings);
});

async function alone(settings: Settings): Promise<number> {
  const serving = await serve({ ...settings, waits: true });
  printWarnings(serving.engine, settings);
  // A signal may arrive as soon as the service is known to be up.
  const stopped = stopSignal();
  return untilStopped({ ...serving, model: await modelOf(serving) }, settings, stopped);
}

async function untilStopped(
  { url, model, close }: Pick<Serving, 'url' | 'close'> & { readonly model: number | undefined },
  settings: Settings,
  stopped: Promise<string>,
  workers = 1,
): Promise<number> {
  const log = createLog(settings);
  const database = withoutPassword(settings.databaseUrl);
  log.info({ version: VERSION, address: url, database, model, ...(workers > 1 ? { workers } : {}) }, 'serving');
  const by = workers > 1 ? `, by ${workers} workers` : '';
  print(announcement(`Serving records at ${url}/api/${by}`, url, settings, process.stdout.isTTY));
  return stop(close, log, await stopped);
}

const modelOf = ({ engine }: Serving): Promise<number | undefined> =>
  engine.ready().then(
    ({ serves }) => serves,
    () => undefined,
  );

/** Loaded on demand, as it imports the PostgreSQL driver. */
const loadWorkers = () => import('../server/workers.ts');

async function together(settings: Settings): Promise<number> {
  const { countWorkers, serveByWorkers } = await loadWorkers();
  const workers = countWorkers(settings);
  if (workers === 1) return alone(settings);
  const serving = await serveByWorkers(settings, workers);
  if (serving === undefined) return 1;
  return untilStopped(serving, settings, stopSignal(), workers);
}

/** Runs a worker; only the first worker prints. */
async function work(settings: Settings): Promise<number> {
  const { stopMessage, sendReady } = await loadWorkers();
  // The message may arrive before the worker serves.
  const stopping = stopMessage();
  const serving = await serve({ ...settings, waits: true }).catch((error: unknown) => {
    // The channel to the first process would keep this process alive.
    setImmediate(() => process.exit(1));
    throw error;
  });
  if (workerNumber === 1) printWarnings(serving.engine, settings);
  sendReady({ url: serving.url, model: await modelOf(serving) });
  await stopping;
  const code = await stop(serving.close, createLog(settings));
  if (process.connected) process.disconnect();
  return code;
}

/** Without a signal, the first process has logged the stop. */
async function stop(close: () => Promise<boolean>, log: Log, signal?: string): Promise<number> {
  if (signal !== undefined) log.info({ signal }, 'stopping');
  const began = performance.now();
  const inTime = await close();
  if (!inTime) log.warn('requests that were still open were cut off');
  if (signal !== undefined) log.info({ inTime, milliseconds: Math.round(performance.now() - began) }, 'stopped');
  // A connection to an unresponsive database might keep the process alive.
  setTimeout(() => process.exit(0), EXIT_DELAY).unref();
  return 0;
}
