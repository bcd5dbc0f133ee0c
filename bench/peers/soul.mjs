/** soul, started as its command starts it. It says the port that it was given, so one that is free is looked for here. */
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { file, port } from './database.mjs';

const free = createServer();
await new Promise((resolve) => free.listen(port, '127.0.0.1', resolve));
const { port: chosen } = free.address();
await new Promise((resolve) => free.close(resolve));

process.argv.push('--database', file, '--port', String(chosen));
createRequire(import.meta.url)('soul-cli/src/server.js');
