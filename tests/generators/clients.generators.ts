/** What generators make of the simple profile compiles under strict TypeScript, and works with the live service. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { exchange } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const FOLDER = 'tests/generators';
const GENERATED = 'generated';
const DOCUMENT = join(GENERATED, 'openapi.json');

/** The command that each generator is called by. */
const GENERATORS = {
  'openapi-typescript': `openapi-typescript ${DOCUMENT} -o ${GENERATED}/openapi-typescript.d.ts`,
  'hey-api': `openapi-ts -i ./${DOCUMENT} -o ${GENERATED}/hey-api -c @hey-api/client-fetch`,
  orval: `orval --config ${GENERATED}/orval.config.cjs`,
  'swagger-typescript-api': `swagger-typescript-api generate -p ${DOCUMENT} -o ${GENERATED} -n swagger-typescript-api.ts`,
} as const;
type Name = keyof typeof GENERATORS;
const names = Object.keys(GENERATORS) as readonly Name[];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  rmSync(join(FOLDER, GENERATED), { recursive: true, force: true });
  mkdirSync(join(FOLDER, GENERATED));
  const { text } = await exchange(server.url, 'GET /openapi.json?profile=simple');
  writeFileSync(join(FOLDER, DOCUMENT), text);
  const output = { target: './orval.ts', client: 'fetch', mode: 'single', baseUrl: `${server.url}/api` };
  const config = { records: { input: './openapi.json', output } };
  writeFileSync(join(FOLDER, GENERATED, 'orval.config.cjs'), `module.exports = ${JSON.stringify(config)};\n`);
});
afterAll(() => server.close());

/** A command of the folder's own packages. */
function run(command: string, ...words: readonly string[]): void {
  try {
    execFileSync(join('node_modules/.bin', command), words, { cwd: FOLDER, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const said = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${command}: ${said.stdout ?? ''}${said.stderr ?? ''}`, { cause: error });
  }
}

it.each(names)('%s generates', (name) => {
  const [command = '', ...words] = GENERATORS[name].split(' ');
  run(command, ...words);
  const file = join(FOLDER, GENERATED, `${name}.ts`);
  // It would make the compiler look away.
  if (existsSync(file)) writeFileSync(file, readFileSync(file, 'utf8').replaceAll('// @ts-nocheck', ''));
});

it('all of it compiles under strict TypeScript, as do programs that use it', () => run('tsc', '-p', '.'));

it.each(names)('a program that uses %s works', async (name) => {
  const outfile = join(FOLDER, GENERATED, `${name}.use.cjs`);
  const entryPoints = [join(FOLDER, 'use', `${name}.ts`)];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'cjs', logLevel: 'silent' });
  const program = (await import(join(process.cwd(), outfile))) as { run(url: string): Promise<unknown> };
  for (const { id } of JSON.parse((await exchange(server.url, 'GET /api/tax-classes')).text) as { id: number }[])
    await exchange(server.url, `DELETE /api/tax-classes/${id}`);
  expect(await program.run(server.url)).toEqual({
    filtered: [2],
    first: [3, 2],
    second: [1],
    total: '3',
    zone: 'Europe',
    updated: 200,
    outdated: 412,
    deleted: 200,
    gone: 404,
  });
});
