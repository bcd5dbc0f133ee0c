/** The applied model and the wanted one -> the steps from one to the other. */
import { isDeepStrictEqual } from 'node:util';
import type { Model, RecordType } from '../../model/model.ts';
import { type AppliedModel, appliedModel, type AppliedType, type TableDefinition } from './applied.ts';
import { defineType } from '../define.ts';
import type { Dialect } from '../driver.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import { draft, finished, type MigrationStep, type Plan, type StepCheck, type TypeChange } from './step.ts';
import { addedJoinSteps, droppedJoinSteps, matchJoins, movedJoinSteps, type TypeNames } from './relations.ts';
import { match } from '../../model/renames.ts';
import { typeSteps, unclearJoins, unclearTypes } from './types.ts';
import { StartError } from '../../start-error.ts';

export function createPlan(applied: AppliedModel, model: Model, dialect: Dialect): Plan {
  const wanted = appliedModel(model, dialect);
  const steps = isDeepStrictEqual(applied, wanted) ? [] : stepsBetween(applied, model, dialect);
  return { steps, applied, wanted, touched: touchedBy(steps, applied) };
}

function stepsBetween(applied: AppliedModel, model: Model, dialect: Dialect): readonly MigrationStep[] {
  const { kept, added, dropped } = match(model.types.values(), Object.keys(applied.types));
  const names: TypeNames = {
    now: new Map(kept.map(({ wanted, former }) => [former, wanted.name])),
    former: new Map(kept.map(({ wanted, former }) => [wanted.name, former])),
  };
  const changes = kept.flatMap(({ wanted: type, former }): TypeChange[] => {
    const before = applied.types[former];
    return before ? [{ type, former, before, dialect }] : [];
  });
  const joins = matchJoins(applied, model, names);
  const asked = [...unclearTypes(applied, dropped, added), ...unclearJoins(joins)];
  return [
    ...asked.map((step) => finished(step, [], tableOf(applied, step.type))),
    ...droppedJoinSteps(joins.dropped, dialect),
    ...dropped.flatMap((name) => droppedTypeSteps(name, applied.types[name], dialect)),
    ...inFreeOrder(changes).flatMap((change) => typeSteps(change, names, knownRelations(applied, change.former))),
    ...movedJoinSteps(joins.kept, dialect),
    ...added.map((type) => addedTypeStep(type, dialect)),
    ...addedJoinSteps(joins.added, dialect),
  ];
}

const tableOf = (applied: AppliedModel, type: string): string | undefined => applied.types[type]?.table;

function droppedTypeSteps(
  name: string,
  before: AppliedType | undefined,
  { quote, literal }: Dialect,
): readonly MigrationStep[] {
  if (!before) return [];
  const check: StepCheck = {
    sql: `select ${quote(before.identifier)} as identifier, null as value from ${quote(before.table)}`,
    schema: undefined,
    effect: 'lose',
    says: 'lost as a whole',
  };
  const sql = [`drop table ${quote(before.table)}`, `delete from ${quote(SEED_TABLE)} where type = ${literal(name)}`];
  return [
    finished(
      draft('drop-type', name, `Drop type ${name} and its table ${before.table}`, { checks: [check] }),
      sql,
      before.table,
    ),
  ];
}

const addedTypeStep = (type: RecordType, dialect: Dialect): MigrationStep =>
  finished(
    draft('add-type', type.name, `Add type ${type.name}, in table ${type.table}`),
    defineType(type, dialect),
    undefined,
  );

/** The names by which a type knew others. */
function knownRelations({ types, joins }: AppliedModel, name: string): ReadonlySet<string> {
  const own = types[name]?.references.map(({ belongsTo }) => belongsTo) ?? [];
  const others = Object.values(types).flatMap(({ references }) =>
    references.filter(({ target }) => target === name).map(({ has }) => has),
  );
  const sides = joins.flatMap(({ left, right }) => [left, right]).filter(({ type }) => type === name);
  return new Set([...own, ...others, ...sides.map(({ relation }) => relation)].filter((one) => one !== null));
}

/** The tables that the steps find there, as they should be. */
function touchedBy(
  steps: readonly MigrationStep[],
  { types, joins }: AppliedModel,
): Readonly<Record<string, TableDefinition>> {
  const all = new Map([...Object.values(types), ...joins].map(({ table, definition }) => [table, definition]));
  const touched = new Set(steps.filter(({ sql }) => sql.length > 0).flatMap(({ rowsIn }) => rowsIn ?? []));
  return Object.fromEntries([...all].filter(([table]) => touched.has(table)));
}

// Types whose tables take new names come after those that still have these names.

export function inFreeOrder(changes: readonly TypeChange[]): readonly TypeChange[] {
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
