/** The models applied to the database, as plain data. */
import type { TableIndex } from '../columns.ts';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Generated } from '../../field-types/field-type.ts';
import type { Maker } from '../../field-types/identifiers.ts';
import type { OnDelete } from '../../descriptor/descriptor.ts';
import { type JsonObject, type JsonValue, sortedJson } from '../../json/json.ts';
import { type CheckRule, ruleOf } from '../../model/checks.ts';
import type { IdentifierField } from '../../model/identifier.ts';
import {
  type JoinTable,
  type Model,
  otherSide,
  OPEN_COLUMN,
  type RecordType,
  type Reference,
  relationAt,
} from '../../model/model.ts';
import { recordingDigest, recordingOf } from '../log/recording.ts';
import { StartError } from '../../problem.ts';
import { createIndex, HISTORY_TABLE, indexesOf, joinIndex, MODEL_TABLE, METADATA, sidesOf } from '../tables.ts';
import type { Dialect, TypedColumn } from '../dialect.ts';
import type { Driver, Reader, Writer } from '../driver.ts';

/** Increment it when the columns of a field type change. */
const FORMAT = 6;

export interface AppliedField {
  readonly type: string;
  readonly constraints: JsonObject;
  readonly column: string;
  readonly nullable: boolean;
  readonly folded?: string | undefined;
  readonly default: JsonValue;
  readonly isNowByDefault?: boolean | undefined;
  readonly generated?: Generated | undefined;
}

/** What an identifier is; missing for integers that the service makes. */
export interface AppliedKey {
  readonly type: string;
  readonly by: Maker;
  readonly constraints: JsonObject;
}

export interface AppliedReference {
  readonly column: string;
  readonly target: string;
  /** The type of the identifiers that it holds, if they are no integers. */
  readonly keyType?: string | undefined;
  readonly onDelete: OnDelete;
  readonly required: boolean;
  readonly unique: boolean;
  readonly acyclic?: boolean | undefined;
  readonly belongsTo: string | null;
  readonly has: string | null;
}

export interface AppliedIndex {
  readonly unique: boolean;
  readonly members: readonly string[];
}

export type MadeIndexes = Readonly<Record<string, { readonly unique: boolean; readonly sql: string }>>;

export interface AppliedType {
  readonly table: string;
  readonly identifier: string;
  readonly identifierName?: string | undefined;
  readonly key?: AppliedKey | undefined;
  readonly open: boolean;
  /** A digest of the triggers that keep its history. */
  readonly history?: string | undefined;
  readonly fields: Readonly<Record<string, AppliedField>>;
  readonly references: readonly AppliedReference[];
  readonly indexes: Readonly<Record<string, AppliedIndex>>;
  readonly checks?: readonly CheckRule[] | undefined;
  readonly made: MadeIndexes;
}

interface AppliedSide {
  readonly column: string;
  readonly type: string;
  readonly keyType?: string | undefined;
  readonly relation: string | null;
}

export interface AppliedJoin {
  readonly table: string;
  readonly left: AppliedSide;
  readonly right: AppliedSide;
  readonly history?: string | undefined;
  readonly made: MadeIndexes;
}

export interface AppliedModel {
  readonly format: typeof FORMAT;
  readonly types: Readonly<Record<string, AppliedType>>;
  readonly joins: readonly AppliedJoin[];
  /** Ids of the drops not allowed, and of the questions answered. */
  readonly kept?: readonly string[];
  /** Names of tables and columns that descriptors have chosen: see `chosenNames`. */
  readonly chosen?: readonly string[];
}

export const identifierNameOf = ({ identifier, identifierName }: AppliedType): string => identifierName ?? identifier;

