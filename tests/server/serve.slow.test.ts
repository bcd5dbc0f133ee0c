import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { closed, dial } from '../support/raw.ts';
import { type Environment, type Running, urlOf, useCompiled } from '../support/compiled.ts';
import { exchange } from '../support/exchange.ts';
import { startTestServer, useServer } from '../support/server.ts';
import { until } from '../support/leaving.ts';
import { some, testAtNight } from '../support/whole.ts';

const SCHEMA = 'tests/fixtures/http';
const JSON_BODY = { 'content-type': 'application/json' };

const directory = mkdtempSync(join(tmpdir(), 'records-'));
const compiled = useCompiled();

/** `received` is all that has come back. */
async function open(url: string): Promise<{ socket: Socket; received: () => string }> {
  const socket = await dial(url);
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  return { socket, received: () => text };
}

/** Sends the head of a request, and waits until the service has it. */
async function begin(socket: Socket, length: number): Promise<void> {
  socket.write(`POST /api/gadgets HTTP/1.1\r\n${REQUEST}Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`);
  await once(socket, 'data');
}

const REQUEST = 'Host: localhost\r\nContent-Type: application/json\r\n';

describe('a long list', () => {
  const ROWS = 250;
  const NOTES = 'x'.repeat(100_000);
  const server = useServer({ schemaDirectory: SCHEMA });
  beforeAll(async () => {
    const body = JSON.stringify({ notes: NOTES });
    const create = () => exchange(server.url, 'POST /api/gadgets', { headers: JSON_BODY, body });
    for (let made = 0; made < ROWS; made += 25) await Promise.all(Array.from({ length: 25 }, create));
  });

  test('is streamed, with its total and without length or tag', async () => {
    const { headers, text } = await exchange(server.url, 'GET /api/gadgets');
    expect(JSON.parse(text)).toHaveLength(ROWS);
    expect(headers).toMatchObject({ 'transfer-encoding': 'chunked', 'x-total-count': String(ROWS) });
    expect([headers.etag, headers['content-length']]).toEqual([undefined, undefined]);
    expect(await exchange(server.url, 'HEAD /api/gadgets')).toMatchObject({ status: 200, text: '' });
  });

  test('is cut off if nobody reads it', async () => {
    const settings = { databaseUrl: server.database.url, slowReaderTimeout: 1000 };
    await using own = await startTestServer({ schemaDirectory: SCHEMA, settings });
    const { socket, received } = await open(own.url);
    socket.write(`GET /api/gadgets HTTP/1.1\r\n${REQUEST}\r\n`);
    socket.pause();
    await until(() => own.budget.used > 0);
    await until(() => own.budget.used === 0);
    socket.resume();
    await closed(socket);
    expect(received()).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(received().length).toBeLessThan(ROWS * NOTES.length);
    expect(received().endsWith('0\r\n\r\n')).toBe(false);
  });

  test('is cleaned up when the client leaves', async () => {
    for (let index = 0; index < 5; index += 1) {
      const { socket } = await open(server.url);
      socket.write(`GET /api/gadgets HTTP/1.1\r\n${REQUEST}\r\n`);
      await once(socket, 'data');
      socket.destroy();
    }
    const put = await exchange(server.url, 'PUT /api/gadgets/1', { headers: JSON_BODY, body: '{"name":"still here"}' });
    expect(put.status).toBe(200);
  });

  test('a body that is too large is refused before it has arrived, and the connection stays open', async () => {
    const { socket, received } = await open(server.url);
    const length = 20_000_000;
    socket.write(`POST /api/gadgets HTTP/1.1\r\n${REQUEST}Content-Length: ${length}\r\n\r\n`);
    await once(socket, 'data');
    expect(received()).toMatch(/^HTTP\/1.1 413 /);
    socket.write(Buffer.alloc(length, 'x'));
    socket.write(`GET /api/gadgets/1?fields=name HTTP/1.1\r\n${REQUEST}Connection: close\r\n\r\n`);
    await once(socket, 'close');
    expect(received()).toMatch(/HTTP\/1.1 200 OK\r\n[\s\S]*"still here"/);
  });

  test('a client that leaves during its body gets no response', async () => {
    const log = jest.spyOn(console, 'error').mockImplementation();
    const { socket } = await open(server.url);
    socket.write(`POST /api/gadgets HTTP/1.1\r\n${REQUEST}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n`);
    await once(socket, 'data');
    socket.write('{');
    socket.destroy();
    expect((await exchange(server.url, 'GET /api/gadgets/1')).status).toBe(200);
    expect(log).not.toHaveBeenCalled();
    log.mockRestore();
  });
});

