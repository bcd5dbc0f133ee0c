/** Model -> the suite of each record type: a case for everything that its descriptor promises. */
import type { Model, RecordType } from '../../engine/model/model.ts';
import { readSettings } from '../../engine/settings.ts';
import { type Case, conditionsOf, type Deployment, deploymentOf } from './case.ts';
import { batchRules, lineRules } from './rules/batches.ts';
import { checkRules, fieldRules, stampRules } from './rules/fields.ts';
import { deletionRules, upsertRules } from './rules/found.ts';
import { conditionRules, filterRules } from './rules/filters.ts';
import { headerRules } from './rules/headers.ts';
import { listRules, viewRules } from './rules/reads.ts';
import { refusalRules } from './rules/refusals.ts';
import { relationRules } from './rules/relations.ts';
import { RATES, serviceRules, settingRules } from './rules/service.ts';
import { summaryRules } from './rules/summaries.ts';
import { writeRules } from './rules/writes.ts';
import type { Context } from './scene.ts';

const RULES = [
  ...writeRules,
  ...upsertRules,
  ...deletionRules,
  ...batchRules,
  ...lineRules,
  ...fieldRules,
  ...checkRules,
  ...stampRules,
  ...listRules,
  ...filterRules,
  ...conditionRules,
  ...summaryRules,
  ...viewRules,
  ...relationRules,
  ...refusalRules,
  ...headerRules,
  ...settingRules,
];

/** Where the values of samples start: two replays on one database must not share any. */
const DEFAULT_SEED = 1000;
/** Samples set aside for each type. */
const SEEDS_OF_TYPE = 1_000_000;

interface SuiteOptions {
  readonly seed?: number;
  /** The default is a service as `npm start` starts it. */
  readonly deployment?: Deployment;
}

type ContextOf = (type: RecordType) => Context;

function contextsOf(model: Model, { seed = DEFAULT_SEED, deployment = deploymentOf(readSettings({})) }: SuiteOptions) {
  const names = [...model.types.keys()];
  return (type: RecordType): Context => {
    const seeds = { next: seed + names.indexOf(type.name) * SEEDS_OF_TYPE };
    return { model, type, deployment, seeds };
  };
}

const served = (model: Model): readonly RecordType[] =>
  [...model.types.values()].filter((type) => type.operations.size > 0);

/** The cases about the service that this type is the first to show. */
function shownHere(context: Context, contextOf: ContextOf): readonly Case[] {
  const all = served(context.model);
  const before = all.slice(0, all.indexOf(context.type));
  return serviceRules.flatMap((rule) =>
    before.some((other) => rule(contextOf(other)).length > 0) ? [] : rule(context),
  );
}

/** Cases that leave the service in another state come last. */
const disturbs = (one: Case): boolean => one.group === RATES || conditionsOf(one).includes('service stopping');

/** Types without operations have no address: the types that nest them show their rules. */
export function suiteOf(model: Model, type: RecordType, options: SuiteOptions = {}): readonly Case[] {
  if (type.operations.size === 0) return [];
  const contextOf = contextsOf(model, options);
  const context = contextOf(type);
  return [...RULES.flatMap((rule) => rule(context)), ...shownHere(context, contextOf)];
}

export function suiteOfAll(model: Model, options: SuiteOptions = {}): readonly Case[] {
  const all = served(model).flatMap((type) => suiteOf(model, type, options));
  return [...all.filter((one) => !disturbs(one)), ...all.filter(disturbs)];
}
