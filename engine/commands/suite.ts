/** `suite`: replays the requests that the descriptors promise something about, against any deployment. */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { type NewFile, newFile } from '../files.ts';
import type { Model } from '../model/model.ts';
import { readSettings, type Settings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { type Case, conditionsOf, onlyReads } from '../suite/case.ts';
import { replay, type Result } from '../suite/replay.ts';
import { formatFailures, formatSummary, junitXml, progressLine } from '../suite/report.ts';
import { print, printable, printError } from '../terminal.ts';
import { type Command, readModel, readOptions } from './command.ts';
import { databaseFile } from './transfer.ts';
import { didYouMean } from '../names.ts';
import { ANYWHERE, type Deployment, deploymentOf } from '../suite/deployment.ts';
import { suiteOfAll } from '../suite/suite.ts';

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

type Options = ReturnType<typeof readOptions<typeof OPTIONS>>['values'];

function urlOf({ url }: Options): string {
  if (url !== undefined && URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new StartError(
    `--url must be the address of a service, such as http://127.0.0.1:3000, not "${url ?? ''}"\n${USAGE}`,
  );
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
  usage: USAGE,
  run: async (args) => {
    const options = readOptions(args, OPTIONS, 0, USAGE).values;
    const url = urlOf(options);
    const settings = readSettings(process.env);
    const { cases, leftOut } = chooseCases(readModel(settings.schemaDirectory), settings, options);
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

// Which cases `suite` replays, what it leaves out, and what the cases leave behind.

/** What the command line says of it. */
interface CaseOptions {
  readonly write?: boolean | undefined;
  readonly type?: string | undefined;
  readonly settings?: boolean | undefined;
  readonly token?: string | undefined;
  readonly 'read-token'?: string | undefined;
}

interface Chosen {
  readonly cases: readonly Case[];
  /** Lines about what is left out, and why. */
  readonly leftOut: readonly string[];
}

/** Whoever gives a token wants to know that nobody gets in without one. */
const withTokens = ({ token, 'read-token': readToken }: CaseOptions): Deployment => ({
  ...(token === undefined ? {} : { guarded: true }),
  ...(readToken === undefined ? {} : { hasReader: true }),
});

/** Another start for each run, so that it does not meet the values that an earlier one left behind. */
const seedOfNow = (): number => 1000 + (Math.floor(Date.now() / 1000) % 1_000_000) * 1000;

function chooseCases(model: Model, settings: Settings, wanted: CaseOptions): Chosen {
  const { type, write } = wanted;
  if (type !== undefined && !model.types.has(type))
    throw new StartError(`There is no record type "${type}"${didYouMean(type, model.types.keys())}`);
  const seed = seedOfNow();
  const asked = (deployment: Deployment): readonly Case[] =>
    suiteOfAll(model, { seed, deployment: { ...deployment, ...withTokens(wanted) } })
      .filter((one) => type === undefined || one.type === type)
      .filter((one) => (write ? !one.irreversible : onlyReads(one)));
  const all = asked(wanted.settings ? deploymentOf(settings) : ANYWHERE);
  const cases = all.filter(isPlain);
  const unknown = wanted.settings ? 0 : asked(deploymentOf(settings)).filter(isPlain).length - cases.length;
  return { cases, leftOut: [...conditional(all), ...unsettled(unknown)] };
}

/** Whether requests are all that it needs. */
const isPlain = (one: Case): boolean => conditionsOf(one).length === 0;

function conditional(cases: readonly Case[]): readonly string[] {
  const needing = cases.filter((one) => !isPlain(one));
  const needed = [...new Set(needing.flatMap(conditionsOf))].join(', ');
  return needing.length === 0 ? [] : [`Left out: ${needing.length} cases that no request can prepare (${needed})`];
}

const unsettled = (count: number): readonly string[] =>
  count <= 0
    ? []
    : [`Left out: ${count} cases that depend on settings of the service; --settings takes those of this environment`];

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
