/** The commands and their options: what each means, and what is taken where one is not given. */
import { contenders, enginePostgres, handWritten, inWorkers, onPostgres } from './contenders.ts';
import { limits } from './gate/limits.ts';
import { requestsWork } from './requests/work.ts';
import { work } from './work.ts';

const names = (all: readonly { readonly name: string }[]): string => all.map(({ name }) => name).join(',');

export const optionMeanings = {
  work: { value: 'NAMES', meaning: `only this work: ${names(work)}; of requests: ${names(requestsWork)}` },
  with: { value: 'NAMES', meaning: `only these beside the engine: ${names(contenders.slice(1))}` },
  connections: { value: 'NUMBERS', meaning: 'how many at once' },
  rounds: { value: 'NUMBER', meaning: 'of each contender and work' },
  seconds: { value: 'NUMBER', meaning: 'how long a round is, about' },
  rows: { value: 'NUMBERS', meaning: 'records in the database' },
  types: { value: 'NUMBERS', meaning: 'record types' },
  subject: { value: 'FILE', meaning: "a program that is measured in this engine's place" },
  chart: { value: 'FILE', meaning: 'draws a picture, as SVG' },
} as const;

export type OptionName = keyof typeof optionMeanings;

export interface CommandUsage {
  readonly meaning: string;
  /** The options that it takes. */
  readonly defaults: Readonly<Partial<Record<OptionName, string>>>;
}

export const DEFAULT_COMMAND = 'compare';

export const usages = {
  compare: {
    meaning: 'this engine beside servers written by hand',
    defaults: {
      work: names(work),
      with: names(handWritten),
      connections: '1,16,64',
      rounds: '5',
      seconds: '1',
      rows: '10000',
      chart: '',
    },
  },
  postgres: {
    meaning: 'the same on PostgreSQL, beside Fastify and pg by hand',
    defaults: {
      work: names(work),
      with: names(onPostgres) + ',fastify',
      connections: '1,16,64',
      rounds: '5',
      seconds: '1',
      rows: '10000',
      chart: '',
    },
  },
  workers: {
    meaning: 'one process on PostgreSQL beside two workers, on one core and on all',
    defaults: {
      work: 'get,list 20,create',
      with: names([enginePostgres, ...inWorkers]),
      connections: '64',
      rounds: '5',
      seconds: '1',
      rows: '10000',
      chart: '',
    },
  },
  shipped: {
    meaning: 'the shipped record types as they are, beside Fastify by hand',
    defaults: { connections: '16', rounds: '9', seconds: '1', rows: '10000', chart: '' },
  },
  requests: {
    meaning: 'groups, sets, totals, and many records at once, beside Fastify by hand',
    defaults: { work: names(requestsWork), connections: '16', rounds: '5', seconds: '1', rows: '10000', chart: '' },
  },
  gate: {
    meaning: 'fails where this engine costs much more than it should, beside a server written by hand',
    defaults: { work: Object.keys(limits).join(), rounds: '5', subject: '' },
  },
  scale: {
    meaning: 'how cost grows with rows and with record types',
    defaults: {
      rows: '10000,100000,1000000',
      types: '8,100,500',
      connections: '16',
      rounds: '5',
      seconds: '1',
      chart: '',
    },
  },
  latency: {
    meaning: 'get by id while lists stream and while writes run',
    defaults: { with: 'fastify', rows: '1000000', seconds: '10', chart: '' },
  },
  start: {
    meaning: 'how soon the shipped record types are served, and in how much memory',
    defaults: { rounds: '7' },
  },
} as const satisfies Readonly<Record<string, CommandUsage>>;

export type CommandName = keyof typeof usages;

const commandLine = (name: string): string => (name === DEFAULT_COMMAND ? 'npm run bench' : `npm run bench -- ${name}`);

function commandHelp([name, { meaning, defaults }]: readonly [string, CommandUsage]): string {
  const options = Object.entries(defaults).map(([option, value]) => `--${option} ${shownDefault(option, value)}`);
  return `${commandLine(name).padEnd(28)}${meaning}\n${' '.repeat(28)}${options.join(' ')}`;
}

/** A list of all there is says nothing. */
function shownDefault(option: string, value: string): string {
  if (value === '') return 'FILE';
  return option === 'work' ? 'all' : value;
}

const optionHelp = Object.entries(optionMeanings).map(
  ([name, { value, meaning }]) => `${`  --${name} ${value}`.padEnd(28)}${meaning}`,
);

export const USAGE = [
  ...Object.entries(usages).map(commandHelp),
  '',
  'Options; what a command takes where one is not given stands beside it:',
  ...optionHelp,
  `${'  --json'.padEnd(28)}prints JSON`,
  `${'  --help'.padEnd(28)}prints this`,
].join('\n');
