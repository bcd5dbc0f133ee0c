/** Brings the database to the Model at start: makes what is missing, and refuses what it cannot change. */
import type { Model } from '../model/model.ts';
import { ENGINE_PREFIX } from '../model/model.ts';
import { StartError } from '../start-error.ts';
import {
  appliedModel,
  type AppliedModel,
  differences,
  MODEL_TABLE,
  readAppliedModel,
  writeAppliedModel,
} from './applied-model.ts';
import { defineJoinTable, defineType } from './define.ts';
import type { Dialect, Driver } from './driver.ts';

export const SEED_TABLE = `${ENGINE_PREFIX}seeds`;

export async function prepare(model: Model, driver: Driver): Promise<void> {
  const applied = await readAppliedModel(driver);
  const wanted = appliedModel(model, driver.dialect);
  if (applied) refuseDifferences(differences(applied, wanted));
  const statements = [
    ...(applied ? [] : engineTables(driver.dialect)),
    ...missingTables(model, applied, driver.dialect),
  ];
  if (statements.length === 0) return;
  const { statement, values } = writeAppliedModel(wanted);
  await driver.define(statements, async (writer) => void (await writer.run(statement, values)));
}

function refuseDifferences(found: readonly string[]): void {
  if (found.length === 0) return;
  throw new StartError(
    [
      'The descriptors differ from those that the database was made for, and its tables cannot be changed yet:',
      ...found.map((line) => `  ${line}`),
      'Take the change back, or start with a new database (DATABASE_URL). Nothing was changed.',
    ].join('\n'),
  );
}

function engineTables({ quote, tableOptions }: Dialect): readonly string[] {
  return [
    `create table ${quote(MODEL_TABLE)} (id integer not null primary key, applied text not null) ${tableOptions(true)}`,
    `create table ${quote(SEED_TABLE)} (type text not null, identifier integer not null, primary key (type, identifier)) ${tableOptions(false)}`,
  ];
}

function missingTables(model: Model, applied: AppliedModel | undefined, dialect: Dialect): readonly string[] {
  const types = [...model.types.values()].filter(({ name }) => applied?.types[name] === undefined);
  const joins = model.joinTables.filter(({ name }) => applied?.joinTables[name] === undefined);
  return [
    ...types.flatMap((type) => defineType(type, dialect)),
    ...joins.flatMap((table) => defineJoinTable(table, dialect)),
  ];
}
