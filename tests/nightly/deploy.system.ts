/** The image of deploy/Dockerfile without a container engine: its files are enough for its command. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { NODE_OPTIONS } from '../../bench/node-options.ts';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { install, pack } from '../package/packed.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';

const dockerfile = readFileSync('deploy/Dockerfile', 'utf8');
const [, building = '', running = ''] = dockerfile.split(/^FROM .*$/m);

const instructions = (stage: string, name: string): readonly string[] =>
  [...stage.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, text = '']) => text);

/** Files that the second stage copies from the first. */
const copies = instructions(running, 'COPY').map((text) => text.split(' ').slice(1));

const command = (name: string): readonly string[] =>
  JSON.parse(/\[.*\]/.exec(instructions(running, name)[0] ?? '')?.[0] ?? '[]') as string[];

const environment: Readonly<Record<string, string>> = Object.fromEntries(
  instructions(running, 'ENV').flatMap((text) =>
    [...text.matchAll(/(\w+)=(?:"([^"]*)"|(\S*))/g)].map(([, name, quoted, plain]) => [name, quoted ?? plain]),
  ),
);

const folder = mkdtempSync(join(tmpdir(), 'image-'));
let app: string;
let path: string;
const compiled = useCompiled();
beforeAll(() => {
  const [source, engine, bin] = ['source', 'record-engine', 'bin'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  app = join(folder, 'app');
  path = `${bin}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
  install(source, pack(source, compiled), engine, join(engine, 'node_modules'));
  cpSync('tests/fixtures/store', join(app, 'schema'), { recursive: true });
  mkdirSync(bin);
  symlinkSync(join(engine, 'dist/engine/cli.js'), join(bin, 'records'));
});

test('the image is the package, with the command on its path, the descriptors and the roles', () => {
  expect(copies).toEqual([
    ['/build/package', '/opt/record-engine'],
    ['/build/schema', './schema'],
    ['/build/access', './access'],
  ]);
  expect(building).toMatch(/npm pack && tar -xzf record-engine-\*\.tgz .*\n.*npm ci --prefix package --omit=dev /);
  expect(running).toContain('ln -s /opt/record-engine/dist/engine/cli.js /usr/local/bin/records');
  for (const file of (instructions(building, 'COPY')[0] ?? '').split(' ').slice(0, -1))
    expect(existsSync(file)).toBe(true);
});

test('it stops before "docker stop" kills, after 10 s', () => {
  const { drainDelay, shutdownTimeout } = readSettings(environment);
  expect(drainDelay).toBeGreaterThan(0);
  expect(drainDelay + shutdownTimeout).toBeLessThan(10_000);
});

test('image and unit start Node.js with the options of `npm start`', () => {
  expect(NODE_OPTIONS).not.toEqual([]);
  const unit = /^Environment="NODE_OPTIONS=(.*)"$/m.exec(readFileSync('deploy/records.service', 'utf8'));
  expect([environment['NODE_OPTIONS'], unit?.[1]]).toEqual([NODE_OPTIONS.join(' '), NODE_OPTIONS.join(' ')]);
});

test('its command serves, its health check agrees, and the signal that stops it does', async () => {
  const [program = '', ...words] = command('CMD');
  const token = createToken();
  const tokens = tokenLine({ name: 'all', read: 'all', write: 'all' }, token);
  const env = {
    PATH: path,
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
  // Node.js may be installed elsewhere on this machine.
  writeFileSync(unit, readFileSync('deploy/records.service', 'utf8').replace('/usr/bin/node', process.execPath));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
