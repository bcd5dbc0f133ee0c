/** The applied model and the wanted one -> the steps from one to the other. */
import { isDeepStrictEqual } from 'node:util';
import type { Model, RecordType } from '../../model/model.ts';
import { match } from '../../model/renames.ts';
import { StartError } from '../../start-error.ts';
import { defineType } from '../define.ts';
import type { Dialect } from '../driver.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import { type AppliedModel, appliedModel, type AppliedType, type TableDefinition } from './applied.ts';
import { rowsOf } from './assess.ts';
import { matchJoins, type TypeChange } from './match.ts';
import { addedJoinStep, droppedJoinStep, movedJoinSteps } from './relations.ts';
import { keptModel } from './keep.ts';
import { createStep, isDrop, type MigrationStep, type Plan, stepId } from './steps.ts';
import { plainTasks } from './tasks.ts';
import { typeSteps } from './types.ts';
import { unclearJoins, unclearTypes } from './unclear.ts';

const VANISHED = ['drop-type', 'drop-field', 'drop-relation'] as const;
const NONE: ReadonlySet<string> = new Set();

/** `letGo`: ids of the steps that drop what the descriptors do not name; without them, it stays. */
export function createPlan(applied: AppliedModel, model: Model, dialect: Dialect, letGo = NONE): Plan {
  const exact = appliedModel(model, dialect);
  const all = isSameModel(applied, exact) ? [] : stepsBetween(applied, model, dialect);
  const { steps, wanted, kept } = all.some(isDrop)
    ? withoutDrops(applied, model, dialect, letGo, all)
    : { steps: all, wanted: exact, kept: [] };
  return { steps, kept, applied, wanted, touched: touchedBy(steps, applied) };
}

/** What stays counts as part of the model. */
function withoutDrops(
  applied: AppliedModel,
  model: Model,
  dialect: Dialect,
  letGo: ReadonlySet<string>,
  all: readonly MigrationStep[],
): Pick<Plan, 'steps' | 'wanted' | 'kept'> {
  const tables = keptModel(applied, model, dialect, letGo);
  const wanted = appliedModel(tables, dialect);
  const made = isSameModel(applied, wanted) ? [] : stepsBetween(applied, tables, dialect);
  const ids = new Set(made.map(stepId));
  const kept = all.filter((step) => isDrop(step) && !ids.has(stepId(step)));
  // What was kept before is not the former name of anything that is new now.
  const known = new Set(applied.kept);
  const isAsked = ({ type, name }: MigrationStep): boolean =>
    VANISHED.every((code) => !known.has(stepId({ code, type, name })));
  const questions = all.filter((step) => step.code === 'not-renamed' && isAsked(step) && !ids.has(stepId(step)));
  const named = kept.length > 0 ? { ...wanted, kept: kept.map(stepId) } : wanted;
  const asked = questions.map((step) => ({ ...step, edits: [], tasks: [] }));
  return { steps: [...asked, ...withoutUnasked(made, isAsked)], wanted: named, kept };
}

/** What is done in the step of a question that need not be asked belongs to the step after it. */
function withoutUnasked(
  steps: readonly MigrationStep[],
  isAsked: (step: MigrationStep) => boolean,
): readonly MigrationStep[] {
  let before: MigrationStep['tasks'] = [];
  return steps.flatMap((step) => {
    const tasks = [...before, ...step.tasks];
    const isLeft = step.code === 'not-renamed' && !isAsked(step);
    before = isLeft ? tasks : [];
    return isLeft ? [] : [{ ...step, tasks }];
  });
}

const isSameModel = (one: AppliedModel, other: AppliedModel): boolean =>
  isDeepStrictEqual([one.types, one.joins], [other.types, other.joins]);

function stepsBetween(applied: AppliedModel, model: Model, dialect: Dialect): readonly MigrationStep[] {
  const { kept, added, dropped } = match(model.types.values(), Object.keys(applied.types));
  const names = new Map(kept.map(({ wanted, former }) => [wanted.name, former]));
  const changes = kept.flatMap(({ wanted: type, former }): TypeChange[] => {
    const before = applied.types[former];
    return before ? [{ type, former, before, dialect }] : [];
  });
  const joins = matchJoins(applied, model, names);
  return [
    ...unclearTypes(applied, dropped, added),
    ...unclearJoins(applied, joins),
    ...joins.dropped.map((join) => droppedJoinStep(join, dialect)),
    ...dropped.flatMap((name) => droppedTypeStep(name, applied.types[name], dialect)),
    ...inFreeOrder(changes).flatMap((change) => typeSteps(change, names, knownRelations(applied, change.former))),
    ...joins.kept.flatMap((join) => movedJoinSteps(join, dialect)),
    ...added.map((type) => addedTypeStep(type, dialect)),
    ...joins.added.map((table) => addedJoinStep(table, dialect)),
  ];
}

function droppedTypeStep(
  name: string,
  before: AppliedType | undefined,
  { quote, literal }: Dialect,
): readonly MigrationStep[] {
  if (!before) return [];
  const { table, identifier } = before;
  const tasks = [
    ...plainTasks('define', [`drop table ${quote(table)}`], table),
    ...plainTasks('define', [`delete from ${quote(SEED_TABLE)} where type = ${literal(name)}`]),
  ];
  return [
    createStep('drop-type', name, { was: table, tasks, rows: rowsOf(quote(table), quote(identifier)), rowsIn: table }),
  ];
}

const addedTypeStep = (type: RecordType, dialect: Dialect): MigrationStep =>
  createStep('add-type', type.name, { now: type.table, tasks: plainTasks('create', defineType(type, dialect)) });

/** The names by which a type knew others. */
function knownRelations({ types, joins }: AppliedModel, name: string): ReadonlySet<string> {
  const own = types[name]?.references.map(({ belongsTo }) => belongsTo) ?? [];
  const others = Object.values(types).flatMap(({ references }) =>
    references.filter(({ target }) => target === name).map(({ has }) => has),
  );
  const sides = joins.flatMap(({ left, right }) => [left, right]).filter(({ type }) => type === name);
  return new Set([...own, ...others, ...sides.map(({ relation }) => relation)].filter((one) => one !== null));
}

/** The tables that the steps change, as they should be before. */
function touchedBy(
  steps: readonly MigrationStep[],
  { types, joins }: AppliedModel,
): Readonly<Record<string, TableDefinition>> {
  const touched = new Set(steps.filter(({ tasks }) => tasks.length > 0).map(({ rowsIn }) => rowsIn));
  const tables = [...Object.values(types), ...joins].filter(({ table }) => touched.has(table));
  return Object.fromEntries(tables.map(({ table, definition }) => [table, definition]));
}

/** Types whose tables take new names come after those that still have these names. */
function inFreeOrder(changes: readonly TypeChange[]): readonly TypeChange[] {
  const holders = new Map(changes.map((change) => [change.before.table.toLowerCase(), change]));
  const ordered = new Set<TypeChange>();
  const waiting = new Set<TypeChange>();
  const visit = (change: TypeChange): void => {
    if (ordered.has(change)) return;
    if (waiting.has(change))
      throw new StartError(
        `Types exchange their tables, ${change.type.table} among them; move one to a third table first`,
      );
    waiting.add(change);
    const holder = holders.get(change.type.table.toLowerCase());
    if (holder && holder !== change) visit(holder);
    ordered.add(change);
  };
  for (const change of changes) visit(change);
  return [...ordered];
}
