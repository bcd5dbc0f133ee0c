/** Checks the options of `createEngine` by the table of environment variables. */
import { didYouMean } from '../names.ts';
import type { EngineSettings } from '../engine.ts';
import { expectedFor, readSettings, settingsTable, withoutPassword } from '../settings/settings.ts';
import { StartError } from '../problem.ts';

type Name = keyof typeof settingsTable;

/** Settings to refuse: the host application's server decides them. */
const OF_SERVER = new Set(['host', 'port', 'workers', 'requestTimeout', 'publicUrl', 'mcp', 'drainDelay']);

/** Throws a StartError that names every unknown option and invalid value. */
export function settingsOf(options: unknown): EngineSettings {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new StartError(`createEngine takes an object of settings, not ${shown(options)}`);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const faults = given.flatMap(([name, value]) => faultOf(name, value) ?? []);
  if (faults.length > 0) throw new StartError(faults.join('\n'));
  const variables = given.map(([name, value]) => [settingsTable[name as Name].name, textOf(name as Name, value)]);
  return readSettings(Object.fromEntries(variables));
}

function faultOf(name: string, value: unknown): string | undefined {
  if (!Object.hasOwn(settingsTable, name)) return unknownOption(name);
  const setting = name as Name;
  if (OF_SERVER.has(name))
    return `${name} is a setting of "records start"; here the server that you mount the engine in decides it`;
  const text = textOf(setting, value);
  const entry = settingsTable[setting];
  if (text !== undefined && text !== '' && entry.parse(text) !== undefined) return undefined;
  const isSecret = 'secret' in entry && entry.secret === true;
  return `${name} is ${isSecret ? 'not valid' : shown(value)}; expected ${kindOf(setting) === 'boolean' ? 'true or false' : expectedFor(entry, text)}`;
}

function unknownOption(name: string): string {
  const [known] = Object.entries(settingsTable).find(([, { name: variable }]) => variable === name) ?? [];
  if (known !== undefined) return `"${name}" is the name of an environment variable; here it is "${known}"`;
  const options = Object.keys(settingsTable).filter((one) => !OF_SERVER.has(one));
  const hint = didYouMean(name, options);
  return `There is no setting "${name}"${hint === '' ? `; the settings are ${options.join(', ')}` : hint}`;
}

/** The value as an environment variable; undefined if it has a wrong type. */
function textOf(name: Name, value: unknown): string | undefined {
  const kind = kindOf(name);
  if (typeof value === 'boolean' && (kind === 'boolean' || kind === 'number')) return value ? 'on' : 'off';
  if (typeof value === 'number' && kind === 'number') return String(value);
  if (Array.isArray(value) && LISTS.has(name) && value.every((item) => typeof item === 'string'))
    return value.length === 0 ? 'none' : value.join(name === 'tokens' ? ';' : ',');
  if (typeof value !== 'string' || kind === 'boolean') return undefined;
  // Numbers as strings are mistakes, but words like "auto" are not.
  return kind === 'number' && !/[a-z]/i.test(value) ? undefined : value;
}

const LISTS: ReadonlySet<Name> = new Set([
  'allowedHosts',
  'corsOrigins',
  'dialects',
  'imageOrigins',
  'tokens',
  'trustedProxies',
]);

const kindOf = (name: Name): string => typeof settingsTable[name].parse(settingsTable[name].default);

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(withoutPassword(value));
  if (value === null || ['number', 'boolean', 'bigint'].includes(typeof value)) return String(value);
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
