/** Installs the packed package in an empty project, on each supported Node.js, and as the image does. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expectWorks, type Stranger, strangerIn } from '../package/stranger.ts';

const MAX_PACKAGES = 150;
const MAX_MEGABYTES = 90;

const folder = mkdtempSync(join(tmpdir(), 'install-'));
let packed: string;
beforeAll(() => {
  const told = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [{ filename }] = JSON.parse(told.slice(told.indexOf('['))) as [{ readonly filename: string }];
  packed = join(folder, filename);
});

const programs = { 24: 'node_modules/node/bin/node', 22: 'tests/nightly/node-22/node_modules/node/bin/node' };

describe.each(Object.entries(programs))('on Node.js %s', (major, program) => {
  let stranger: Stranger;
  beforeAll(async () => {
    const project = join(folder, `node-${major}`);
    mkdirSync(project);
    stranger = strangerIn(project, dirname(resolve(program)));
    expect(await stranger.run('npm', 'init', '-y')).toMatchObject({ code: 0 });
    expect(await stranger.run('npm', 'install', packed, '--no-audit', '--no-fund')).toMatchObject({ code: 0 });
  });

  test('that is the Node.js, and npx finds the command', async () => {
    expect((await stranger.run('node', '--version')).out).toMatch(new RegExp(`^v${major}\\.`));
    expect((await stranger.run('npx', 'records', '--version')).code).toBe(0);
  });

  test(`it brings at most ${MAX_PACKAGES} packages and ${MAX_MEGABYTES} MB, and compiles nothing`, async () => {
    const { out } = await stranger.run('npm', 'ls', '--all', '--parseable');
    const packages = new Set(out.trim().split('\n').slice(1)).size;
    const megabytes = Number.parseInt((await stranger.run('du', '-sm', 'node_modules')).out, 10);
    console.info(`Node.js ${major}: ${packages} packages, ${megabytes} MB`);
    expect(packages).toBeGreaterThan(50);
    expect(packages).toBeLessThanOrEqual(MAX_PACKAGES);
    expect(megabytes).toBeLessThanOrEqual(MAX_MEGABYTES);
    const { out: built } = await stranger.run('find', 'node_modules', '-path', '*/build/Release/*.node');
    expect(built).toBe('');
  });

  expectWorks(() => stranger);
});

test('the image installs it with the versions of the lock file', async () => {
  const project = join(folder, 'image');
  mkdirSync(project);
  const { run } = strangerIn(project, dirname(resolve(programs[24])));
  expect(await run('tar', '-xzf', packed)).toMatchObject({ code: 0 });
  cpSync('package-lock.json', join(project, 'package/package-lock.json'));
  const [command = ''] = /npm ci --prefix package [^\n\\]+/.exec(readFileSync('deploy/Dockerfile', 'utf8')) ?? [];
  const [npm = '', ...words] = command.trim().split(' ');
  expect(await run(npm, ...words)).toMatchObject({ code: 0 });
  const isInstalled = (name: string): boolean => existsSync(join(project, 'package/node_modules', name));
  expect([isInstalled('knex'), isInstalled('jest')]).toEqual([true, false]);
  cpSync('schema', join(project, 'schema'), { recursive: true });
  const { code, out } = await run('node', 'package/dist/engine/cli.js', 'token', 'shop', '--write', '*');
  expect([code, out]).toEqual([0, expect.stringMatching(/ shop write=\* sha256=[0-9a-f]{64}\n$/)]);
});
