/** `start`: environment, engine, listen, drain. */
import { formatDiagnostics } from '../descriptor/report.ts';
import { serve } from '../serve.ts';
import { readSettings } from '../settings.ts';
import { type Command, readFlags, stopSignal } from './command.ts';

export const start: Command = {
  run: async (options) => {
    readFlags(options, []);
    const serving = await serve(readSettings(process.env));
    const { warnings } = serving.engine;
    if (warnings.length > 0) console.error(formatDiagnostics(warnings));
    console.log(`Records are served at ${serving.url}/api/`);
    await stopSignal();
    const inTime = await serving.close();
    if (!inTime) console.error('Requests that were still open after SHUTDOWN_TIMEOUT were cut off');
    return 0;
  },
};
