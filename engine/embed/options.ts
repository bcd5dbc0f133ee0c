/** The settings of `createEngine`: named and typed for code, and checked by the table that reads the environment. */
import { didYouMean } from '../names.ts';
import type { EngineSettings } from '../engine.ts';
import { readSettings, settingsTable, withoutPassword } from '../settings/settings.ts';
import { StartError } from '../problem.ts';
import type { EngineOptions } from './types.ts';

type Name = keyof typeof settingsTable;

/** Settings of the server; a host application has its own. */
const OF_SERVER = [
  'host',
  'port',
  'workers',
  'requestTimeout',
  'publicUrl',
  'mcp',
  'drainDelay',
] as const satisfies readonly Name[];

const BY_VARIABLE: ReadonlyMap<string, string> = new Map(
  Object.entries(settingsTable).map(([name, { name: variable }]) => [variable, name]),
);

/** Throws a StartError that names every option that is unknown or has a wrong value. */
export function settingsOf(options: unknown): EngineSettings {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new StartError(`createEngine takes an object of settings, not ${shown(options)}`);
  const { limits = {}, ...settings } = options as Record<string, unknown> & Pick<EngineOptions, 'limits'>;
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  const faults = given.flatMap(([name, value]) => faultOf(name, value) ?? []);
  if (faults.length > 0) throw new StartError(faults.join('\n'));
  const variables = given.map(([name, value]) => [settingsTable[name as Name].name, textOf(name as Name, value)]);
  return { ...readSettings(Object.fromEntries(variables)), ...limits };
}

function faultOf(name: string, value: unknown): string | undefined {
  if (!Object.hasOwn(settingsTable, name)) return unknownOption(name);
  const setting = name as Name;
  if (OF_SERVER.some((one) => one === name))
    return `${name} is a setting of "records start"; here the server that you mount the engine in decides it`;
  const text = textOf(setting, value);
  const { parse, expected, secret } = settingsTable[setting] as { parse(text: string): unknown } & Expecting;
  if (text !== undefined && text !== '' && parse(text) !== undefined) return undefined;
  return `${name} is ${secret === true ? 'not valid' : shown(value)}; expected ${kindOf(setting) === 'boolean' ? 'true or false' : expected}`;
}

interface Expecting {
  readonly expected: string;
  readonly secret?: boolean;
}

function unknownOption(name: string): string {
  const known = BY_VARIABLE.get(name);
  if (known !== undefined) return `"${name}" is the name of an environment variable; here it is "${known}"`;
  const options = Object.keys(settingsTable).filter((one) => !OF_SERVER.some((server) => server === one));
  const hint = didYouMean(name, options);
  return `There is no setting "${name}"${hint === '' ? `; the settings are ${options.join(', ')}` : hint}`;
}

/** The value as the environment would have it; undefined if it is not of the setting's kind. */
function textOf(name: Name, value: unknown): string | undefined {
  const kind = kindOf(name);
  if (typeof value === 'boolean') {
    const word = value ? 'on' : 'off';
    // Of texts and lists, it would be one of many.
    const isWord = kind !== 'string' && kind !== 'object' && settingsTable[name].parse(word) !== undefined;
    return isWord ? word : undefined;
  }
  if (typeof value === 'number') return kind === 'number' ? String(value) : undefined;
  if (Array.isArray(value)) return joined(name, value);
  if (typeof value !== 'string' || kind === 'boolean') return undefined;
  // A number in quotes is a mistake; a word like "auto" is not.
  return kind === 'number' && !/[a-z]/i.test(value) ? undefined : value;
}

const SEPARATORS: Partial<Record<Name, string>> = {
  allowedHosts: ',',
  corsOrigins: ',',
  dialects: ',',
  tokens: ';',
  trustedProxies: ',',
};

function joined(name: Name, values: readonly unknown[]): string | undefined {
  const separator = SEPARATORS[name];
  if (separator === undefined || !values.every((value) => typeof value === 'string')) return undefined;
  return values.length === 0 ? 'none' : values.join(separator);
}

const kindOf = (name: Name): string => {
  const { parse, default: fallback } = settingsTable[name];
  return typeof parse(fallback);
};

const shown = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(withoutPassword(value)) : describe(value);

function describe(value: unknown): string {
  if (value === null || ['number', 'boolean', 'bigint'].includes(typeof value)) return String(value);
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
