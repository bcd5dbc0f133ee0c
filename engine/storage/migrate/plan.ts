/**
 * A migration moves the tables from the *applied* model, which the database remembers as plain data, to the *wanted* one.
 * `mapping` first gives the descriptors' Model the names of tables and columns that the database has, so that a rename
 * changes no table. `compare` matches its parts with the applied ones. What no descriptor names is *kept* until an
 * operator allows its drop; the other differences become *steps*, each of a kind in `steps`, with the rows that it counts
 * and the *edits* of its table, which the driver compiles to *tasks*. `assess` finds those rows and the objects of others
 * in the way, and `apply` carries the tasks out, all or nothing. `served` is what an instance of other descriptors may do.
 */
import { isDeepStrictEqual } from 'node:util';
import { ENGINE_PREFIX, type JoinTable, type Model, type RecordType } from '../../model/model.ts';
import { resolveType } from '../../model/resolve.ts';
import type { TableIndex } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { recordingDigest, recordingOf } from '../log/recording.ts';
import { indexedColumn, METADATA } from '../tables.ts';
import {
  type AppliedJoin,
  type AppliedModel,
  appliedModel,
  type AppliedType,
  appliedType,
  asStored,
  type History,
  identifierNameOf,
  type KeptReference,
  madeOf,
} from './applied.ts';
import { type Catalogue, found, otherColumns } from './catalogue.ts';
import {
  changeOf,
  columnsBefore,
  compare,
  type Comparison,
  compareType,
  isLimiting,
  isNeeded,
  joinOwner,
  joinOwnerBefore,
  memberAt,
  type NamedType,
  partAt,
  type TypeChange,
  type TypeDiff,
  unnamedField,
} from './diff.ts';
import { plainTasks, type Task } from './task.ts';
import { chosenNames, freeNames, mappedModel } from './mapping.ts';
import { unclaimed, renameQuestions } from './questions.ts';
import { type Recording, withoutEntries, withRecording } from './recording-steps.ts';
import { type Seeded, seedSteps } from './seeds.ts';
import { createStep, type MigrationStep, type Plan, stepId } from './steps.ts';
import {
  addedJoinStep,
  addedTypeStep,
  closeStep,
  droppedFieldStep,
  droppedFoldedStep,
  droppedIndexStep,
  droppedJoinStep,
  droppedReferenceStep,
  droppedTypeStep,
  renamedJoinSteps,
  retypedJoinSteps,
  typeSteps,
} from './types.ts';

export function createPlan(
  model: Model,
  { applied, own }: Pick<History, 'applied' | 'own'>,
  dialect: Dialect,
  allowedDrops: ReadonlySet<string> = new Set(),
  catalogue: Catalogue = new Map(),
  seeded: Seeded = new Map(),
): Plan {
  const mapped = mappedModel(model, applied, own?.applied, allowedDrops);
  const asked = compare(applied, mapped);
  const kept: MigrationStep[] = [];
  /** Notes the step that would drop a part, and returns whether the part stays. */
  const stays: Stays = (step) => {
    if (allowedDrops.has(stepId(step))) return false;
    kept.push(step);
    return true;
  };
  const keptTypes = asked.dropped.filter((type) => stays(droppedTypeStep(type, dialect)));
  const freeType = freeNames(mapped.types.keys(), [], spaced);
  const unnamed = keptTypes.map((before) => compareType(unnamedType(before, freeType(before.name)), before));
  const pairs = [...asked.types, ...unnamed];
  const parts = {
    types: new Map(pairs.map(({ type, before }) => [before.name, type])),
    freeRelation: freeRelations(mapped),
  };
  const changes = pairs.map((pair) => {
    const { type, before } = pair;
    const step: TypeDiff['step'] = (code, more) => createStep(code, type.name, { rowsIn: before.table, ...more });
    const diff = { ...pair, dialect, step };
    const others = otherColumns(catalogue, before);
    return changeOf(diff, ...keepParts(diff, parts, unnamed.includes(pair) ? undefined : stays), others);
  });
  const keptJoins = asked.joins.dropped.filter(
    (join) =>
      parts.types.has(join.left.type) && parts.types.has(join.right.type) && stays(droppedJoinStep(join, dialect)),
  );
  const asDescribed = appliedModel(mapped, dialect);
  const wanted = asStored(
    { ...asDescribed.types, ...Object.fromEntries(changes.map((change) => [change.type.name, wantedType(change)])) },
    [...asDescribed.joins, ...keptJoins.map((join) => wantedJoin(join, parts))],
  );
  const isSame = isDeepStrictEqual([applied.types, applied.joins], [wanted.types, wanted.joins]);
  const known = new Set(applied.kept);
  const relations = new Set(found(catalogue, '', 'relation').map(({ name }) => name));
  const left = isSame && kept.length === 0 ? [] : unclaimed(applied, asked, model);
  const questions = [
    ...left.map(({ step }) => step),
    ...renameQuestions(asked).filter((step) => !wasKept(step, known)),
  ];
  const steps = [
    ...questions.filter((step) => !known.has(stepId(step))),
    ...(isSame ? [] : stepsBetween(applied, asked, changes, wanted, dialect)).map(withoutEntries(relations, dialect)),
    ...seedSteps(changes, mapped, dialect, seeded),
  ];
  const asking = [...kept, ...left.filter(({ lasts }) => lasts).map(({ step }) => step)].map(stepId);
  const { chosen, unused } = chosenNames(model, mapped, applied.chosen);
  const remembered = {
    ...wanted,
    ...(asking.length > 0 ? { kept: asking } : {}),
    ...(chosen.length > 0 ? { chosen } : {}),
  };
  return { steps, kept, applied, model: mapped, wanted: remembered, unused };
}

