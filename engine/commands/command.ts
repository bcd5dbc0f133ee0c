/** Common parts of commands: options, exit codes, signals, the model, the database, progress. */
import { once } from 'node:events';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { codeOf, isOfSystem } from '../files.ts';
import { createLog, errorText } from '../log.ts';
import { Problem, reasonOf, StartError } from '../problem.ts';
import { warningsAbout, readSettings, type Settings } from '../settings/settings.ts';
import { ignoreSignals, printError, STOP_SIGNALS, workerNumber } from '../process.ts';
import { checkRoles } from '../access/checks.ts';
import type { Role, Roles } from '../access/roles.ts';
import { checkSchema } from '../validation/check-schema.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { Model, RecordType } from '../model/model.ts';
import { type Granted, unknownTypes } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { Driver } from '../storage/driver.ts';

export interface Command {
  readonly usage: string;
  /** Resolves with the exit code. If it throws, the error is printed, and the code is 1. */
  run(options: readonly string[]): Promise<number>;
}

/** A script that starts other programs may leave the service in the background, and end before it. */
const IS_RUN_BY_NPM = process.env['npm_lifecycle_script']?.includes(basename(process.argv[1] ?? '')) ?? false;
const PARENT = process.ppid;
const PARENT_CHECK_MS = 500;

/**
 * Waits for a signal to stop, or for the end of npm, whose shell forwards no signals. Supervisors may repeat a signal:
 * a later one changes nothing, but for SIGINT, with which an impatient person at a terminal ends the process at once.
 */
export async function stopSignal(): Promise<string> {
  const heard = new AbortController();
  const { signal } = heard;
  ignoreSignals(STOP_SIGNALS.filter((one) => one !== 'SIGINT'));
  const signals = STOP_SIGNALS.map((one) => once(process, one, { signal }).then(() => one));
  const name = await Promise.race([...signals, ...(IS_RUN_BY_NPM ? [parentExit(signal)] : [])]);
  heard.abort();
  return name;
}

async function parentExit(signal: AbortSignal): Promise<string> {
  while (process.ppid === PARENT) await sleep(PARENT_CHECK_MS, undefined, { ref: false, signal });
  return 'the parent process ended';
}

export function runProcess(run: () => Promise<number>, isService: boolean): void {
  // Node's own stack trace may contain values of records.
  process.once('uncaughtException', (error) => {
    printError(errorText(error));
    process.exit(1);
  });
  // Otherwise Node would open its debugger, with which other users of the machine could run code.
  ignoreSignals(['SIGUSR1']);
  const log = isService && !process.stderr.isTTY ? createLog({ logLevel: 'warn' }) : undefined;
  const warn = (text: string): void => (log ? log.warn(text) : printError(`Warning: ${text}`));
  // Workers do not repeat the warnings.
  if (workerNumber === undefined) for (const warning of warningsAbout(process.env)) warn(warning);
  const fail = (error: unknown): number => {
    // Standard output has failed, and is not to be named twice.
    if (process.exitCode === undefined) printError(messageOf(error));
    return 1;
  };
  process.stdout.on('error', (error) => {
    process.exitCode = 1;
    // The reader of a pipe has read what it wanted.
    if (codeOf(error) !== 'EPIPE') printError(`Standard output cannot be written: ${error.message}`);
  });
  void run()
    .catch(fail)
    .then((code) => (process.exitCode ||= code));
}

/** Includes a stack trace only for bugs. */
export const messageOf = (error: unknown): string =>
  error instanceof StartError || error instanceof Problem || isOfSystem(error) ? error.message : errorText(error);

export const BOOLEAN = { type: 'boolean' } as const;
export const STRING = { type: 'string' } as const;
export const STRINGS = { type: 'string', multiple: true } as const;

type Known = NonNullable<ParseArgsConfig['options']>;

type Values<O extends Known> = ReturnType<typeof parse<O>>['values'];

type Words<W extends readonly string[]> = {
  [I in keyof W]: W[I] extends `[${string}]` ? string | undefined : string;
};

