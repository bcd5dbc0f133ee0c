/** What deploy/ describes, without a container engine: the files that the image gets are enough to run what it runs. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { readSettings, settingsTable } from '../../engine/settings.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';

const dockerfile = readFileSync('deploy/Dockerfile', 'utf8');
const [, building = '', running = ''] = dockerfile.split(/^FROM .*$/m);

const instructions = (stage: string, name: string): readonly string[] =>
  [...stage.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, text = '']) => text);

/** What the second stage takes from the first: from and to, below /app. */
const copies = instructions(running, 'COPY').map((text) => {
  const [, from = '', to = ''] = /^--from=build \/app\/(\S+) \.\/?(\S*)$/.exec(text) ?? [];
  return { from, to: to === '' || to.endsWith('/') ? join(to, from.split('/').at(-1) ?? '') : to };
});

const command = (name: string): readonly string[] =>
  JSON.parse(/\[.*\]/.exec(instructions(running, name)[0] ?? '')?.[0] ?? '[]') as string[];

const environment: Readonly<Record<string, string>> = Object.fromEntries(
  instructions(running, 'ENV').flatMap((text) => text.split(' ').map((pair) => pair.split('=', 2))),
);

let app: string;
const compiled = useCompiled();
beforeAll(async () => {
  app = mkdtempSync(join(tmpdir(), 'image-'));
  for (const { from, to } of copies) {
    const source = from === 'dist' ? compiled.directory : resolve(from);
    mkdirSync(dirname(join(app, to)), { recursive: true });
    if (from === 'node_modules') symlinkSync(source, join(app, to));
    else
      cpSync(source, join(app, to), {
        recursive: true,
        filter: (file) => !relative(source, file).includes('node_modules'),
      });
  }
});
afterAll(async () => {
  rmSync(app, { recursive: true });
});

test('the image is built of files that are there, by scripts that are there', () => {
  expect(copies.length).toBeGreaterThan(3);
  const made = new Set(['dist', 'node_modules']);
  expect(copies.filter(({ from }) => !made.has(from) && !existsSync(from))).toEqual([]);
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'));
  const named = [...building.matchAll(/npm run (\S+)/g)].map(([, name = '']) => name);
  expect(named.map((name) => scripts[name] === undefined)).toEqual([false]);
  for (const file of (instructions(building, 'COPY')[0] ?? '').split(' ').slice(0, -1))
    expect(existsSync(file)).toBe(true);
});

test('it stops before "docker stop" kills, after 10 s', () => {
  const { drainDelay, shutdownTimeout } = readSettings(environment);
  expect(drainDelay).toBeGreaterThan(0);
  expect(drainDelay + shutdownTimeout).toBeLessThan(10_000);
});

test('its settings are settings', () => {
  const names = new Set<string>(Object.values(settingsTable).map(({ name }) => name));
  expect(Object.keys(environment).filter((name) => name !== 'NODE_ENV' && !names.has(name))).toEqual([]);
});

test('its command serves, its health check agrees, and the signal that stops it does', async () => {
  const [program = '', ...words] = command('CMD');
  const token = createToken();
  const tokens = tokenLine({ name: 'all', read: 'all', write: 'all' }, token);
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    ...environment,
    TOKENS: tokens,
    PORT: '0',
    DRAIN_DELAY: '0',
  };
  const child = spawn(program, words, { cwd: app, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (piece: Buffer) => (texts.out += String(piece)));
  child.stderr.on('data', (piece: Buffer) => (texts.err += String(piece)));
  const ended = new Promise<number | null>((done) => child.once('close', done));
  const url = await urlOf({ child, out: () => texts.out, err: () => texts.err, ended });
  const { port } = new URL(url);
  const answer = await fetch(`http://127.0.0.1:${port}/api/tax-classes`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect([answer.status, await answer.json()]).toEqual([200, []]);
  expect(existsSync(join(app, 'data', 'records.db'))).toBe(true);
  const [check = '', ...checkWords] = command('HEALTHCHECK');
  expect(spawnSync(check, checkWords, { env: { ...env, PORT: port } }).status).toBe(0);
  child.kill(instructions(running, 'STOPSIGNAL')[0] as NodeJS.Signals);
  expect(await ended).toBe(0);
  expect(spawnSync(check, checkWords, { env: { ...env, PORT: port } }).status).toBe(1);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

(hasSystemd ? test : test.skip)('systemd takes the unit (where systemd-analyze is there)', () => {
  const unit = join(app, 'records.service');
  // Node need not be here where it is there.
  writeFileSync(unit, readFileSync('deploy/records.service', 'utf8').replace('/usr/bin/node', process.execPath));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