/** The columns of a type, with the names of their field types. */
export const columnsIn = ({ identifier, key, open, fields, references }: AppliedType): readonly TypedColumn[] => [
  [identifier, key?.type ?? 'integer'],
  ...(open ? [[OPEN_COLUMN, 'any'] as const] : []),
  ...Object.values(fields).map(({ column, type }) => [column, type] as const),
  ...references.map(({ column, keyType = 'integer' }) => [column, keyType] as const),
  ...Object.values(fields).flatMap(({ folded }) => (folded === undefined ? [] : [[folded, 'string'] as const])),
];

/** Equal for names that a database considers equal. */
export const nameKey = (name: string): string => name.toLowerCase();

export const NO_MODEL: AppliedModel = { format: FORMAT, types: {}, joins: [] };

export function appliedModel({ types, joinTables }: Model, dialect: Dialect): AppliedModel {
  return asStored(
    Object.fromEntries([...types.values()].map((type) => [type.name, appliedType(type, dialect)])),
    joinTables.map((table) => appliedJoin(table, dialect)),
  );
}

/** Drops undefined members, as storing and reading does. */
export const asStored = (types: AppliedModel['types'], joins: AppliedModel['joins']): AppliedModel =>
  JSON.parse(JSON.stringify({ format: FORMAT, types, joins })) as AppliedModel;

export function appliedType(type: RecordType, dialect: Dialect): AppliedType {
  const fields = [...type.fields.values(), ...type.hidden].map(
    ({ name, constraints, column, nullable, default: value = null, folded, generated, ...field }) => {
      const isNowByDefault = field.isNowByDefault ? true : undefined;
      const kept = { type: field.type.name, constraints, column, nullable, default: value };
      return [name, { ...kept, folded, isNowByDefault, generated }] as const;
    },
  );
  return {
    table: type.table,
    identifier: type.identifier.column,
    identifierName: type.identifier.name === type.identifier.column ? undefined : type.identifier.name,
    key: appliedKey(type.identifier),
    open: type.open,
    history: recordingDigest(recordingOf(type, dialect), dialect),
    fields: Object.fromEntries(fields),
    references: type.references.map(appliedReference),
    indexes: Object.fromEntries(
      type.indexes.map(({ name, unique, members }) => [name, { unique, members: members.map((one) => one.name) }]),
    ),
    checks: type.checks.length > 0 ? type.checks.map((check) => ruleOf(check)) : undefined,
    made: madeOf(indexesOf(type, dialect), dialect),
  };
}

/** A foreign key that stays, though no descriptor names it any more, with the names of its former relations. */
export interface KeptReference extends Reference {
  readonly names: Pick<AppliedReference, 'belongsTo' | 'has'>;
}

export function appliedReference(reference: Reference | KeptReference): AppliedReference {
  const { column, target, onDelete, required, unique, relation } = reference;
  const names =
    'names' in reference
      ? reference.names
      : { belongsTo: relation?.name ?? null, has: otherSide(reference)?.name ?? null };
  const acyclic = reference.acyclic ? true : undefined;
  return { column, target: target.name, keyType: keyTypeOf(target), onDelete, required, unique, acyclic, ...names };
}

export const appliedKey = ({ kind, by, type, constraints }: IdentifierField): AppliedKey | undefined =>
  kind.isCounted && by === kind.by ? undefined : { type: type.name, by, constraints };

const keyTypeOf = ({ identifier: { kind, type } }: RecordType): string | undefined =>
  kind.isCounted ? undefined : type.name;

export function appliedJoin(table: JoinTable, dialect: Dialect): AppliedJoin {
  const side = ({ column, type }: JoinTable['left']): AppliedSide => {
    const relation = relationAt(table, column)?.name ?? null;
    return { column, type: type.name, keyType: keyTypeOf(type), relation };
  };
  const [left, right] = sidesOf(table);
  return {
    table: table.name,
    left: side(left),
    right: side(right),
    history: recordingDigest(recordingOf(table, dialect), dialect),
    made: madeOf([joinIndex(table)], dialect),
  };
}

