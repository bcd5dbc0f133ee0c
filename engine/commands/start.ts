/** `start`: serves the records until a signal stops it. */
import { formatDiagnostics } from '../descriptor/report.ts';
import { serve } from '../server/serve.ts';
import { readSettings } from '../settings.ts';
import { print, printError } from '../terminal.ts';
import { type Command, readOptions, stopSignal } from './command.ts';

/** Milliseconds after which the process exits, even if handles are still open. */
const EXIT_DELAY = 100;

const USAGE = 'records start: serves the records, with settings from the environment';

export const start: Command = {
  usage: USAGE,
  run: async (options) => {
    readOptions(options, {}, 0, USAGE);
    const serving = await serve(readSettings(process.env));
    const { warnings } = serving.engine;
    if (warnings.length > 0) printError(formatDiagnostics(warnings));
    print(`Serving records at ${serving.url}/api/`);
    await stopSignal();
    const inTime = await serving.close();
    if (!inTime) printError('Requests still open after SHUTDOWN_TIMEOUT were cut off');
    // A connection to an unresponsive database server may keep the process alive.
    setTimeout(() => process.exit(0), EXIT_DELAY).unref();
    return 0;
  },
};
