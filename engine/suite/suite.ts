/** Model -> the suite of each record type: every case that its descriptor promises something about. */
import type { Model, RecordType } from '../model/model.ts';
import { readSettings } from '../settings.ts';
import { type Case, conditionsOf } from './case.ts';
import { access } from './cases/access.ts';
import { adopted } from './cases/adopted.ts';
import { breadth } from './cases/breadth.ts';
import { compression } from './cases/compression.ts';
import { conflicts } from './cases/conflicts.ts';
import { cors } from './cases/cors.ts';
import { errors } from './cases/errors.ts';
import { fields } from './cases/fields.ts';
import { filters } from './cases/filters.ts';
import { formats } from './cases/formats.ts';
import { requestIds } from './cases/request-ids.ts';
import { health } from './cases/health.ts';
import { identifiers } from './cases/identifiers.ts';
import { limits } from './cases/limits.ts';
import { lists } from './cases/lists.ts';
import { mediaTypes } from './cases/media-types.ts';
import { operations } from './cases/operations.ts';
import { paging } from './cases/paging.ts';
import { patches } from './cases/patches.ts';
import { preconditions } from './cases/preconditions.ts';
import { preferences } from './cases/preferences.ts';
import { RATES, rates } from './cases/rates.ts';
import { reads } from './cases/reads.ts';
import { relations } from './cases/relations.ts';
import { storage } from './cases/storage.ts';
import { variants } from './cases/variants.ts';
import { views } from './cases/views.ts';
import { wire } from './cases/wire.ts';
import type { Context, Generator } from './context.ts';
import { asEveryAnswer } from './every-answer.ts';
import { type Deployment, deploymentOf } from './deployment.ts';

const generators: readonly Generator[] = [
  operations,
  adopted,
  identifiers,
  fields,
  patches,
  reads,
  lists,
  paging,
  filters,
  views,
  variants,
  relations,
  conflicts,
  errors,
  mediaTypes,
  requestIds,
  preconditions,
  preferences,
  formats,
  compression,
  limits,
  cors,
  access,
];

/** Rules that have nothing to do with types: they show at the first one that can show them. */
const ofService: readonly Generator[] = [breadth, wire, health, storage, rates];

/** Where the values of samples start: two replays on one database must not share any. */
const DEFAULT_SEED = 1000;
/** No suite of a type takes more samples than this. */
const SEEDS_OF_TYPE = 1_000_000;

export interface SuiteOptions {
  readonly seed?: number;
  /** As `npm start` has it, where nothing else is said. */
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

/** The cases about the service that this type shows. */
function shownHere(context: Context, contextOf: ContextOf): readonly Case[] {
  const all = served(context.model);
  const before = all.slice(0, all.indexOf(context.type));
  return ofService.flatMap((generate) =>
    before.some((other) => generate(contextOf(other)).length > 0) ? [] : generate(context),
  );
}

/** What leaves the service other than it was: no case that is not about that comes after it. */
const disturbs = (one: Case): boolean => one.group === RATES || conditionsOf(one).includes('service stopping');

/** Types without operations have no address; their rules show through the types that nest them. */
export function suiteOf(model: Model, type: RecordType, options: SuiteOptions = {}): readonly Case[] {
  if (type.operations.size === 0) return [];
  const contextOf = contextsOf(model, options);
  const context = contextOf(type);
  const cases = [...generators.flatMap((generate) => generate(context)), ...shownHere(context, contextOf)];
  return cases.map(asEveryAnswer);
}

export function suiteOfAll(model: Model, options: SuiteOptions = {}): readonly Case[] {
  const all = served(model).flatMap((type) => suiteOf(model, type, options));
  return [...all.filter((one) => !disturbs(one)), ...all.filter(disturbs)];
}
