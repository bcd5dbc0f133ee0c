/** Brings the database to the Model at start: makes what is missing, and refuses what it cannot change. */
import { isDeepStrictEqual } from 'node:util';
import type { Model } from '../model/model.ts';
import { ENGINE_PREFIX } from '../model/model.ts';
import { StartError } from '../start-error.ts';
import { appliedModel, MODEL_TABLE, NOTHING, readAppliedModel, writeAppliedModel } from './applied-model.ts';
import { defineJoinTable, defineType } from './define.ts';
import type { Dialect, Driver } from './driver.ts';

export const SEED_TABLE = `${ENGINE_PREFIX}seeds`;

export async function prepare(model: Model, driver: Driver): Promise<void> {
  const known = (await driver.tables()).includes(MODEL_TABLE);
  const applied = known ? await readAppliedModel(driver) : NOTHING;
  const wanted = appliedModel(model, driver.dialect);
  for (const [name, type] of Object.entries(applied.types))
    if (!isDeepStrictEqual(type, wanted.types[name])) throw new StartError(`type ${name} differs`);
  if (known && isDeepStrictEqual(applied, wanted)) return;
  const types = [...model.types.values()].filter(({ name }) => applied.types[name] === undefined);
  const joins = model.joinTables.filter(({ name }) => !applied.joins.some((join) => join.table === name));
  const statements = [
    ...(known ? [] : engineTables(driver.dialect)),
    ...types.flatMap((type) => defineType(type, driver.dialect)),
    ...joins.flatMap((table) => defineJoinTable(table, driver.dialect)),
  ];
  await driver.define(statements, async (writer) => writeAppliedModel(writer, wanted));
}

function engineTables({ quote, tableOptions }: Dialect): readonly string[] {
  return [
    `create table ${quote(MODEL_TABLE)} (id integer not null primary key, applied text not null) ${tableOptions(true)}`,
    `create table ${quote(SEED_TABLE)} (type text not null, identifier integer not null, primary key (type, identifier)) ${tableOptions(false)}`,
  ];
}
