/** `suite`: replays the requests that the descriptors promise something about, against any deployment. */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { type NewFile, newFile } from '../files.ts';
import type { Model } from '../model/model.ts';
import { readSettings, type Settings } from '../settings.ts';
import { reasonOf, StartError } from '../start-error.ts';
import type { Case } from '../suite/case.ts';
import { junitXml } from '../suite/junit.ts';
import { progressLine } from '../suite/progress.ts';
import { replay, type Result } from '../suite/replay.ts';
import { formatFailures, formatSummary } from '../suite/report.ts';
import { print, printable, printError } from '../terminal.ts';
import { announcement, chooseCases } from './chosen-cases.ts';
import type { Command } from './command.ts';
import { databaseFile } from './transfer.ts';

const OPTIONS = {
  url: { type: 'string' },
  write: { type: 'boolean' },
  yes: { type: 'boolean' },
  token: { type: 'string' },
  'read-token': { type: 'string' },
  settings: { type: 'boolean' },
  type: { type: 'string' },
  json: { type: 'boolean' },
  junit: { type: 'string' },
  force: { type: 'boolean' },
} as const;

const USAGE = [
  'records suite --url URL [--write] [--yes] [--token TOKEN] [--read-token TOKEN] [--settings] [--type NAME] [--json] [--junit FILE [--force]]',
  'Replays the reads, with --write all requests; with --token also who gets in, with --read-token (of one who may only read) what others may;',
  'with --settings also what follows from the settings of this environment, which are taken to be those of the service',
].join('\n');

type Options = ReturnType<typeof readOptions>;

function readOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new StartError(`${reasonOf(error)}\n${USAGE}`, { cause: error });
  }
}

function urlOf({ url }: Options): string {
  if (url !== undefined && URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new StartError(
    `--url must be the address of a service, such as http://127.0.0.1:3000, not "${url ?? ''}"\n${USAGE}`,
  );
}

function loadModel({ schemaDirectory }: Settings): Model {
  const { schema, diagnostics } = checkSchema(schemaDirectory);
  if (schema === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return schema.model;
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError(`${question}\nWhere nobody can be asked, say --yes`);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(printable(`${question}\nGo on? [y/N] `));
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}

async function requireAnswer(url: string): Promise<void> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    throw new StartError(`Nothing answers at ${url}`, { cause: error });
  }
}

const asJson = ({ case: { type, group, title }, outcome, failures, milliseconds }: Result) => ({
  type,
  group,
  title,
  outcome,
  milliseconds: Math.round(milliseconds),
  failures,
});

function report(results: readonly Result[], json: boolean): void {
  if (json) return print(JSON.stringify(results.map(asJson), null, 2));
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  for (const result of failed) print(`${formatFailures(result)}\n`);
  print(formatSummary(results));
}

export const suite: Command = {
  run: async (args) => {
    const options = readOptions(args);
    const url = urlOf(options);
    const settings = readSettings(process.env);
    const { cases, leftOut } = chooseCases(loadModel(settings), settings, options);
    await requireAnswer(url);
    const junit = junitFile(options);
    try {
      return await run(cases, url, options, leftOut, junit);
    } finally {
      junit?.discard();
    }
  },
};

/** Before the first request: an hour later it would be too late to find out that it cannot be written. */
const junitFile = ({ junit, force = false }: Options): NewFile | undefined =>
  junit === undefined ? undefined : newFile(junit, { force, database: databaseFile() });

async function run(
  cases: readonly Case[],
  url: string,
  options: Options,
  leftOut: readonly string[],
  junit: NewFile | undefined,
): Promise<number> {
  for (const line of leftOut) printError(line);
  if (options.write && !options.yes && !(await confirmed(announcement(url, cases)))) return 1;
  if (options.write && options.yes) printError(announcement(url, cases));
  const { token, 'read-token': readToken } = options;
  const progress = process.stderr.isTTY ? progressLine(process.stderr) : undefined;
  const results = await replay(cases, {
    url,
    ...(token === undefined ? {} : { token }),
    ...(readToken === undefined ? {} : { readToken }),
    ...(progress ? { onProgress: progress.show } : {}),
  });
  progress?.clear();
  if (junit) {
    writeFileSync(junit.partial, junitXml(results));
    junit.finish();
  }
  report(results, options.json ?? false);
  return results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}
