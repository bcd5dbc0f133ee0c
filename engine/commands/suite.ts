/** `suite`: replays the requests that the descriptors promise something about, against any deployment. */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import type { Model } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { type Case, onlyReads } from '../suite/case.ts';
import { junitXml } from '../suite/junit.ts';
import { progressLine } from '../suite/progress.ts';
import { replay, type Result } from '../suite/replay.ts';
import { formatFailures, formatSummary } from '../suite/report.ts';
import { suiteOfAll } from '../suite/suite.ts';
import type { Command } from './command.ts';

const OPTIONS = {
  url: { type: 'string' },
  write: { type: 'boolean' },
  yes: { type: 'boolean' },
  token: { type: 'string' },
  type: { type: 'string' },
  json: { type: 'boolean' },
  junit: { type: 'string' },
} as const;

const USAGE =
  'records suite --url URL [--write] [--yes] [--token TOKEN] [--type NAME] [--json] [--junit FILE]: replays the reads, with --write all requests';

function readOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new StartError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, { cause: error });
  }
}

type Options = ReturnType<typeof readOptions>;

function urlOf({ url }: Options): string {
  if (url !== undefined && URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new StartError(
    `--url must be the address of a service, such as http://127.0.0.1:3000, not "${url ?? ''}"\n${USAGE}`,
  );
}

function loadModel(): Model {
  const { schema, diagnostics } = checkSchema(readSettings(process.env).schemaDirectory);
  if (schema === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return schema.model;
}

/** Another start for each run, so that it does not meet the values that an earlier one left behind. */
const seedOfNow = (): number => 1000 + (Math.floor(Date.now() / 1000) % 1_000_000) * 1000;

function chosenCases(model: Model, { write, type }: Options): readonly Case[] {
  if (type !== undefined && !model.types.has(type)) {
    throw new StartError(`There is no record type "${type}"${didYouMean(type, model.types.keys())}`);
  }
  const all = suiteOfAll(model, seedOfNow()).filter((one) => type === undefined || one.type === type);
  return all.filter((one) => (write ? !one.irreversible : onlyReads(one)));
}

/** How many records of each type the cases cannot remove again. */
function leftBehind(cases: readonly Case[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [type, count] of cases.flatMap(({ leaves }) => Object.entries(leaves)))
    sums.set(type, (sums.get(type) ?? 0) + count);
  return sums;
}

function announcement(url: string, cases: readonly Case[]): string {
  const left = [...leftBehind(cases)].map(([type, count]) => `  ${type}: ${count}`);
  const rest =
    left.length === 0
      ? ['and removes all of them again.']
      : ['and removes them again, except for records of types that offer no delete:', ...left];
  return [`This creates, changes and deletes records of its own at ${url}`, ...rest].join('\n');
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError(`${question}\nWhere nobody can be asked, say --yes`);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(`${question}\nGo on? [y/N] `);
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

function report(results: readonly Result[], { json, junit }: Options): void {
  if (junit !== undefined) writeFileSync(junit, junitXml(results));
  if (json) return console.log(JSON.stringify(results.map(asJson), null, 2));
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  for (const result of failed) console.log(`${formatFailures(result)}\n`);
  console.log(formatSummary(results));
}

export const suite: Command = {
  run: async (args) => {
    const options = readOptions(args);
    const url = urlOf(options);
    const cases = chosenCases(loadModel(), options);
    await requireAnswer(url);
    if (options.write && !options.yes && !(await confirmed(announcement(url, cases)))) return 1;
    if (options.write && options.yes) console.error(announcement(url, cases));
    const { token } = options;
    const progress = process.stderr.isTTY ? progressLine(process.stderr) : undefined;
    const results = await replay(cases, {
      url,
      ...(token === undefined ? {} : { token }),
      ...(progress ? { onProgress: progress.show } : {}),
    });
    progress?.clear();
    report(results, options);
    return results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
  },
};
