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
import { createStep, type MigrationStep, type Plan } from './steps.ts';
import { typeSteps } from './types.ts';
import { unclearJoins, unclearTypes } from './unclear.ts';

export function createPlan(applied: AppliedModel, model: Model, dialect: Dialect): Plan {
  const wanted = appliedModel(model, dialect);
  const steps = isDeepStrictEqual(applied, wanted) ? [] : stepsBetween(applied, model, dialect);
  return { steps, applied, wanted, touched: touchedBy(steps, applied) };
}

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
  const sql = [`drop table ${quote(table)}`, `delete from ${quote(SEED_TABLE)} where type = ${literal(name)}`];
  return [
    createStep('drop-type', name, { was: table, sql, rows: rowsOf(quote(table), quote(identifier)), rowsIn: table }),
  ];
}

const addedTypeStep = (type: RecordType, dialect: Dialect): MigrationStep =>
  createStep('add-type', type.name, { now: type.table, sql: defineType(type, dialect) });

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
  const touched = new Set(steps.filter(({ sql }) => sql.length > 0).map(({ rowsIn }) => rowsIn));
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
