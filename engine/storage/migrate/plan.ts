/** The applied model and the wanted one -> the steps from one to the other. */
import { isDeepStrictEqual } from 'node:util';
import { ENGINE_PREFIX, type Model } from '../../model/model.ts';
import type { Dialect } from '../dialect.ts';
import { SEED_TABLE } from '../tables.ts';
import { type AppliedModel, appliedModel } from './applied.ts';
import { type Catalogue, otherColumns } from './catalogue.ts';
import { changeOf } from './change.ts';
import { compare, type Comparison } from './compare.ts';
import { plainTasks, type Task } from './driver.ts';
import { keptModel } from './keep.ts';
import { placedModel } from './place.ts';
import { leftBehind, renameQuestions } from './questions.ts';
import { type Seeded, seedSteps } from './seeds.ts';
import { isRename, type MigrationStep, type Plan, stepId } from './steps.ts';
import {
  addedJoinStep,
  addedTypeStep,
  droppedJoinStep,
  droppedTypeStep,
  renamedJoinSteps,
  typeSteps,
} from './types.ts';

interface Known {
  /** Ids of the steps that drop parts which the descriptors do not name: without them, they stay. */
  readonly letGo?: ReadonlySet<string>;
  /** The tables when the descriptors were applied last. */
  readonly own?: AppliedModel | undefined;
  readonly catalogue?: Catalogue;
  readonly seeded?: Seeded;
}

export function createPlan(
  applied: AppliedModel,
  model: Model,
  dialect: Dialect,
  { letGo = new Set(), own, catalogue = [], seeded = new Map() }: Known = {},
): Plan {
  const placed = placedModel(model, applied, own, letGo);
  const asked = compare(applied, placed);
  const kept = keptModel(asked, placed, dialect, letGo);
  const wanted = appliedModel(kept.tables, dialect);
  const isSame = isDeepStrictEqual([applied.types, applied.joins], [wanted.types, wanted.joins]);
  const known = new Set(applied.kept);
  const left = isSame && kept.steps.length === 0 ? [] : leftBehind(applied, asked, model);
  const questions = [
    ...left.map(({ step }) => step),
    ...renameQuestions(asked).filter((step) => !wasKept(step, known)),
  ];
  const steps = [
    ...questions.filter((step) => !known.has(stepId(step))),
    ...(isSame ? [] : stepsBetween(applied, compare(applied, kept.tables), placed, dialect, catalogue)),
    ...seedSteps(asked, placed, dialect, seeded),
  ];
  const stays = [...kept.steps, ...left.filter(({ lasts }) => lasts).map(({ step }) => step)].map(stepId);
  const remembered = stays.length > 0 ? { ...wanted, kept: stays } : wanted;
  return { steps, kept: kept.steps, applied, model: placed, wanted: remembered };
}

/** A part that was kept before is not the former name of a new one. */
const wasKept = ({ type, name }: MigrationStep, known: ReadonlySet<string>): boolean =>
  (['drop-type', 'drop-field', 'drop-relation'] as const).some((code) => known.has(stepId({ code, type, name })));

function stepsBetween(
  applied: AppliedModel,
  { types, added, dropped, joins }: Comparison,
  placed: Model,
  dialect: Dialect,
  catalogue: Catalogue,
): readonly MigrationStep[] {
  // A kept part gets another name if a new one has its name.
  const isTold = (step: MigrationStep): boolean => !isRename(step) || isNamed(step, placed);
  const steps = [
    ...joins.dropped.map((join) => droppedJoinStep(join, dialect)),
    ...dropped.map((type) => droppedTypeStep(type, dialect)),
    ...types.flatMap((pair) => {
      const change = changeOf(pair, dialect, otherColumns(applied, catalogue, pair.before.table));
      return typeSteps(change, knownRelations(applied, pair.before.name), isTold);
    }),
    ...renamedJoinSteps(joins).filter(isTold),
    ...added.map((type) => addedTypeStep(type, dialect)),
    ...joins.added.map((table) => addedJoinStep(table, dialect)),
  ];
  const renames = seedRenames(types, dialect);
  return steps.map((step, at) => (at === steps.length - 1 ? { ...step, tasks: [...step.tasks, ...renames] } : step));
}

const isNamed = ({ type, name }: MigrationStep, { types }: Model): boolean => {
  const named = types.get(type);
  return named !== undefined && (name === undefined || named.fields.has(name) || named.relations.has(name));
};

/** Seeds are remembered by type. Types may exchange their names: they get them by way of others. */
function seedRenames(types: Comparison['types'], { quote, literal }: Dialect): readonly Task[] {
  const renamed = types.filter(({ type, before }) => type.name !== before.name);
  const rename = (from: string, to: string): string =>
    `update ${quote(SEED_TABLE)} set type = ${literal(to)} where type = ${literal(from)}`;
  const passing = (name: string): string => `${ENGINE_PREFIX}${name}`;
  return plainTasks('define', [
    ...renamed.map(({ type, before }) => rename(before.name, passing(type.name))),
    ...renamed.map(({ type }) => rename(passing(type.name), type.name)),
  ]);
}

function knownRelations({ types, joins }: AppliedModel, name: string): ReadonlySet<string> {
  const own = types[name]?.references.map(({ belongsTo }) => belongsTo) ?? [];
  const others = Object.values(types).flatMap(({ references }) =>
    references.filter(({ target }) => target === name).map(({ has }) => has),
  );
  const sides = joins.flatMap(({ left, right }) => [left, right]).filter(({ type }) => type === name);
  return new Set([...own, ...others, ...sides.map(({ relation }) => relation)].filter((one) => one !== null));
}
