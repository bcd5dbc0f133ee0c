/** The applied model and the wanted one -> the steps from one to the other. */
import { isDeepStrictEqual } from 'node:util';
import { ENGINE_PREFIX, type Model, type RecordType } from '../../model/model.ts';
import { createIndex, defineTable, dropTable, indexesOf, SEED_TABLE } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import { type AppliedModel, appliedModel, type AppliedType } from './applied.ts';
import { rowsOf } from './assess.ts';
import { type Catalogue, NO_CATALOGUE, otherColumns } from './catalogue.ts';
import { leftBehind } from './former.ts';
import { matchJoins, matchTypes, type TypeChange } from './match.ts';
import { placedModel } from './place.ts';
import { addedJoinStep, droppedJoinStep, renamedJoinSteps } from './relations.ts';
import { keptModel } from './keep.ts';
import { type Seeded, seedSteps } from './seeds.ts';
import { createStep, isDrop, isRename, type MigrationStep, type Plan, stepId } from './steps.ts';
import { plainTasks, tableTasks } from './tasks.ts';
import { typeSteps, unclearJoins, unclearTypes } from './types.ts';

const VANISHED = ['drop-type', 'drop-field', 'drop-relation'] as const;
const NONE: ReadonlySet<string> = new Set();

/**
 * `letGo`: ids of the steps that drop what the descriptors do not name; without them, it stays. `own`: what the descriptors
 * were applied to before. Without `seeded`, seeds are no steps.
 */
export function createPlan(
  applied: AppliedModel,
  model: Model,
  dialect: Dialect,
  letGo = NONE,
  own?: AppliedModel,
  catalogue = NO_CATALOGUE,
  seeded?: Seeded,
): Plan {
  const between: Between = (to) => stepsBetween(applied, to, dialect, catalogue);
  const placed = placedModel(model, applied, own);
  const exact = appliedModel(placed, dialect);
  const isSame = isSameModel(applied, exact);
  const all = isSame ? [] : between(placed);
  const left = isSame ? [] : leftBehind(applied, placed, model);
  const answered = new Set(applied.kept);
  const asked = left.map(({ step }) => step).filter((step) => !answered.has(stepId(step)));
  const {
    steps: made,
    wanted,
    kept,
  } = all.some(isDrop)
    ? withoutDrops(applied, placed, dialect, letGo, all, between)
    : { steps: all, wanted: exact, kept: [] };
  const steps = [...asked, ...made, ...(seeded ? seedSteps(applied, placed, dialect, seeded) : [])];
  const stays = [...kept, ...left.filter(({ lasts }) => lasts).map(({ step }) => step)].map(stepId);
  return { steps, kept, applied, model: placed, wanted: stays.length > 0 ? { ...wanted, kept: stays } : wanted };
}

type Between = (model: Model) => readonly MigrationStep[];

/** Kept parts count as part of the model. */
function withoutDrops(
  applied: AppliedModel,
  model: Model,
  dialect: Dialect,
  letGo: ReadonlySet<string>,
  all: readonly MigrationStep[],
  between: Between,
): Pick<Plan, 'steps' | 'wanted' | 'kept'> {
  const tables = keptModel(applied, model, dialect, letGo);
  const wanted = appliedModel(tables, dialect);
  const made = isSameModel(applied, wanted) ? [] : between(tables);
  const ids = new Set(made.map(stepId));
  const kept = all.filter((step) => isDrop(step) && !ids.has(stepId(step)));
  // A part that was kept before is not the former name of a new one.
  const known = new Set(applied.kept);
  const isAsked = ({ type, name }: MigrationStep): boolean =>
    VANISHED.every((code) => !known.has(stepId({ code, type, name })));
  const questions = all.filter((step) => step.code === 'not-renamed' && isAsked(step) && !ids.has(stepId(step)));
  const asked = questions.map((step) => ({ ...step, edits: [], tasks: [] }));
  const isTold = (step: MigrationStep): boolean =>
    !(step.code === 'not-renamed' && !isAsked(step)) && !(isRename(step) && !isNamed(step, model));
  return { steps: [...asked, ...toldSteps(made, isTold)], wanted, kept };
}

/** A kept part gets another name if a new one has its name. */
const isNamed = ({ type, name }: MigrationStep, { types }: Model): boolean => {
  const named = types.get(type);
  return named !== undefined && (name === undefined || named.fields.has(name) || named.relations.has(name));
};