const wasKept = ({ type, name }: MigrationStep, known: ReadonlySet<string>): boolean =>
  (['drop-type', 'drop-field', 'drop-relation'] as const).some((code) => known.has(stepId({ code, type, name })));

function stepsBetween(
  applied: AppliedModel,
  { types, added, dropped, joins }: Comparison,
  changes: readonly TypeChange[],
  wanted: AppliedModel,
  dialect: Dialect,
): readonly MigrationStep[] {
  const tables = new Set([...Object.values(wanted.types), ...wanted.joins].map(({ table }) => table));
  const isDropped = ({ table }: { readonly table: string }): boolean => !tables.has(table);
  const named = new Set(types.map(({ type }) => type));
  const recorded = (
    all: readonly MigrationStep[],
    one: Omit<Recording, 'after' | 'made'>,
    made: readonly string[] = [],
  ) => withRecording(all, { ...one, after: recordingDigest(made, dialect), made }, dialect);
  const recordedType = (all: readonly MigrationStep[], type: RecordType, before?: string) =>
    recorded(all, { table: type.table, before, type: type.name }, recordingOf(type, dialect));
  const recordedJoin = (all: readonly MigrationStep[], join: JoinTable, before?: string) =>
    recorded(all, { table: join.name, before, ...joinOwner(join) }, recordingOf(join, dialect));
  const steps = [
    ...joins.dropped.filter(isDropped).map((join) => droppedJoinStep(join, dialect)),
    ...joins.dropped
      .filter((join) => !isDropped(join))
      .flatMap((join) => recorded([], { table: join.table, before: join.history, ...joinOwnerBefore(join) })),
    ...dropped.filter(isDropped).map((type) => droppedTypeStep(type, dialect)),
    ...changes.flatMap((change) =>
      recordedType(
        typeSteps(change, knownRelations(applied, change.before.name), named.has(change.type)),
        change.table,
        change.before.history,
      ),
    ),
    ...renamedJoinSteps(joins),
    ...joins.kept.flatMap((pair) => recordedJoin(retypedJoinSteps(pair, dialect), pair.after, pair.before.history)),
    ...added.flatMap((type) => recordedType([addedTypeStep(type, dialect)], type)),
    ...joins.added.flatMap((table) => recordedJoin([addedJoinStep(table, dialect)], table)),
  ];
  const renames = seedRenames(changes);
  return steps.map((step, at) => (at === steps.length - 1 ? { ...step, tasks: [...step.tasks, ...renames] } : step));
}

