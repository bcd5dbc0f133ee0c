/** What `npm start` runs. */
// oxlint-disable-next-line import/no-unassigned-import -- it runs before the other imports do
import './engine/node-version.ts';
import { runProcess } from './engine/commands/command.ts';
import { start } from './engine/commands/start.ts';

runProcess(() => start.run(process.argv.slice(2)));
