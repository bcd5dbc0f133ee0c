/** What `npm start` runs. */
import { runProcess } from './engine/commands/command.ts';
import { start } from './engine/commands/start.ts';

runProcess(() => start.run([]));
