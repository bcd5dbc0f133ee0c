/** `start`: environment, engine, listen, drain. */
import { once } from 'node:events';
import { formatDiagnostics } from '../descriptor/report.ts';
import { serve } from '../serve.ts';
import { readSettings } from '../settings.ts';
import { type Command, readFlags } from './command.ts';

export const start: Command = {
  run: async (options) => {
    readFlags(options, []);
    const serving = await serve(readSettings(process.env));
    const { warnings } = serving.engine;
    if (warnings.length > 0) console.error(formatDiagnostics(warnings));
    console.log(`Records are served at ${serving.url}/api/`);
    // A second signal finds no listener, and ends the process at once.
    await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    const inTime = await serving.close();
    if (!inTime) console.error('Requests that were still open after SHUTDOWN_TIMEOUT were cut off');
    return 0;
  },
};
