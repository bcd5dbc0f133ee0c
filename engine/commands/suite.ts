/** `suite`: replays the requests generated from the descriptors against a running service. */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { type NewFile, newFile } from '../files.ts';
import type { Model } from '../model/model.ts';
import { StartError } from '../problem.ts';
import { suiteOf } from '../suite/suite.ts';
import { type Case, failureText, junitXml, type Result, run, summaryText } from '../suite/run.ts';
import { print, printable, printError } from '../process.ts';
import { BOOLEAN, command, databaseFile, readModel, STRING, typeNamed, type Values } from './command.ts';

const OPTIONS = {
  url: STRING,
  write: BOOLEAN,
  yes: BOOLEAN,
  token: STRING,
  'read-token': STRING,
  type: STRING,
  json: BOOLEAN,
  junit: STRING,
  force: BOOLEAN,
} as const;

const USAGE = [
  'records suite URL [--write] [--yes] [--token TOKEN] [--read-token TOKEN] [--type NAME] [--json] [--junit FILE [--force]]',
  'Replays requests that read; --write adds those that write. --token and --read-token (a token that may only read) add checks of access',
].join('\n');

type Options = Values<typeof OPTIONS>;

function checkedUrl(url: string | undefined): string {
  if (url !== undefined && URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new StartError(
    `URL must be the address of a service, such as http://127.0.0.1:3000, not "${url ?? ''}"\n${USAGE}`,
  );
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError(`${question}\nStandard input is not a terminal: confirm with --yes`);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(printable(`${question}\nContinue? [y/N] `));
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}

async function requireResponse(url: string): Promise<void> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    throw new StartError(`No response from ${url}`, { cause: error });
  }
}

export const suite = command(USAGE, OPTIONS, 1, async (options, [word], settings) => {
  const url = checkedUrl(word ?? options.url);
  const model = readModel(settings.schemaDirectory);
  const cases = chosenCases(model, options);
  await requireResponse(url);
  // Created before the first request, so that an unwritable file is reported at once.
  const { junit: file, force = false } = options;
  const junit = file === undefined ? undefined : newFile(file, { force, database: databaseFile(settings) });
  try {
    return await replay(cases, model, url, options, junit);
  } finally {
    junit?.discard();
  }
});

async function replay(
  cases: readonly Case[],
  model: Model,
  url: string,
  options: Options,
  junit: NewFile | undefined,
): Promise<number> {
  const announced = announcement(url, model);
  if (options.write && !options.yes && !(await confirmed(announced))) return 1;
  if (options.write && options.yes) printError(announced);
  const { token, 'read-token': readToken } = options;
  const results = await run(cases, {
    url,
    model,
    token,
    readToken,
    readOnly: !options.write,
  });
  if (junit) {
    writeFileSync(junit.partial, junitXml(results));
    junit.finish();
  }
  report(results, options.json ?? false);
  return results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}

const asJson = ({ case: { type, title }, milliseconds, ...result }: Result) => ({
  type,
  title,
  milliseconds: Math.round(milliseconds),
  ...result,
});

function report(results: readonly Result[], json: boolean): void {
  if (json) return print(JSON.stringify(results.map(asJson), null, 2));
  for (const result of results.filter(({ outcome }) => outcome === 'failed')) print(`${failureText(result)}\n`);
  print(summaryText(results));
}

/** Another seed for each run, so that its values are not those that an earlier run left behind. */
const seedOfNow = (): number => 1000 + (Math.floor(Date.now() / 1000) % 1_000_000) * 1000;

function chosenCases(model: Model, options: Options): readonly Case[] {
  const { type, token, 'read-token': readToken } = options;
  if (type !== undefined) typeNamed(model, type);
  const access = { guarded: token !== undefined, hasReader: readToken !== undefined };
  const cases = suiteOf(model, { seed: seedOfNow(), ...access });
  return cases.filter((one) => type === undefined || one.type === type);
}

function announcement(url: string, { types }: Model): string {
  const left = [...types.values()].filter(({ operations }) => !operations.has('delete')).map(({ name }) => name);
  const rest = left.length === 0 ? '.' : `, except records of types without a delete operation: ${left.join(', ')}`;
  return `This creates, changes and deletes records of its own at ${url}, and removes them at the end${rest}`;
}