export const madeOf = (indexes: readonly TableIndex[], dialect: Dialect): MadeIndexes =>
  Object.fromEntries(
    indexes.map((index) => [index.name, { unique: index.unique, sql: createIndex(index, dialect) }] as const),
  );

export async function readAppliedModel(reader: Reader): Promise<AppliedModel> {
  const text = await reader.value(METADATA.model, []);
  return text === undefined ? NO_MODEL : parseApplied(String(text));
}

function parseApplied(text: string): AppliedModel {
  const applied: AppliedModel = JSON.parse(text);
  const format: number = applied.format;
  if (format === FORMAT) return applied;
  throw new StartError(
    format < FORMAT
      ? `This database was made by an earlier build (format ${format}). Export it with that build (\`records export\`) and import it here. Nothing was changed.`
      : `A newer version of the engine made the tables of this database (format ${format}; this version reads ${FORMAT}). Start that version instead. Nothing was changed.`,
  );
}

export interface History {
  /** current: applied last. behind: first applied before the last model was. new: all others. */
  readonly state: 'new' | 'current' | 'behind';
  readonly digest: string;
  readonly applied: AppliedModel;
  /** Undefined for a database without tables. */
  readonly last: number | undefined;
  readonly own: { readonly number: number; readonly applied: AppliedModel } | undefined;
  /** The tables that the database has. */
  readonly tables: ReadonlySet<unknown>;
}

export async function historyOf(model: Model, driver: Driver): Promise<History> {
  const tables = new Set(await driver.existing());
  const digest = digestOf(model, appliedModel(model, driver.dialect));
  const applied = tables.has(MODEL_TABLE) ? await readAppliedModel(driver) : NO_MODEL;
  const rows = tables.has(HISTORY_TABLE) ? await driver.all(METADATA.history, []) : [];
  const [numbers, digests] = [rows.map(([number]) => Number(number)), rows.map(([, one]) => String(one))];
  const [last, number] = [numbers.at(-1), numbers[digests.lastIndexOf(digest)]];
  const own =
    number === undefined
      ? undefined
      : { number, applied: parseApplied(String(await driver.value(METADATA.modelOf, [number]))) };
  const isBehind = own !== undefined && digests.indexOf(digest) < digests.indexOf(digests.at(-1) ?? '');
  const state = own && digests.at(-1) === digest ? 'current' : isBehind ? 'behind' : 'new';
  return { state, digest, applied, last, own, tables };
}

export async function remember(
  writer: Writer,
  { applied: before, last = 0, digest }: History,
  applied: AppliedModel,
  { revision }: Pick<Dialect, 'revision'>,
): Promise<void> {
  const text = JSON.stringify(applied);
  await writer.run(METADATA.addHistory, [text, new Date().toISOString(), digest, last + 1]);
  if (!isDeepStrictEqual(before, applied)) await writer.run(METADATA.setModel, [text, 1]);
  // This notifies running instances that the tables have changed.
  for (const sql of revision.renew) await writer.run({ sql }, []);
}

/** The digest ignores the order in descriptors, and the SQL of indexes and triggers, which varies between versions of the engine. */
function digestOf({ types }: Model, wanted: AppliedModel): string {
  const renames = [...types.values()]
    .flatMap(({ name, renamedFrom, fields, relations }) => [
      [name, renamedFrom],
      ...[...fields.values(), ...relations.values()].map((one) => [`${name}.${one.name}`, one.renamedFrom]),
    ])
    .flatMap(([name, from]) => (from === undefined ? [] : [`${name} ${from}`]));
  const tables = [...Object.entries(wanted.types), ...wanted.joins.map((join) => [join.table, join] as const)];
  const asked = Object.fromEntries(
    tables.map(([name, table]) => [
      name,
      { ...table, ...(table.history === undefined ? {} : { history: true }), made: null },
    ]),
  );
  return createHash('sha256')
    .update(sortedJson({ asked, renames: renames.toSorted() }))
    .digest('hex');
}
