/** `suite`: replays the requests generated from the descriptors against a running service. */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { type NewFile, newFile } from '../files.ts';
import type { Model } from '../model/model.ts';
import { readSettings, type Settings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { ANYWHERE, type Case, conditionsOf, type Deployment, deploymentOf, onlyReads } from '../suite/case.ts';
import { replay, type Result } from '../suite/replay.ts';
import { formatFailures, formatSummary, junitXml, progressLine } from '../suite/report.ts';
import { print, printable, printError } from '../terminal.ts';
import { type Command, readModel, readOptions } from './command.ts';
import { databaseFile } from './transfer.ts';
import { didYouMean } from '../names.ts';
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
  'Replays requests that read; --write adds those that write. --token adds checks of access, --read-token (a token that may only read)',
  'checks of rights. --settings adds checks of the settings in this environment, which must be those of the service',
].join('\n');

type Options = ReturnType<typeof readOptions<typeof OPTIONS>>['values'];

function urlOf({ url }: Options): string {
  if (url !== undefined && URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new StartError(
    `--url must be the address of a service, such as http://127.0.0.1:3000, not "${url ?? ''}"\n${USAGE}`,
  );
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new StartError(`${question}\nStandard input is not a terminal: confirm with --yes`);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(printable(`${question}\nContinue? [y/N] `));
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}

async function requireAnswer(url: string): Promise<void> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    throw new StartError(`No response from ${url}`, { cause: error });
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

/** Created before the first request, so that an unwritable file is reported at once. */
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

// The choice of cases to replay.

interface CaseOptions {
  readonly write?: boolean | undefined;
  readonly type?: string | undefined;
  readonly settings?: boolean | undefined;
  readonly token?: string | undefined;
  readonly 'read-token'?: string | undefined;
}

interface Chosen {
  readonly cases: readonly Case[];
  /** Messages about cases that are not replayed, and why. */
  readonly leftOut: readonly string[];
}

/** With a token, the suite also checks that requests without one are rejected. */
function deploymentFor(settings: Settings | undefined, wanted: CaseOptions): Deployment {
  const guarded = wanted.token === undefined ? undefined : true;
  return {
    ...(settings ? deploymentOf(settings, guarded) : ANYWHERE),
    ...(guarded === undefined ? {} : { guarded }),
    ...(wanted['read-token'] === undefined ? {} : { hasReader: true }),
  };
}

/** A new seed for each run, so that its values do not conflict with those that an earlier run left behind. */
const seedOfNow = (): number => 1000 + (Math.floor(Date.now() / 1000) % 1_000_000) * 1000;

function chooseCases(model: Model, settings: Settings, wanted: CaseOptions): Chosen {
  const { type, write } = wanted;
  if (type !== undefined && !model.types.has(type))
    throw new StartError(`There is no record type "${type}"${didYouMean(type, model.types.keys())}`);
  const seed = seedOfNow();
  const asked = (known: Settings | undefined): readonly Case[] =>
    suiteOfAll(model, { seed, deployment: deploymentFor(known, wanted) })
      .filter((one) => type === undefined || one.type === type)
      .filter((one) => (write ? !one.irreversible : onlyReads(one)));
  const all = asked(wanted.settings ? settings : undefined);
  const cases = all.filter(isPlain);
  const unknown = wanted.settings ? 0 : asked(settings).filter(isPlain).length - cases.length;
  return { cases, leftOut: [...conditional(all), ...unsettled(unknown)] };
}

/** Whether the case needs nothing but requests. */
const isPlain = (one: Case): boolean => conditionsOf(one).length === 0;

function conditional(cases: readonly Case[]): readonly string[] {
  const needing = cases.filter((one) => !isPlain(one));
  const needed = [...new Set(needing.flatMap(conditionsOf))].join(', ');
  return needing.length === 0 ? [] : [`Left out: ${needing.length} cases that requests cannot set up (${needed})`];
}

const unsettled = (count: number): readonly string[] =>
  count <= 0
    ? []
    : [`Left out: ${count} cases that depend on settings of the service; --settings uses those of this environment`];

/** The number of records of each type that the cases cannot remove. */
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
      ? ['and removes all of them at the end.']
      : ['and removes them at the end, except records of types without a delete operation:', ...left];
  return [`This creates, changes and deletes records of its own at ${url}`, ...rest].join('\n');
}