/** Tasks of a question that need not be asked move to the next step. */
function toldSteps(
  steps: readonly MigrationStep[],
  isTold: (step: MigrationStep) => boolean,
): readonly MigrationStep[] {
  let before: MigrationStep['tasks'] = [];
  return steps.flatMap((step) => {
    const tasks = [...before, ...step.tasks];
    before = isTold(step) ? [] : tasks;
    return isTold(step) ? [{ ...step, tasks }] : [];
  });
}

const isSameModel = (one: AppliedModel, other: AppliedModel): boolean =>
  isDeepStrictEqual([one.types, one.joins], [other.types, other.joins]);

function stepsBetween(
  applied: AppliedModel,
  model: Model,
  dialect: Dialect,
  catalogue: Catalogue,
): readonly MigrationStep[] {
  const { kept, added, dropped } = matchTypes(applied, model);
  const changes = kept.map(({ after, before }): TypeChange => {
    const others = otherColumns(applied, catalogue, before.type.table);
    return { type: after, former: before.name, before: before.type, dialect, others };
  });
  const joins = matchJoins(applied, model);
  return withSeeds(changes, dialect, [
    ...unclearTypes(dropped, added),
    ...unclearJoins(applied, joins),
    ...joins.dropped.map((join) => droppedJoinStep(join, dialect)),
    ...dropped.map(({ name, type }) => droppedTypeStep(name, type, dialect)),
    ...changes.flatMap((change) => typeSteps(change, knownRelations(applied, change.former))),
    ...joins.kept.flatMap(renamedJoinSteps),
    ...added.map((type) => addedTypeStep(type, dialect)),
    ...joins.added.map((table) => addedJoinStep(table, dialect)),
  ]);
}

/** Seeds are remembered by type. Types may exchange their names: they get them by way of others. */
function withSeeds(
  changes: readonly TypeChange[],
  { quote, literal }: Dialect,
  steps: readonly MigrationStep[],
): readonly MigrationStep[] {
  const renamed = changes.filter(({ type, former }) => type.name !== former);
  const rename = (from: string, to: string): string =>
    `update ${quote(SEED_TABLE)} set type = ${literal(to)} where type = ${literal(from)}`;
  const passing = (name: string): string => `${ENGINE_PREFIX}${name}`;
  const tasks = plainTasks('define', [
    ...renamed.map(({ type, former }) => rename(former, passing(type.name))),
    ...renamed.map(({ type }) => rename(passing(type.name), type.name)),
  ]);
  const first = steps.find(({ code }) => code === 'rename-type');
  return steps.map((step) => (step === first ? { ...step, tasks: [...tasks, ...step.tasks] } : step));
}

function droppedTypeStep(name: string, { table, identifier }: AppliedType, dialect: Dialect): MigrationStep {
  const { quote, literal } = dialect;
  const tasks = [
    ...plainTasks('define', [dropTable(table, dialect)], table),
    ...plainTasks('define', [`delete from ${quote(SEED_TABLE)} where type = ${literal(name)}`]),
  ];
  const rows = rowsOf(quote(table), quote(identifier));
  return createStep('drop-type', name, { was: table, tasks, rows, rowsIn: table, drops: [table] });
}

function addedTypeStep(type: RecordType, dialect: Dialect): MigrationStep {
  const indexes = indexesOf(type, dialect);
  return createStep('add-type', type.name, {
    now: type.table,
    tasks: tableTasks(
      defineTable(type, dialect),
      indexes.map((index) => createIndex(index, dialect)),
    ),
    creates: [type.table, ...indexes.map(({ name }) => name)],
  });
}

/** The names by which a type knew others. */
function knownRelations({ types, joins }: AppliedModel, name: string): ReadonlySet<string> {
  const own = types[name]?.references.map(({ belongsTo }) => belongsTo) ?? [];
  const others = Object.values(types).flatMap(({ references }) =>
    references.filter(({ target }) => target === name).map(({ has }) => has),
  );
  const sides = joins.flatMap(({ left, right }) => [left, right]).filter(({ type }) => type === name);
  return new Set([...own, ...others, ...sides.map(({ relation }) => relation)].filter((one) => one !== null));
}
