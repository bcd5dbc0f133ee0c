/** What may follow `npm run bench --`. */
import { parseArgs } from 'node:util';
import { contenders, engine, handWritten } from './contenders.ts';
import { work } from './work.ts';

export const USAGE = `npm run bench                 this engine beside servers written by hand
npm run bench -- scale        how cost grows with rows and with record types
npm run bench -- latency      get by id while lists stream and while writes run
npm run bench -- gate         fails where this engine has become much dearer

  --work get,create           only this work: ${work.map(({ name }) => name).join(', ')}
  --with node,json-server     only these beside the engine: ${contenders
    .slice(1)
    .map(({ name }) => name)
    .join(', ')}
  --connections 1,16,64       how many at once
  --rounds 5                  of each contender and work
  --seconds 1                 how long a round is, about; latency: each measurement, 10
  --rows 10000                records in the database; scale: 10000,100000,1000000; latency: 1000000
  --types 8,100,500           scale: record types
  --json                      print JSON
  --chart FILE                write a picture, as SVG`;

export interface Options {
  readonly command: string;
  readonly work: readonly string[];
  readonly contenders: readonly string[];
  readonly connections: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: readonly number[];
  readonly types: readonly number[];
  readonly json: boolean;
  readonly chart: string | undefined;
}

export class UsageError extends Error {}

const DEFAULTS = {
  work: work.map(({ name }) => name).join(),
  with: handWritten.map(({ name }) => name).join(),
  connections: '1,16,64',
  rounds: '5',
  seconds: '1',
  rows: '10000',
  types: '8,100,500',
};
/** Of commands that want others. */
const OWN_DEFAULTS: Readonly<Record<string, Partial<typeof DEFAULTS>>> = {
  scale: { rows: '10000,100000,1000000', connections: '16' },
  latency: { rows: '1000000', seconds: '10', with: 'fastify' },
};
const TEXT = { type: 'string' } as const;

export function readOptions(args: readonly string[]): Options {
  const { values: given, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      work: TEXT,
      with: TEXT,
      connections: TEXT,
      rounds: TEXT,
      seconds: TEXT,
      rows: TEXT,
      types: TEXT,
      json: { type: 'boolean', default: false },
      chart: TEXT,
    },
  });
  const [command = 'compare'] = positionals;
  const values = { ...DEFAULTS, ...OWN_DEFAULTS[command], ...given };
  return {
    command,
    work: known('work', list(values.work), work),
    contenders: [engine.name, ...known('with', list(values.with), contenders)],
    connections: numbers('connections', values.connections),
    rounds: number('rounds', values.rounds),
    seconds: number('seconds', values.seconds),
    rows: numbers('rows', values.rows),
    types: numbers('types', values.types),
    json: values.json,
    chart: values.chart,
  };
}

const list = (text: string): readonly string[] => text.split(',').filter((item) => item !== '');

function known(option: string, names: readonly string[], all: readonly { readonly name: string }[]): readonly string[] {
  const strange = names.find((name) => !all.some((one) => one.name === name));
  if (strange === undefined) return names;
  throw new UsageError(`--${option}: there is no "${strange}", only ${all.map(({ name }) => name).join(', ')}`);
}

function number(option: string, text: string): number {
  const value = Number(text);
  if (text !== '' && value > 0) return value;
  throw new UsageError(`--${option} is "${text}"; expected a number above 0`);
}

const numbers = (option: string, text: string): readonly number[] => list(text).map((item) => number(option, item));