/** `words`: the arguments besides options; those in brackets can be left out. */
export const command = <const O extends Known, const W extends readonly string[]>(
  usage: string,
  options: O,
  words: W,
  run: (values: Values<O>, given: Words<W>, settings: Settings) => Promise<number>,
): Command => ({
  usage,
  run: async (args) => {
    const { values, positionals } = parse(args, options, usage);
    const { [words.length]: more } = positionals;
    if (more !== undefined) throw new StartError(`"${more}" is one argument too many\n${usage}`);
    const missing = words.find((word, at) => positionals[at] === undefined && !word.startsWith('['));
    if (missing !== undefined) throw new StartError(`${missing} is missing\n${usage}`);
    return run(values, positionals as readonly string[] as Words<W>, readSettings(process.env));
  },
});

function parse<O extends Known>(args: readonly string[], options: O, usage: string) {
  try {
    const { tokens, ...parsed } = parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
    const isSingle = (name: string): boolean => options[name]?.type === 'string' && options[name].multiple !== true;
    const given = tokens.flatMap((one) => (one.kind === 'option' && isSingle(one.name) ? one.name : []));
    const twice = given.find((name, at) => given.indexOf(name) < at);
    if (twice !== undefined) throw new Error(`--${twice} is given twice`);
    return parsed;
  } catch (error) {
    const [text, unknown] = /^Unknown option '(-[^']*)'/.exec(reasonOf(error)) ?? [reasonOf(error)];
    const known = Object.keys(options).map((name) => `--${name}`);
    const hint = unknown === undefined ? '' : didYouMean(unknown, known);
    throw new StartError(`${text}${hint}\n${usage}`, { cause: error });
  }
}

/** The roles of a folder that is valid, and the model that they are for. */
export function readAccess({ schemaDirectory, accessDirectory }: Settings) {
  const model = readModel(schemaDirectory);
  const { roles, diagnostics } = checkRoles(accessDirectory, model);
  if (roles === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return { roles, model };
}

function named<T>(all: ReadonlyMap<string, T>, name: string, what: string): T {
  const found = all.get(name);
  if (found) return found;
  throw new StartError(`There is no ${what} "${name}"${didYouMean(name, all.keys())}`);
}

export const roleNamed = (roles: Roles, name: string): Role => named(roles, name, 'role');

export const typeNamed = ({ types }: Model, name: string): RecordType => named(types, name, 'record type');

export function readModel(directory: string): Model {
  const { model, diagnostics } = checkSchema(directory);
  if (model === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return model;
}

/** People read frames; collectors of the log expect lines of JSON. */
export function printWarnings({ warnings }: { readonly warnings: readonly Diagnostic[] }, settings: Settings): void {
  if (process.stderr.isTTY) {
    if (warnings.length > 0) printError(formatDiagnostics(warnings));
    return;
  }
  const log = createLog(settings);
  for (const { code, file, line, column, message } of warnings) log.warn({ code, file, line, column }, message);
}

export function refuseUnknownTypes(model: Model, rights: Granted): void {
  const [unknown] = unknownTypes(model, rights);
  if (unknown === '*') throw new StartError('"*" stands alone, for all types; to leave some out, list the others');
  if (unknown !== undefined) typeNamed(model, unknown);
}

/** Undefined for PostgreSQL. */
export const databaseFile = ({ databaseUrl }: Settings): string | undefined =>
  databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;

export async function withDatabase<T>(
  { schemaDirectory, databaseUrl }: Settings,
  work: (model: Model, driver: Driver) => Promise<T>,
): Promise<T> {
  const model = readModel(schemaDirectory);
  const { databaseAt } = await import('../storage/open.ts');
  const driver = await databaseAt(databaseUrl).open();
  try {
    return await work(model, driver);
  } finally {
    await driver.close();
  }
}

const INTERVAL_MS = 5000;

/** Prints on stderr, at most every five seconds, how many rows or lines are done. */
export function createProgress(): (done: number, all?: number) => void {
  let shownAt = performance.now();
  return (done, all) => {
    if (performance.now() - shownAt < INTERVAL_MS) return;
    shownAt = performance.now();
    printError(all === undefined ? `${done} rows so far` : `${done} of ${all} lines`);
  };
}