/** Renames the types of inserted seeds via temporary names, since types may exchange their names. */
function seedRenames(types: readonly TypeChange[]): readonly Task[] {
  const renamed = types.filter(({ type, before }) => type.name !== before.name);
  const passing = (name: string): string => `${ENGINE_PREFIX}${name}`;
  return plainTasks('define', [
    ...renamed.map(({ type, before }) => METADATA.renameSeeds(before.name, passing(type.name))),
    ...renamed.map(({ type }) => METADATA.renameSeeds(passing(type.name), type.name)),
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

type Stays = (step: MigrationStep) => boolean;

interface KeptNames {
  /** What has become of the applied types that stay, by their former names. */
  readonly types: ReadonlyMap<string, RecordType>;
  readonly freeRelation: (type: RecordType | undefined, name: string | null) => string | null;
}

/** No descriptor can choose such a name. */
const spaced = (name: string, count: number): string => `${name} ${count}`;

/** A type of which only the table is known. */
function unnamedType(before: NamedType, name: string): RecordType {
  const { table, open, identifier: column } = before;
  const { constraints, ...key } = before.key ?? {};
  const identifier = { name: identifierNameOf(before), ...key, ...constraints };
  const type = resolveType({ type: name, operations: [], open, identifier });
  return { ...type, table, identifier: { ...type.identifier, column } };
}

function freeRelations({ types }: Model): KeptNames['freeRelation'] {
  const free = new Map(
    [...types.values()].map(({ name, relations }) => [name, freeNames(relations.keys(), [], spaced)]),
  );
  return (type, name) => (name === null ? null : (free.get(type?.name ?? '')?.(name) ?? name));
}

/** The type with the columns that stay, and the indexes that do. `stays`: undefined for a type that no descriptor names. */
function keepParts(
  diff: TypeDiff,
  { types, freeRelation }: KeptNames,
  stays: Stays | undefined,
): readonly [table: RecordType, indexes: readonly TableIndex[]] {
  const { type, before, dialect } = diff;
  const isKept = (step: () => MigrationStep): boolean => stays === undefined || stays(step());
  const open = type.open || (before.open && isKept(() => closeStep(diff)));
  for (const { after, before: was } of diff.fields.kept)
    if (!after.caseless && after.folded !== undefined && was.folded !== undefined)
      stays?.(droppedFoldedStep(diff, was, after.name));
  const freeField = freeNames(type.fields.keys(), [], spaced);
  const hidden = diff.fields.dropped
    .filter((field) => !(stays && isNeeded(field)) && isKept(() => droppedFieldStep(diff, field)))
    .map((field) => unnamedField({ ...field, name: freeField(field.name) }));
  const references = diff.references.dropped.flatMap((reference) => {
    const target = types.get(reference.target);
    if (!target || (stays && reference.required) || !isKept(() => droppedReferenceStep(diff, reference))) return [];
    const { column, onDelete, required, unique, acyclic = false } = reference;
    const names = { belongsTo: freeRelation(type, reference.belongsTo), has: freeRelation(target, reference.has) };
    const undeclared = { exportName: column, isChosen: false, relation: undefined, names };
    return [{ column, target, onDelete, required, unique, acyclic, ...undeclared }] satisfies readonly KeptReference[];
  });
  const table: RecordType = { ...type, open, hidden, references: [...type.references, ...references] };
  const indexes = diff.indexes.dropped.flatMap((index) => {
    // Otherwise the type could not be written.
    if (stays && isLimiting(type, before, index)) return [];
    const { name, unique, members } = index;
    const columns = columnsBefore(before, members);
    const indexed = columns.flatMap((column) => partAt(table, column) ?? []);
    // A field's new type may have no order.
    const isOrdered = indexed.every((part) => !('type' in part) || part.type.operators.length > 0);
    if (indexed.length < columns.length || !isOrdered) return [];
    // Dropping a field drops its indexes.
    const isOwnStep = columns.every((column) => memberAt(type, column));
    if (isOwnStep && !isKept(() => droppedIndexStep(diff, index))) return [];
    const made = indexed.map((part) => indexedColumn(part, dialect.name));
    const shared = { table: table.table, identifier: table.identifier.column };
    return [{ ...shared, name, unique, columns: made }];
  });
  return [table, indexes];
}

function wantedType({ before, table, tableIndexes, dialect }: TypeChange): AppliedType {
  const own = appliedType(table, dialect);
  const kept = Object.entries(before.indexes).flatMap(([name, { unique, members }]) => {
    if (name in own.indexes || !tableIndexes.some((index) => index.name === name)) return [];
    return [[name, { unique, members: columnsBefore(before, members).map((column) => nameAt(own, column)) }] as const];
  });
  return { ...own, indexes: { ...own.indexes, ...Object.fromEntries(kept) }, made: madeOf(tableIndexes, dialect) };
}

function wantedJoin(join: AppliedJoin, { types, freeRelation }: KeptNames): AppliedJoin {
  const sideOf = ({ column, type, relation }: AppliedJoin['left']): AppliedJoin['left'] => {
    const now = types.get(type);
    return { column, type: now?.name ?? type, relation: freeRelation(now, relation) };
  };
  return { ...join, history: undefined, left: sideOf(join.left), right: sideOf(join.right) };
}

const nameAt = ({ fields, references }: Pick<AppliedType, 'fields' | 'references'>, column: string): string =>
  Object.keys(fields).find((name) => fields[name]?.column === column) ??
  references.find((reference) => reference.column === column)?.belongsTo ??
  column;
