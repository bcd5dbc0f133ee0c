/** Ends the process with a message if Node.js is too old. Imported first. */
import { nodeFault } from './process.ts';

const fault = nodeFault();
if (fault !== undefined) {
  process.stderr.write(`${fault}\n`);
  process.exit(1);
}
