/** Shared by the commands, each of which has a file of its own. */
import { once } from 'node:events';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { errorText } from '../log.ts';
import { Problem } from '../problem.ts';
import { reasonOf, StartError } from '../start-error.ts';
import { doubtsAbout } from '../settings.ts';
import { printError } from '../terminal.ts';
import { workerNumber } from '../worker.ts';
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import type { Model } from '../model/model.ts';

export interface Command {
  /** Printed by `--help`, and after an error in the command line. */
  readonly usage: string;
  /** Resolves with the exit code. If it throws, the error is printed and the exit code is 1. */
  run(options: readonly string[]): Promise<number>;
}

/** Resolves at the first SIGTERM or SIGINT, with its name. A second signal has no listener and ends the process at once. */
export async function stopSignal(): Promise<string> {
  const heard = new AbortController();
  const { signal } = heard;
  const name = await Promise.race(['SIGTERM', 'SIGINT'].map((one) => once(process, one, { signal }).then(() => one)));
  heard.abort();
  return name;
}

/** Runs a command and sets the exit code of the process. */
export function runProcess(run: () => Promise<number>): void {
  // The stack trace that Node prints by default may contain values of records.
  process.once('uncaughtException', (error) => {
    printError(errorText(error));
    process.exit(1);
  });
  // Workers have the same environment as the process that starts them.
  if (workerNumber === undefined) for (const doubt of doubtsAbout(process.env)) printError(`Warning: ${doubt}`);
  void exitCode(run).then((code) => (process.exitCode = code));
}

/** The plain message if an operator can act on it; for a bug, also where it happened. */
export const messageOf = (error: unknown): string =>
  error instanceof StartError || error instanceof Problem || isOfSystem(error) ? error.message : errorText(error);

/** An error of the operating system, such as a full disk. */
const isOfSystem = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

async function exitCode(run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    printError(messageOf(error));
    return 1;
  }
}

export const BOOLEAN = { type: 'boolean' } as const;

type Known = NonNullable<ParseArgsConfig['options']>;

/** `words`: the maximum number of positional arguments. Throws a StartError with the usage if the command line is wrong. */
export function readOptions<O extends Known>(args: readonly string[], options: O, words: number, usage: string) {
  const parsed = parse(args, options, usage);
  if (parsed.positionals.length <= words) return parsed;
  throw new StartError(`"${parsed.positionals[words] ?? ''}" is one argument too many\n${usage}`);
}

function parse<O extends Known>(args: readonly string[], options: O, usage: string) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new StartError(`${reasonOf(error)}\n${usage}`, { cause: error });
  }
}

/** The model of a schema directory. Throws a StartError with every diagnostic if there are errors. */
export function readModel(directory: string): Model {
  const { schema, diagnostics } = checkSchema(directory);
  if (schema === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return schema.model;
}