const run = (file: string, options: readonly string[], environment: Environment = {}): Running => {
  const own = { PORT: '0', SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${join(directory, 'process.db')}` };
  return compiled.run(file, options, { ...own, ...environment });
};
const serve = (environment: Environment = {}): Running => run('server.js', [], environment);
const records = (options: readonly string[], environment: Environment = {}): Running =>
  run('engine/cli.js', options, environment);

const linesOf = (service: Running): readonly Readonly<Record<string, unknown>>[] =>
  service
    .err()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('the process', () => {
  test.each(some(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2', 'SIGQUIT'] as const, 2))(
    '%s answers what is open, and ends with 0',
    async (signal) => {
      const service = serve();
      const url = await urlOf(service);
      const { socket, received } = await open(url);
      const idle = await open(url);
      const body = '{"name":"to the end"}';
      await begin(socket, body.length);
      socket.write(body.slice(0, 5));
      service.child.kill(signal);
      await once(idle.socket, 'close');
      await expect(exchange(url, 'GET /api/gadgets')).rejects.toThrow('ECONNREFUSED');
      socket.write(body.slice(5));
      await once(socket, 'close');
      expect(received()).toMatch(
        /\r\n\r\nHTTP\/1.1 201 Created\r\n[\s\S]*\r\nConnection: close\r\n[\s\S]*"to the end"/,
      );
      expect(await service.ended).toBe(0);
      // Collectors of logs read one JSON object per line.
      expect(
        service
          .out()
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toEqual([expect.objectContaining({ msg: `Serving records at ${url}/api/`, Documentation: `${url}/docs` })]);
      expect(service.err()).not.toMatch(/"level":"(warn|error)"|^[^{]/m);
    },
  );

  test.each(some(['SIGTERM', 'SIGINT'] as const))('SIGINT after %s ends the process at once', async (first) => {
    const service = serve();
    const url = await urlOf(service);
    const [{ socket }, idle] = [await open(url), await open(url)];
    await begin(socket, 10);
    service.child.kill(first);
    await closed(idle.socket);
    service.child.kill('SIGINT');
    await service.ended;
    expect(service.child.signalCode).toBe('SIGINT');
    socket.destroy();
  });

  const pairs = [
    ['SIGTERM', 'SIGTERM'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGHUP'],
    ['SIGHUP', 'SIGQUIT'],
  ] as const;
  test.each(some(pairs))('%s and then %s still answers what is open', async (first, second) => {
    const service = serve();
    const url = await urlOf(service);
    const [{ socket, received }, idle] = [await open(url), await open(url)];
    const body = '{"name":"to the end"}';
    await begin(socket, body.length);
    service.child.kill(first);
    await closed(idle.socket);
    service.child.kill(second);
    socket.write(body);
    await once(socket, 'close');
    expect(received()).toMatch(/HTTP\/1.1 201 Created/);
    expect(await service.ended).toBe(0);
  });

  testAtNight('SIGUSR1 opens no debugger', async () => {
    const service = serve();
    const url = await urlOf(service);
    service.child.kill('SIGUSR1');
    expect((await exchange(url, 'GET /health/live')).status).toBe(200);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.err()).not.toContain('Debugger');
  });

  /** Runs a script as npm does; the service in it is `"$NODE" "$FILE"`. */
  const npmRuns = (script: string, commands: string) => {
    const npm = { npm_lifecycle_event: 'start', npm_lifecycle_script: script };
    const database = join(mkdtempSync(join(directory, 'npm-')), 'records.db');
    const settings = { PORT: '0', SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${database}` };
    const program = { NODE: process.execPath, FILE: resolve(compiled.directory, 'server.js') };
    return spawn('sh', ['-c', commands], {
      env: { ...process.env, ...npm, ...settings, ...program },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  };
  const addressIn = (out: string): string => /http:[^/]*\/\/[\d.:]+/.exec(out)?.[0] ?? '';

  test('a service that npm started ends when the shell in between is killed', async () => {
    // The second command keeps the shell from replacing itself by the service.
    const shell = npmRuns('node --v8-pool-size=0 dist/server.js', '"$NODE" "$FILE"; true');
    const [line] = await once(shell.stdout, 'data');
    const url = addressIn(String(line));
    expect((await exchange(url, 'GET /health/live')).status).toBe(200);
    shell.kill('SIGTERM');
    await once(shell.stdout, 'close');
    await expect(exchange(url, 'GET /health/live')).rejects.toThrow('ECONNREFUSED');
  });

  testAtNight('a service that a script of npm leaves in the background goes on', async () => {
    const shell = npmRuns('./deploy.sh', '"$NODE" "$FILE" & echo "$!"; read -r _');
    let out = '';
    shell.stdout.on('data', (piece: Buffer) => (out += String(piece)));
    await until(() => out.includes('http:'));
    shell.stdin.end();
    await once(shell, 'exit');
    // Longer than the service takes to notice that the shell has ended.
    await sleep(1500);
    expect((await exchange(addressIn(out), 'GET /health/live')).status).toBe(200);
    process.kill(Number.parseInt(out, 10), 'SIGTERM');
    await once(shell.stdout, 'close');
  });

  testAtNight('SIGTERM cuts off requests that stay open', async () => {
    const service = serve();
    const { socket } = await open(await urlOf(service));
    await begin(socket, 10);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(linesOf(service)).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'requests that were still open were cut off' }),
    );
  });

  test('a faulty schema prints every fault with its place, and ends with 1', async () => {
    await writeFile(
      join(directory, 'faulty.yaml'),
      'type: Faulty\nfields:\n  name: { type: strin }\n  size: { typ: integer }\n',
    );
    const service = serve({ SCHEMA_DIR: directory });
    expect(await service.ended).toBe(1);
    expect(service.err()).toMatch(/faulty\.yaml:3:\d+/);
    expect(service.err()).toMatch(/faulty\.yaml:4:\d+/);
    expect(service.out()).toBe('');
  });

  test('warnings about settings are lines of the log', async () => {
    const service = serve({ PROT: '1', TOKENS: '' });
    await urlOf(service);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    const warnings = linesOf(service).filter(({ level }) => level !== 'info');
    expect(warnings.map(({ level, msg }) => [level, msg])).toEqual([
      ['warn', 'PROT is set, and is no setting; did you mean PORT?'],
      ['warn', 'TOKENS is set, but empty: it counts as not set'],
    ]);
  });

  testAtNight('warnings about descriptors are lines of the log', async () => {
    const folder = await mkdtemp(join(directory, 'warned-'));
    await writeFile(join(folder, 'gadget.yaml'), 'type: Gadget\n');
    await writeFile(join(folder, 'lonely.yaml'), 'type: Lonely\noperations: []\n');
    const service = serve({ SCHEMA_DIR: folder, DATABASE_URL: `sqlite:${join(folder, 'records.db')}` });
    await urlOf(service);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(linesOf(service)).toContainEqual(
      expect.objectContaining({ level: 'warn', code: 'unreachable-type', line: 1, column: 7 }),
    );
  });

  test('a port in use is named, and so is the setting', async () => {
    await using server = await startTestServer({ schemaDirectory: SCHEMA });
    const { port } = new URL(server.url);
    const service = serve({ PORT: port });
    expect(await service.ended).toBe(1);
    expect(service.err()).toBe(`Port ${port} of 127.0.0.1 is in use; set PORT to a free one, or to 0\n`);
  });

  test('bad settings are named all at once', async () => {
    const service = serve({
      PORT: '80x',
      BODY_LIMIT: '0',
      DATABASE_URL: 'mysql://me:secret@x',
      HOST: 'a b',
    });
    expect(await service.ended).toBe(1);
    expect(service.err().trim().split('\n')).toEqual([
      'HOST is "a b"; expected a host name or an IP address',
      'PORT is "80x"; expected an integer from 0 to 65535',
      'DATABASE_URL is "mysql://…@x"; expected sqlite: and the path of a file, like sqlite:data/records.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
      'BODY_LIMIT is "0"; expected an integer from 1 to 268435456',
    ]);
  });
});

