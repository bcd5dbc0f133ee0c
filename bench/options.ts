/** What may follow `npm run bench --`. */
import { parseArgs } from 'node:util';
import { didYouMean } from '../engine/names.ts';
import { contenders, engine } from './contenders.ts';
import { missing } from './needs.ts';
import {
  type CommandName,
  type CommandUsage,
  DEFAULT_COMMAND,
  type OptionName,
  optionMeanings,
  usages,
} from './usage.ts';
import { requestsWork } from './requests/work.ts';
import { work } from './work.ts';

/** What the command does not take is empty. */
export interface Options {
  readonly command: CommandName;
  readonly work: readonly string[];
  readonly contenders: readonly string[];
  readonly connections: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: readonly number[];
  readonly types: readonly number[];
  readonly json: boolean;
  readonly subject: string;
  readonly chart: string;
}

export class UsageError extends Error {}

export function readOptions(args: readonly string[]): Options {
  const { given, words } = parsed(args);
  const [command = DEFAULT_COMMAND, extra] = words;
  if (!isCommand(command)) throw new UsageError(`There is no "${command}"${didYouMean(command, Object.keys(usages))}`);
  if (extra !== undefined) throw new UsageError(`"${extra}" is one word too many`);
  const { json, ...valued } = given;
  const { defaults }: CommandUsage = usages[command];
  for (const name of Object.keys(valued)) if (!(name in defaults)) throw new UsageError(`${command} has no --${name}`);
  const values: Readonly<Partial<Record<OptionName, string>>> = { ...defaults, ...valued };
  return {
    command,
    work: known('work', values.work, command === 'requests' ? requestsWork : work),
    contenders: [engine.name, ...reachable(known('with', values.with, contenders.slice(1)))],
    connections: counts('connections', values.connections),
    rounds: values.rounds === undefined ? 0 : count('rounds', values.rounds),
    seconds: values.seconds === undefined ? 0 : number('seconds', values.seconds),
    rows: counts('rows', values.rows),
    types: counts('types', values.types),
    json: json === true,
    subject: values.subject ?? '',
    chart: values.chart ?? '',
  };
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(usages, name);

type Given = Readonly<Partial<Record<OptionName, string>>> & { readonly json?: boolean };

const TEXT = { type: 'string' } as const;
const VALUED = Object.fromEntries(Object.keys(optionMeanings).map((name) => [name, TEXT]));

function parsed(args: readonly string[]): { readonly given: Given; readonly words: readonly string[] } {
  try {
    const options = { ...VALUED, json: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    return { given: values, words: positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function list(option: OptionName, text: string): readonly string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.includes('')) throw new UsageError(`--${option} is "${text}"; expected a list such as "a,b"`);
  return items;
}

function known(
  option: OptionName,
  text: string | undefined,
  all: readonly { readonly name: string }[],
): readonly string[] {
  if (text === undefined) return [];
  const names = all.map(({ name }) => name);
  const given = list(option, text);
  const strange = given.find((name) => !names.includes(name));
  if (strange === undefined) return given;
  throw new UsageError(`--${option}: there is no "${strange}"${didYouMean(strange, names)}`);
}

/** Throws where one of them needs a server, and there is none. */
function reachable(names: readonly string[]): readonly string[] {
  const need = missing(names);
  if (need !== undefined) throw new UsageError(need);
  return names;
}

function number(option: OptionName, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value > 0 && Number.isFinite(value)) return value;
  throw new UsageError(`--${option} is "${text}"; expected a number above 0`);
}

function count(option: OptionName, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`--${option} is "${text}"; expected a whole number above 0`);
}

const counts = (option: OptionName, text: string | undefined): readonly number[] =>
  text === undefined ? [] : list(option, text).map((item) => count(option, item));
