/** What the command line can do: one file per command, and what all of them share. */
import { once } from 'node:events';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { errorText } from '../log.ts';
import { Problem } from '../problem.ts';
import { reasonOf, StartError } from '../start-error.ts';
import { printError } from '../terminal.ts';
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import type { Model } from '../model/model.ts';

export interface Command {
  /** What `--help` prints, and what a wrong command line is answered with. */
  readonly usage: string;
  /** Resolves with the exit code. A StartError that it throws is printed, with exit code 1. */
  run(options: readonly string[]): Promise<number>;
}

/** SIGTERM or SIGINT, whichever comes first. Any further one finds no listener, and ends the process at once. */
export async function stopSignal(): Promise<void> {
  const heard = new AbortController();
  const signals = ['SIGTERM', 'SIGINT'].map((name) => once(process, name, { signal: heard.signal }));
  await Promise.race(signals);
  heard.abort();
}

/** Runs to the end of the process. */
export function runProcess(run: () => Promise<number>): void {
  // What Node itself would print of an error may hold values of records.
  process.once('uncaughtException', (error) => {
    printError(errorText(error));
    process.exit(1);
  });
  void exitCode(run).then((code) => (process.exitCode = code));
}

/** What an operator can act on, as it is; of a fault of ours, where it happened. */
export const messageOf = (error: unknown): string =>
  error instanceof StartError || error instanceof Problem || isOfSystem(error) ? error.message : errorText(error);

/** A full disk, for instance. */
const isOfSystem = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

async function exitCode(run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    printError(messageOf(error));
    return 1;
  }
}

type Known = NonNullable<ParseArgsConfig['options']>;

/** `words`: how many may stand without an option. Throws a StartError with the usage where the command line is wrong. */
export function readOptions<O extends Known>(args: readonly string[], options: O, words: number, usage: string) {
  const parsed = parse(args, options, usage);
  if (parsed.positionals.length <= words) return parsed;
  throw new StartError(`"${parsed.positionals[words] ?? ''}" is one word too many\n${usage}`);
}

function parse<O extends Known>(args: readonly string[], options: O, usage: string) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new StartError(`${reasonOf(error)}\n${usage}`, { cause: error });
  }
}

/** The model of a schema directory. Throws a StartError with every diagnostic. */
export function readModel(directory: string): Model {
  const { schema, diagnostics } = checkSchema(directory);
  if (schema === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return schema.model;
}
