/** A project that has installed the package: what its owner runs there, and what must come of it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { urlOf } from '../support/compiled.ts';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Stranger {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  run(program: string, ...words: readonly string[]): Promise<Ended>;
  records(...words: readonly string[]): Promise<Ended>;
}

/** `node`: the folder of the Node.js to use. */
export function strangerIn(folder: string, node: string): Stranger {
  const env = { ...process.env, PATH: [node, process.env['PATH'] ?? ''].join(delimiter) };
  const run: Stranger['run'] = (program, ...words) =>
    new Promise((resolve) => {
      execFile(program, words, { cwd: folder, env, timeout: 300_000 }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
      );
    });
  return {
    folder,
    environment: env,
    run,
    records: (...words) => run(join(folder, 'node_modules/.bin/records'), ...words),
  };
}

const IMPORTS = `import { createEngine, Problem, StartError } from 'record-engine';
console.log(typeof createEngine, Problem.name, StartError.name);
`;
const REQUIRES = `const { createEngine, Problem, StartError } = require('record-engine');
console.log(typeof createEngine, Problem.name, StartError.name, require('record-engine/package.json').name);
console.log(require.resolve('record-engine/descriptor.schema.json').endsWith('descriptor.schema.json'));
`;

/** Uses whatever the types say that there is. */
const TYPED = `import { createServer } from 'node:http';
import { createEngine, type EngineOptions, type ListOptions, Problem, type RecordEngine } from 'record-engine';

interface Item {
  readonly id: number;
  readonly name: string;
}

const options: EngineOptions = { databaseUrl: process.env['DATABASE_URL'], statementTimeout: 5, metrics: true };
const where: ListOptions = { where: { name: { like: 'a*' }, $any: [{ id: 1 }, { id: [2, 3] }] }, order: ['name', 'desc'], limit: 5 };

export async function main(): Promise<string | undefined> {
  const engine: RecordEngine = await createEngine(options);
  createServer(engine.handler).listen(0);
  createServer(engine.mcp).listen(0);
  const items = engine.records<Item>('Item');
  const { name } = await items.create({ name: 'x' });
  const { records, total, next }: { records: readonly Item[]; total: number | undefined; next: string | undefined } = await items.list(where);
  try {
    await items.update(1, { name }, { ifMatch: items.tagOf(records[0] ?? (await items.get(1))) ?? '' });
  } catch (error) {
    if (error instanceof Problem && error.code === 'record-not-found') return error.errors[0]?.message;
  }
  // @ts-expect-error: there is no such setting
  await createEngine({ databaseURL: 'x' });
  // @ts-expect-error: seconds are a number
  await createEngine({ statementTimeout: '5' });
  await engine.close();
  return next ?? String(total);
}
`;

/** Uses what can be mounted. */
const MOUNTS = `import { createServer } from 'node:http';
import { createEngine } from 'record-engine';

const engine = await createEngine({ databaseUrl: 'sqlite:data/mounted.db', logLevel: 'silent' });
const { handler, pages, mcp } = engine;
const server = createServer((request, response) =>
  handler(request, response, () => pages(request, response, () => mcp(request, response))));
await new Promise((done) => server.listen(0, done));
const at = (path) => 'http://127.0.0.1:' + server.address().port + path;
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const told = await (await fetch(at('/mcp'), { method: 'POST', headers, body })).text();
console.log((await fetch(at('/api/items'))).status, (await fetch(at('/docs'))).status, told.includes('list_records'));
server.closeAllConnections();
server.close();
await engine.close();
`;

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
  },
};

const SCRIPTS = ['start', 'dev', 'check', 'plan', 'apply', 'test'];

