/** Model -> the suite of each record type: every case that its descriptor promises something about. */
import type { Model, RecordType } from '../model/model.ts';
import type { Case } from './case.ts';
import { adopted } from './cases/adopted.ts';
import { conflicts } from './cases/conflicts.ts';
import { errors } from './cases/errors.ts';
import { fields } from './cases/fields.ts';
import { filters } from './cases/filters.ts';
import { formats } from './cases/formats.ts';
import { identifiers } from './cases/identifiers.ts';
import { lists } from './cases/lists.ts';
import { operations } from './cases/operations.ts';
import { paging } from './cases/paging.ts';
import { patches } from './cases/patches.ts';
import { preconditions } from './cases/preconditions.ts';
import { preferences } from './cases/preferences.ts';
import { reads } from './cases/reads.ts';
import { relations } from './cases/relations.ts';
import { variants } from './cases/variants.ts';
import { views } from './cases/views.ts';
import type { Generator } from './context.ts';

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
  preconditions,
  preferences,
  formats,
];

/** Where the values of samples start: two replays on one database must not share any. */
export const DEFAULT_SEED = 1000;
/** No suite of a type takes more samples than this. */
const SEEDS_OF_TYPE = 1_000_000;

/** Types without operations have no address; their rules show through the types that nest them. */
export function suiteOf(model: Model, type: RecordType, seed = DEFAULT_SEED): readonly Case[] {
  if (type.operations.size === 0) return [];
  const index = [...model.types.keys()].indexOf(type.name);
  const context = { model, type, seeds: { next: seed + index * SEEDS_OF_TYPE } };
  return generators.flatMap((generate) => generate(context));
}

export const suiteOfAll = (model: Model, seed = DEFAULT_SEED): readonly Case[] =>
  [...model.types.values()].flatMap((type) => suiteOf(model, type, seed));
