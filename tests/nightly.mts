/**
 * `npm run test:nightly -- NAME [OPTION…]`: what takes too long for `npm test`, or needs other programs. Each job installs
 * what it needs. By default it runs tests/nightly/**\/*.NAME.ts, one file at a time. Options, such as parts of file names, go to
 * each of its commands in place of the files that these name, or to its program alone, where it ends with one.
 */
import { spawnSync } from 'node:child_process';
import { delimiter, resolve } from 'node:path';

interface Job {
  readonly about: string;
  readonly programs?: readonly string[];
  readonly packages?: readonly string[];
  readonly types?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly commands?: readonly (readonly string[])[];
}

const ONE_WORKER = '--maxWorkers=1';
const jest = ['jest', ONE_WORKER];
const onPostgres = ['.ci/postgres', 'with', ...jest];
const THROUGH_POOLER =
  'export NIGHTLY= TEST_DIRECT_URL=$TEST_POSTGRES_URL TEST_POSTGRES_URL=$TEST_POOLER_URL; exec jest "$@"';
const inTools = { packages: ['tests/nightly/tools'], types: 'tests/nightly/tools' };
const inChromium = { ...inTools, programs: ['chromium'] };

const jobs: Readonly<Record<string, Job>> = {
  admin: {
    about: 'react-admin with its providers for json-server and simple REST, in Chromium',
    programs: ['chromium'],
    packages: ['tests/nightly/tools', 'tests/nightly/admin'],
    types: 'tests/nightly/admin',
  },
  attack: {
    about: 'hostile clients, and the memory that they cost',
    programs: ['postgresql'],
    commands: [jest, [...onPostgres, 'time', 'memory']],
  },
  bench: { about: 'the commands of bench/', programs: ['postgresql'], packages: ['bench'] },
  browser: {
    about: 'the pages and the studio in Chromium: every width and theme, and the journeys on both databases',
    ...inTools,
    programs: ['chromium', 'postgresql'],
    commands: [
      ['env', 'NIGHTLY=browser|journeys', ...jest],
      ['env', 'NIGHTLY=journeys', ...onPostgres],
    ],
  },
  chaos: {
    about: 'random requests and random faults on several instances: MINUTES, --seed N, --on DATABASE, --workers N',
    programs: ['postgresql'],
    commands: [['node', '--require', 'esbuild-register', 'tests/nightly/chaos/chaos.ts']],
  },
  failover: {
    about: 'a PostgreSQL primary that is lost, its standby and HAProxy; instances that are replaced behind nginx',
    programs: ['postgresql', 'haproxy', 'nginx'],
  },
  fuzz: {
    about: 'random requests of strangers; RUNS=1000 sends fewer',
    environment: { RUNS: '200000' },
    commands: [['env', 'NIGHTLY=', ...jest, 'tests/http/hostile', 'tests/http/limits', 'tests/access']],
  },
  generators: {
    about: 'clients that generators write from the OpenAPI document',
    packages: ['tests/nightly/generators'],
  },
  guests: { about: "the engine behind and beside other people's middleware", packages: ['tests/nightly/guests'] },
  journeys: { about: 'a handful of journeys through the studio in Chromium, as .ci/run takes them', ...inChromium },
  kills: {
    about: 'services, commands and migrations that are killed; KILLS=10 is quicker',
    programs: ['postgresql'],
    environment: { KILLS: '100' },
    commands: [jest, onPostgres],
  },
  migrations: {
    about: 'each step of a migration under load on PostgreSQL; LIVE_ROWS=2000 is quicker',
    programs: ['postgresql'],
    environment: { LIVE_ROWS: '1000000', KILLS: '100' },
    commands: [onPostgres],
  },
  oidc: { about: 'tokens of an OpenID provider', packages: ['tests/nightly/oidc'] },
  package: {
    about: 'the packed package, installed from the registry on Node.js 24 and 22',
    packages: ['tests/nightly/node-22'],
  },
  pooler: {
    about: 'PostgreSQL behind PgBouncer',
    programs: ['postgresql', 'pgbouncer'],
    commands: [
      onPostgres,
      ['.ci/postgres', 'with', 'sh', '-c', THROUGH_POOLER, ...jest, 'http/http.', 'postgres/instances'],
    ],
  },
  random: {
    about: 'the oracle compared with the service on new seeds, until a comparison fails',
    programs: ['postgresql'],
    commands: [onPostgres],
  },
  speed: { about: 'the studio with 1,000,000 records', ...inChromium },
  starts: {
    about: 'two hundred starts and stops on Node.js 24 and 22; STARTS=10 is quicker',
    packages: ['tests/nightly/node-22'],
    environment: { STARTS: '200' },
    commands: [
      jest,
      ['tests/nightly/node-22/node_modules/.bin/node', 'node_modules/jest/bin/jest.js', '--maxWorkers=1'],
    ],
  },
  system: { about: 'nginx, HAProxy, systemd and Prometheus', programs: ['nginx', 'haproxy', 'prometheus'] },
  tools: { about: 'linters on the OpenAPI document', ...inTools },
  whole: {
    about: 'the tables and random runs of which `npm test` takes a part, whole, on both databases',
    programs: ['postgresql'],
    environment: { TESTS: 'whole' },
    commands: [jest, onPostgres].map((command) => ['env', 'NIGHTLY=', ...command]),
  },
};

function run([program = '', ...words]: readonly string[], environment: NodeJS.ProcessEnv): void {
  const { status, error } = spawnSync(program, words, { stdio: 'inherit', env: environment });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

type Commands = readonly (readonly string[])[];

function withOptions(commands: Commands, options: readonly string[]): Commands {
  const last = commands.at(-1) ?? [];
  const afterJest = (command: readonly string[]): number => command.indexOf(ONE_WORKER) + 1;
  if (afterJest(last) === 0) return [[...last, ...options]];
  return commands.map((command) => [...command.slice(0, afterJest(command)), ...options]);
}

function main([name = '', ...options]: readonly string[]): void {
  const job = jobs[name];
  if (job === undefined) {
    console.log('npm run test:nightly -- NAME, one of:');
    for (const [each, { about }] of Object.entries(jobs)) console.log(`  ${each.padEnd(11)} ${about}`);
    process.exit(name === '' ? 0 : 2);
  }
  const { programs = [], packages = [], types, environment = {}, commands = [jest] } = job;
  const env: NodeJS.ProcessEnv = { ...environment, ...process.env, NIGHTLY: name };
  env['PATH'] = [resolve('node_modules/.bin'), env['PATH']].join(delimiter);
  if (programs.length > 0) run(['.ci/install', ...programs], env);
  if (packages.length > 0) run(['.ci/packages', ...packages], env);
  if (types !== undefined) run(['tsc', '--noEmit', '-p', types], env);
  for (const command of options.length > 0 ? withOptions(commands, options) : commands) run(command, env);
}

main(process.argv.slice(2));
