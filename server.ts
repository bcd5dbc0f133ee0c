/** What `npm start` runs. */
import { run } from './engine/cli.ts';

run(['start', ...process.argv.slice(2)]);
