/** Clients generated from the simple profile compile under strict TypeScript, and work with a running service. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { useCompiled } from '../../support/compiled.ts';
import { exchange } from '../../support/exchange.ts';
import { keyedSchema } from '../../support/keyed.ts';
import { useServer } from '../../support/server.ts';

const FOLDER = 'tests/nightly/generators';
const GENERATED = 'generated';
const JSON_BODY = { 'content-type': 'application/json' };
const DOCUMENT = join(GENERATED, 'openapi.json');

/** By the name of the program that uses it, the command that it is called by. */
const GENERATORS = {
  'openapi-typescript': `openapi-typescript ${DOCUMENT} -o ${GENERATED}/openapi-typescript.d.ts`,
  'hey-api': `openapi-ts -i ./${DOCUMENT} -o ${GENERATED}/hey-api -c @hey-api/client-fetch`,
  orval: `orval --config ${GENERATED}/orval.config.cjs`,
  'swagger-typescript-api': `swagger-typescript-api generate -p ${DOCUMENT} -o ${GENERATED} -n swagger-typescript-api.ts`,
} as const;
type Name = keyof typeof GENERATORS;
const names = Object.keys(GENERATORS) as readonly Name[];

const compiled = useCompiled();
const store = useServer();

async function writeDocument(url: string): Promise<void> {
  rmSync(join(FOLDER, GENERATED), { recursive: true, force: true });
  mkdirSync(join(FOLDER, GENERATED));
  const { text } = await exchange(url, 'GET /openapi.json?profile=simple');
  writeFileSync(join(FOLDER, DOCUMENT), text);
  const output = { target: './orval.ts', client: 'fetch', mode: 'single', baseUrl: `${url}/api` };
  const config = { records: { input: './openapi.json', output } };
  writeFileSync(join(FOLDER, GENERATED, 'orval.config.cjs'), `module.exports = ${JSON.stringify(config)};\n`);
}

async function run(command: string, ...words: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(join('node_modules/.bin', command), words, { cwd: FOLDER })).stdout;
  } catch (error) {
    const said = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${command}: ${said.stdout ?? ''}${said.stderr ?? ''}`, { cause: error });
  }
}

async function generate(name: Name): Promise<void> {
  const [command = '', ...words] = GENERATORS[name].split(' ');
  await run(command, ...words);
  const file = join(FOLDER, GENERATED, `${name}.ts`);
  if (existsSync(file)) writeFileSync(file, readFileSync(file, 'utf8').replaceAll('// @ts-nocheck', ''));
}

/** `name`: of the bundle, since a path is imported once. */
async function runProgram(program: string, name: string, url: string): Promise<unknown> {
  const outfile = join(FOLDER, GENERATED, `${name}.use.cjs`);
  const entryPoints = [join(FOLDER, `${program}.ts`)];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'cjs', logLevel: 'silent' });
  return ((await import(join(process.cwd(), outfile))) as { run(url: string): Promise<unknown> }).run(url);
}

describe.each(['integer', 'uuid'] as const)('with identifiers of type %s', (kind) => {
  const schemaDirectory = 'tests/fixtures/store';
  const server = useServer({
    schemaDirectory: kind === 'integer' ? schemaDirectory : keyedSchema(schemaDirectory, kind),
  });
  beforeAll(() => writeDocument(server.url));

  it.each(names)('%s generates', generate);

  it('all of it compiles under strict TypeScript, as do programs that use it', () => run('tsc', '-p', '.'));

  it.each(names)('a program that uses %s works', async (name) => {
    for (const { id } of JSON.parse((await exchange(server.url, 'GET /api/tax-classes')).text) as { id: unknown }[])
      await exchange(server.url, `DELETE /api/tax-classes/${String(id)}`);
    expect(await runProgram(`use/${name}`, `${name}-${kind}`, server.url)).toEqual({
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
});

const inspect = async (served: readonly string[], ...words: readonly string[]): Promise<unknown> =>
  JSON.parse(await run('mcp-inspector', '--cli', ...served, '--method', ...words));

describe('with keys that clients bring', () => {
  const server = useServer({ schemaDirectory: 'tests/fixtures/keys' });
  beforeAll(() => writeDocument(server.url));

  it('a program that uses openapi-fetch compiles, and works', async () => {
    await generate('openapi-typescript');
    await run('tsc', '-p', 'keys');
    expect(await runProgram('keys/openapi-fetch', 'keys', server.url)).toEqual({
      key: 'A/7 50% $ü',
      currency: 'EUR',
      order: '0192f0c1-2b3c-7d4e-8f90-a1b2c3d4e5f6',
      again: 409,
      isOfService: true,
      renamed: 'Bea',
      found: ['1'],
      gone: 200,
    });
  });

  it('an agent on the SDK finds a record by its key', async () => {
    await exchange(server.url, 'POST /api/currencies', { body: '{"code":"XAU","title":"Gold"}', headers: JSON_BODY });
    const call = ['tools/call', '--tool-name', 'get_record', '--tool-arg', 'type=Currency', 'id=XAU'];
    expect(await inspect([`${server.url}/mcp`, '--transport', 'http'], ...call)).toMatchObject({
      content: [{ text: expect.stringContaining('"title":"Gold"') }],
    });
  });
});

describe('@modelcontextprotocol/inspector', () => {
  it('lists and calls the tools of /mcp and of records mcp', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'inspector-'));
    const settings = [
      `SCHEMA_DIR=${resolve('tests/fixtures/store')}`,
      `DATABASE_URL=sqlite:${join(folder, 'records.db')}`,
    ];
    const program = [process.execPath, join(compiled.directory, 'engine/cli.js'), 'mcp', '--write'];
    const servers = [
      [`${store.url}/mcp`, '--transport', 'http'],
      [...settings.flatMap((setting) => ['-e', setting]), ...program],
    ];
    for (const one of servers) {
      expect(await inspect(one, 'tools/list')).toMatchObject({ tools: { length: 8 } });
      const record = 'record={"zone":{"zone_name":"Europe"}}';
      const call = ['tools/call', '--tool-name', 'create_record', '--tool-arg', 'type=ShippingMarkup', record];
      expect(await inspect(one, ...call)).toMatchObject({
        content: [{ text: expect.stringContaining('"zone_name":"Europe"') }],
      });
    }
  });
});
