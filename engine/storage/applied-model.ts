/** What of the Model the database was made for: remembered in a table of the engine's own, and compared at start. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../json.ts';
import { ENGINE_PREFIX, type Model, type RecordType } from '../model/model.ts';
import { columnsOf } from './columns.ts';
import type { Dialect, Driver, Statement } from './driver.ts';

export const MODEL_TABLE = `${ENGINE_PREFIX}model`;
const READ: Statement = { sql: `select applied from ${MODEL_TABLE}` };
const WRITE: Statement = {
  sql: `insert into ${MODEL_TABLE} (id, applied) values (1, ?) on conflict (id) do update set applied = excluded.applied`,
};

/** By table: everything about it that the database knows. */
export interface AppliedModel {
  readonly format: 1;
  readonly types: Readonly<Record<string, JsonObject>>;
  readonly joinTables: Readonly<Record<string, JsonObject>>;
}

export function appliedModel({ types, joinTables }: Model, dialect: Dialect): AppliedModel {
  const joined = joinTables.map(({ name, left, right }) => {
    const side = ({ column, type }: typeof left): JsonValue => [column, type.table];
    return [name, { left: side(left), right: side(right) }] as const;
  });
  return {
    format: 1,
    types: Object.fromEntries([...types.values()].map((type) => [type.name, appliedType(type, dialect)])),
    joinTables: Object.fromEntries(joined),
  };
}

function appliedType(type: RecordType, dialect: Dialect): JsonObject {
  const columns = columnsOf(type, dialect.name).map((column) => {
    const { field, reference, nullable } = column;
    const target = reference && {
      references: reference.target.table,
      onDelete: reference.onDelete,
      unique: reference.unique,
    };
    return [column.name, { type: field?.type.name ?? null, nullable, default: column.default, ...target }] as const;
  });
  const indexes = type.indexes.map(
    ({ name, unique, members }) => [name, { unique, members: members.map((member) => member.name) }] as const,
  );
  return {
    table: type.table,
    identifier: type.identifier.column,
    columns: Object.fromEntries(columns),
    indexes: Object.fromEntries(indexes),
  };
}

/** undefined where the engine has not made its tables here yet. */
export async function readAppliedModel(driver: Driver): Promise<AppliedModel | undefined> {
  if (!(await driver.tables()).includes(MODEL_TABLE)) return undefined;
  const text = await driver.value(READ, []);
  return JSON.parse(String(text)) as AppliedModel;
}

export const writeAppliedModel = (
  model: AppliedModel,
): { readonly statement: Statement; readonly values: readonly string[] } => ({
  statement: WRITE,
  values: [JSON.stringify(model)],
});

/** What differs in what is there already, in words; types and join tables that are new are no difference. */
export function differences(applied: AppliedModel, wanted: AppliedModel): readonly string[] {
  return [
    ...compareAll('type', applied.types, wanted.types),
    ...compareAll('join table', applied.joinTables, wanted.joinTables),
  ];
}

type Parts = Readonly<Record<string, JsonValue>>;

function compareAll(what: string, applied: Parts, wanted: Parts): readonly string[] {
  return Object.entries(applied).flatMap(([name, before]) => {
    const after = wanted[name];
    if (after === undefined) return [`${what} ${name} is gone from the descriptors`];
    return compareParts(`${what} ${name}`, before as Parts, after as Parts);
  });
}

function compareParts(where: string, before: Parts, after: Parts): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const [was, is] = [before[key], after[key]];
    if (isDeepStrictEqual(was, is)) return [];
    if (was === undefined) return [`${where}: ${key} was added`];
    if (is === undefined) return [`${where}: ${key} was removed`];
    if (isParts(was) && isParts(is)) return compareParts(`${where}, ${key}`, was, is);
    return [`${where}: ${key} was ${JSON.stringify(was)}, is now ${JSON.stringify(is)}`];
  });
}

const isParts = (value: JsonValue): value is Parts & JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