/** What holds of each installation, whichever way it came about. */
export function expectWorks(strangerOf: () => Stranger): void {
  test('records says how it is used', async () => {
    const { records, folder } = strangerOf();
    const { version } = JSON.parse(readFileSync(join(folder, 'node_modules/record-engine/package.json'), 'utf8'));
    expect(await records('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
    for (const words of [['--help'], []]) {
      const { code, out } = await records(...words);
      expect([code, out.split('\n')[0]]).toEqual([0, 'Usage: records <command>']);
    }
    const { out: ofPlan } = await records('help', 'plan');
    expect(ofPlan).toMatch(/^Usage: records plan /);
    expect((await records('plan', '--help')).out).toBe(ofPlan);
    expect(await records('help', 'paln')).toMatchObject({
      code: 2,
      err: expect.stringContaining('There is no command "paln"; did you mean "plan"?'),
    });
  });

  test('records init sets up a project, once', async () => {
    const { records, run, folder } = strangerOf();
    const first = await records('init');
    expect(first).toMatchObject({ code: 0, err: '' });
    const files = [
      'schema/item.yaml',
      'test/records.test.mjs',
      '.gitignore',
      'Dockerfile',
      'compose.yaml',
      'package.json',
    ];
    const textsOf = (): readonly string[] => files.map((file) => readFileSync(join(folder, file), 'utf8'));
    const texts = textsOf();
    expect(Object.keys(JSON.parse(texts.at(-1) ?? '').scripts).toSorted()).toEqual(SCRIPTS.toSorted());
    expect(texts[2]).toBe('node_modules/\ndata/\nrecords.env\n');
    const grammar = /\$schema=(\S+)/.exec(texts[0] ?? '')?.[1] ?? '';
    expect(existsSync(join(folder, 'schema', grammar))).toBe(true);
    expect(await records('init')).toMatchObject({ code: 0, out: expect.stringContaining('Kept schema') });
    expect(textsOf()).toEqual(texts);
    expect(await records('check')).toEqual({ code: 0, out: '1 record type in schema, no faults\n', err: '' });
    expect(await run('npm', 'test')).toMatchObject({ code: 0, out: expect.stringMatching(/^# pass 2$|pass 2/m) });
  });

  test('records start serves records and pages', async () => {
    const { folder } = strangerOf();
    const serving = await startIn(strangerOf());
    try {
      const text = async (path: string): Promise<string> => (await fetch(serving.url + path)).text();
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"first"}' };
      expect((await fetch(`${serving.url}/api/items`, init)).status).toBe(201);
      expect(JSON.parse(await text('/api/items?_cnd[name][like]=F*'))).toEqual([{ id: 1, name: 'first' }]);
      expect(await text('/')).toContain('First records');
      expect(await text('/docs')).toContain('docs/swagger-ui-bundle.js');
      expect((await text('/docs/swagger-ui-bundle.js')).length).toBeGreaterThan(1_000_000);
      expect((await text('/docs/swagger-ui.css')).length).toBeGreaterThan(100_000);
      expect(JSON.parse(await text('/openapi.json')).openapi).toBe('3.1.0');
      expect(existsSync(join(folder, 'data/records.db'))).toBe(true);
      expect(await strangerOf().records('suite', serving.url)).toMatchObject({ code: 0 });
    } finally {
      expect(await serving.stop()).toBe(0);
    }
  });

  test('records mcp serves agents', async () => {
    const { folder, environment } = strangerOf();
    const child = spawn(join(folder, 'node_modules/.bin/records'), ['mcp'], { cwd: folder, env: environment });
    const lines = createInterface({ input: child.stdout });
    const call = '{"name":"create_record","arguments":{"type":"Item","record":{}}}';
    for (const [line, answer] of [
      ['{"jsonrpc":', '"id":null,"error":{"code":-32700,'],
      ['[]', '"id":null,"error":{"code":-32600,'],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', '"name":"summarize_records"'],
      [`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${call}}`, 'without this right: --write'],
    ]) {
      child.stdin.write(`${line}\n`);
      expect(String((await once(lines, 'line'))[0])).toContain(answer);
    }
    child.stdin.end();
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  test('it can be imported and required', async () => {
    const { run, folder } = strangerOf();
    writeFileSync(join(folder, 'imports.mjs'), IMPORTS);
    writeFileSync(join(folder, 'requires.cjs'), REQUIRES);
    expect(await run('node', 'imports.mjs')).toEqual({ code: 0, out: 'function Problem StartError\n', err: '' });
    const out = 'function Problem StartError record-engine\ntrue\n';
    expect(await run('node', 'requires.cjs')).toEqual({ code: 0, out, err: '' });
  });

  test('a program serves records, pages and agents', async () => {
    const { run, folder } = strangerOf();
    writeFileSync(join(folder, 'mounts.mjs'), MOUNTS);
    expect(await run('node', 'mounts.mjs')).toEqual({ code: 0, out: '200 200 true\n', err: '' });
  });

  test('it has its types, and only right ones, for modules of both kinds', async () => {
    const { run, folder } = strangerOf();
    const files = ['typed.mts', 'typed.cts'];
    for (const file of files) writeFileSync(join(folder, file), TYPED);
    const types = { ...TSCONFIG.compilerOptions, typeRoots: [join(process.cwd(), 'node_modules/@types')] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: types, files }));
    const tsc = join(process.cwd(), 'node_modules/typescript/bin/tsc');
    expect(await run('node', tsc, '-p', '.')).toEqual({ code: 0, out: '', err: '' });
  });
}

interface Started {
  readonly url: string;
  stop(): Promise<number | null>;
}

async function startIn({ folder, environment }: Stranger): Promise<Started> {
  const env = { ...environment, PORT: '0' };
  const child = spawn(join(folder, 'node_modules/.bin/records'), ['start'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (piece: Buffer) => (texts.out += String(piece)));
  child.stderr.on('data', (piece: Buffer) => (texts.err += String(piece)));
  const ended = new Promise<number | null>((done) => child.once('close', done).once('error', () => done(null)));
  const url = await urlOf({ child, out: () => texts.out, err: () => texts.err, ended });
  const stop = (): Promise<number | null> => {
    child.kill('SIGTERM');
    return ended;
  };
  return { url, stop };
}
