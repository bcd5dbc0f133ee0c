/** Which cases `suite` replays, what it leaves out, and what the cases leave behind. */
import type { Model } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import type { Settings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { type Case, conditionsOf, onlyReads } from '../suite/case.ts';
import { ANYWHERE, type Deployment, deploymentOf } from '../suite/deployment.ts';
import { suiteOfAll } from '../suite/suite.ts';

/** What the command line says of it. */
export interface Wanted {
  readonly write?: boolean | undefined;
  readonly type?: string | undefined;
  readonly settings?: boolean | undefined;
  readonly token?: string | undefined;
  readonly 'read-token'?: string | undefined;
}

export interface Chosen {
  readonly cases: readonly Case[];
  /** Lines about what is left out, and why. */
  readonly leftOut: readonly string[];
}

/** Whoever gives a token wants to know that nobody gets in without one. */
const withTokens = ({ token, 'read-token': readToken }: Wanted): Deployment => ({
  ...(token === undefined ? {} : { guarded: true }),
  ...(readToken === undefined ? {} : { hasReader: true }),
});

/** Another start for each run, so that it does not meet the values that an earlier one left behind. */
const seedOfNow = (): number => 1000 + (Math.floor(Date.now() / 1000) % 1_000_000) * 1000;

export function chooseCases(model: Model, settings: Settings, wanted: Wanted): Chosen {
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

export function announcement(url: string, cases: readonly Case[]): string {
  const left = [...leftBehind(cases)].map(([type, count]) => `  ${type}: ${count}`);
  const rest =
    left.length === 0
      ? ['and removes all of them again.']
      : ['and removes them again, except for records of types that offer no delete:', ...left];
  return [`This creates, changes and deletes records of its own at ${url}`, ...rest].join('\n');
}