describe('records', () => {
  const commands = [
    [['check'], 0, /^4 record types in tests\/fixtures\/http, no faults\n$/, /^$/],
    [['check', '--json'], 0, /^\[\]\n$/, /^$/],
    [['check', '--jsn'], 1, /^$/, /--json/],
    [['chek'], 2, /^$/, /did you mean "check"/],
    [['help'], 0, /records <command>[\s\S]*check /, /^$/],
  ] as const;
  test.each(some(commands, 2))('%j', async (options, code, out, err) => {
    const command = records(options);
    expect(await command.ended).toBe(code);
    expect(command.out()).toMatch(out);
    expect(command.err()).toMatch(err);
  });

  test('init makes a project in an empty folder', () => {
    const cwd = mkdtempSync(join(directory, 'empty-'));
    const out = execFileSync(process.execPath, [resolve(compiled.directory, 'engine/cli.js'), 'init'], { cwd });
    expect(String(out)).toContain('Wrote package.json');
    expect(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))).toMatchObject({
      private: true,
      scripts: { start: 'records start' },
    });
    expect(existsSync(join(cwd, 'schema/item.yaml'))).toBe(true);
  });

  test('init beside a package.json that is not JSON says where', () => {
    const cwd = mkdtempSync(join(directory, 'broken-'));
    writeFileSync(join(cwd, 'package.json'), '{nope');
    const cli = resolve(compiled.directory, 'engine/cli.js');
    expect(() => execFileSync(process.execPath, [cli, 'init'], { cwd, stdio: 'pipe' })).toThrow(
      /package\.json is not JSON: .*position 1/,
    );
  });

  test('check --json tells a fault to machines', async () => {
    const command = records(['check', '--json'], { SCHEMA_DIR: directory });
    expect(await command.ended).toBe(1);
    const faulty = expect.stringMatching(/faulty\.yaml$/);
    expect(JSON.parse(command.out())).toContainEqual(
      expect.objectContaining({ severity: 'error', file: faulty, line: 3 }),
    );
  });
});
