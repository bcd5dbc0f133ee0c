/**
 * npm runs this after `npm ci` and `npm install`: builds the program, so that `npx records` works at once. It also runs
 * after `prepack`, whose more complete build stays as it is, and in `npm ci --omit=dev`, where there is no compiler.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';

const TSC = 'node_modules/typescript/bin/tsc';
const isPacking = ['pack', 'publish'].includes(process.env.npm_command ?? '');

if (!isPacking && existsSync(TSC)) {
  execFileSync(process.execPath, [TSC, '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
  chmodSync('dist/engine/cli.js', 0o755);
}
