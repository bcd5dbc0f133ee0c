/**
 * A migration moves the tables from the *applied* model, which the database remembers as plain data, to the *wanted* one.
 * `mapping` first gives the descriptors' Model the names of tables and columns that the database has, so that a rename
 * changes no table. `compare` matches its parts with the applied ones. What no descriptor names is *kept* until an
 * operator allows its drop; the other differences become *steps*, each of a kind in `steps`, with the rows that it counts
 * and the *edits* of its table, which the driver compiles to *tasks*. `assess` finds those rows and the objects of others
 * in the way, and `apply` carries the tasks out, all or nothing. `served` is what an instance of other descriptors may do.
 */
import { isDeepStrictEqual } from 'node:util';
import { fieldTypes } from '../../field-types/registry.ts';
import {
  ENGINE_PREFIX,
  type Field,
  type JoinTable,
  type Model,
  type RecordType,
  type Reference,
  type Relation,
} from '../../model/model.ts';
import { type Draft, relationOf, resolveField, resolveType } from '../../model/resolve.ts';
import { StartError } from '../../problem.ts';
import type { Dialect } from '../dialect.ts';
import { METADATA } from '../tables.ts';
import {
  type AppliedField,
  type AppliedJoin,
  type AppliedModel,
  appliedModel,
  type AppliedReference,
  identifierNameOf,
  nameKey,
  type History,
} from './applied.ts';
import { type Catalogue, otherColumns } from './catalogue.ts';
import { changeOf, droppedFieldStep, droppedFoldedStep, type TypeChange } from './change.ts';
import {
  columnsBefore,
  compare,
  type Comparison,
  compareType,
  isLimiting,
  memberAt,
  type NamedField,
} from './compare.ts';
import { plainTasks, type Task } from './task.ts';
import { mappedModel, unusedNames } from './mapping.ts';
import { unclaimed, renameQuestions } from './questions.ts';
import { type Seeded, seedSteps } from './seeds.ts';
import { kindOf, type MigrationStep, type Plan, stepId } from './steps.ts';
import {
  addedJoinStep,
  addedTypeStep,
  closeStep,
  droppedIndexStep,
  droppedJoinStep,
  droppedReferenceStep,
  droppedTypeStep,
  renamedJoinSteps,
  typeSteps,
} from './types.ts';

export function createPlan(
  model: Model,
  { applied, own }: Pick<History, 'applied' | 'own'>,
  dialect: Dialect,
  allowedDrops: ReadonlySet<string> = new Set(),
  catalogue: Catalogue = [],
  seeded: Seeded = new Map(),
): Plan {
  const mapped = mappedModel(model, applied, own?.applied, allowedDrops);
  const asked = compare(applied, mapped);
  const changes = new Map(asked.types.map((pair) => [pair.type, changeOf(pair, dialect)]));
  const kept = keptModel(asked, mapped, changes, dialect, allowedDrops);
  const wanted = appliedModel(kept.tables, dialect);
  const isSame = isDeepStrictEqual([applied.types, applied.joins], [wanted.types, wanted.joins]);
  const known = new Set(applied.kept);
  const left = isSame && kept.steps.length === 0 ? [] : unclaimed(applied, asked, model);
  const questions = [
    ...left.map(({ step }) => step),
    ...renameQuestions(asked).filter((step) => !wasKept(step, known)),
  ];
  const steps = [
    ...questions.filter((step) => !known.has(stepId(step))),
    ...(isSame ? [] : stepsBetween(applied, compare(applied, kept.tables), mapped, dialect, catalogue)),
    ...seedSteps(changes, mapped, dialect, seeded),
  ];
  const stays = [...kept.steps, ...left.filter(({ lasts }) => lasts).map(({ step }) => step)].map(stepId);
  const remembered = stays.length > 0 ? { ...wanted, kept: stays } : wanted;
  const unused = unusedNames(model, mapped);
  return { steps, kept: kept.steps, applied, model: mapped, wanted: remembered, unused };
}

const wasKept = ({ type, name }: MigrationStep, known: ReadonlySet<string>): boolean =>
  (['drop-type', 'drop-field', 'drop-relation'] as const).some((code) => known.has(stepId({ code, type, name })));

function stepsBetween(
  applied: AppliedModel,
  { types, added, dropped, joins }: Comparison,
  mapped: Model,
  dialect: Dialect,
  catalogue: Catalogue,
): readonly MigrationStep[] {
  // Renaming a kept part, to free its name for a new part, is no step for users.
  const isShown = (step: MigrationStep): boolean =>
    !(['named', 'renamed'].includes(kindOf(step).older ?? '') || step.code === 'claim-key') || isNamed(step, mapped);
  const steps = [
    ...joins.dropped.map((join) => droppedJoinStep(join, dialect)),
    ...dropped.map((type) => droppedTypeStep(type, dialect)),
    ...types.flatMap((pair) => {
      const change = changeOf(pair, dialect, otherColumns(applied, catalogue, pair.before.table));
      return typeSteps(change, knownRelations(applied, pair.before.name), isShown);
    }),
    ...renamedJoinSteps(joins).filter(isShown),
    ...added.map((type) => addedTypeStep(type, dialect)),
    ...joins.added.map((table) => addedJoinStep(table, dialect)),
  ];
  const renames = seedRenames(types);
  return steps.map((step, at) => (at === steps.length - 1 ? { ...step, tasks: [...step.tasks, ...renames] } : step));
}

const isNamed = ({ type, name }: MigrationStep, { types }: Model): boolean => {
  const named = types.get(type);
  if (named === undefined || name === undefined || named.identifier.name === name) return named !== undefined;
  return named.fields.has(name) || named.relations.has(name);
};

/** Renames the types of inserted seeds via temporary names, since types may exchange their names. */
function seedRenames(types: Comparison['types']): readonly Task[] {
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

type TypeDraft = Draft<RecordType>;

/** The model with parts that no descriptor names, where they can stay, and the steps that would drop them. */
function keptModel(
  asked: Comparison,
  model: Model,
  changes: ReadonlyMap<RecordType, TypeChange>,
  dialect: Dialect,
  allowedDrops: ReadonlySet<string>,
): { readonly tables: Model; readonly steps: readonly MigrationStep[] } {
  const steps: MigrationStep[] = [];
  /** Notes the step that would drop a part, and returns whether the part stays. Parts of dropped types need no step. */
  const stays = (step: MigrationStep | undefined): boolean => {
    if (step && allowedDrops.has(stepId(step))) return false;
    if (step) steps.push(step);
    return true;
  };
  const types = new Map([...model.types].map(([name, type]) => [name, copied(type)]));
  const joinTables = [...model.joinTables];
  const kept = asked.types.map((pair) => {
    const type = types.get(pair.type.name) ?? copied(pair.type);
    return { pair, type, change: changes.get(pair.type) };
  });
  for (const before of asked.dropped) {
    if (!stays(droppedTypeStep(before, dialect))) continue;
    const name = freeName(before.name, types);
    const identifier = { name: identifierNameOf(before) };
    const type = { ...resolveType({ type: name, operations: [], open: before.open, identifier }), table: before.table };
    type.identifier = { ...type.identifier, column: before.identifier };
    types.set(name, type);
    kept.push({ pair: compareType(type, before), type, change: undefined });
  }
  const current = new Map(kept.map(({ pair, type }) => [pair.before.name, type]));
  for (const { pair, type, change } of kept) {
    const { before, fields, references } = pair;
    if (change && before.open && !type.open) type.open = stays(closeStep(change));
    for (const { after, before: was } of fields.kept)
      if (change && !after.caseless && after.folded !== undefined && was.folded !== undefined)
        steps.push(droppedFoldedStep(change, was, after.name));
    for (const field of fields.dropped) {
      if ((change && isNeeded(field)) || !stays(change && droppedFieldStep(change, field))) continue;
      const name = freeName(field.name, type.fields);
      type.fields.set(name, unnamedField({ ...field, name }));
    }
    for (const reference of references.dropped) {
      const target = current.get(reference.target);
      if (!target || (change && reference.required)) continue;
      if (stays(change && droppedReferenceStep(change, reference))) keepReference(type, target, reference);
    }
  }
  for (const before of asked.joins.dropped) {
    const [left, right] = [current.get(before.left.type), current.get(before.right.type)];
    if (left && right && stays(droppedJoinStep(before, dialect))) joinTables.push(keptJoin(before, left, right));
  }
  // Indexes come last, since their members may be kept parts.
  for (const { pair, type, change } of kept)
    for (const index of pair.indexes.dropped) {
      // Otherwise the type could not be written.
      if (change && isLimiting(pair.type, pair.before, index)) continue;
      const columns = columnsBefore(pair.before, index.members);
      const members = columns.flatMap((column) => memberAt(type, column) ?? []);
      // A field's new type may have no order.
      const isOrdered = members.every((member) => 'link' in member || member.type.operators.length > 0);
      if (members.length < columns.length || !isOrdered) continue;
      // Dropping a field drops its indexes.
      const isOwnStep = columns.every((column) => memberAt(pair.type, column));
      if (!stays(isOwnStep && change ? droppedIndexStep(change, index, type) : undefined)) continue;
      type.indexes.push({ name: index.name, unique: index.unique, members } as TypeDraft['indexes'][number]);
    }
  return { tables: { types, joinTables }, steps };
}

const copied = (type: RecordType): TypeDraft =>
  ({
    ...type,
    fields: new Map(type.fields),
    relations: new Map(type.relations),
    references: [...type.references],
    indexes: [...type.indexes],
  }) as TypeDraft;

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  const all = new Set([...taken.keys()].map(nameKey));
  let found = name;
  for (let count = 2; all.has(nameKey(found)); count += 1) found = `${name} ${count}`;
  return found;
}

export const isNeeded = (field: Pick<AppliedField, 'nullable' | 'default' | 'isNowByDefault'>): boolean =>
  !field.nullable && field.default === null && field.isNowByDefault !== true;

/** Makes a field of which only the column is known. */
export function unnamedField({ name, type, ...before }: NamedField): Field {
  if (!fieldTypes.has(type))
    throw new StartError(
      `The tables have "${name}" of type ${type}, which this version of the engine does not know. Nothing was changed.`,
    );
  const { constraints, column, nullable, folded, generated, isNowByDefault = false } = before;
  return {
    ...resolveField(name, { type, required: isNeeded(before), nullable, sensitive: true }),
    constraints,
    column,
    folded,
    generated,
    isNowByDefault,
    default: before.default ?? undefined,
  };
}

function keepReference(type: TypeDraft, target: TypeDraft, before: AppliedReference): void {
  const { column, onDelete, required, unique, acyclic = false, belongsTo, has } = before;
  const known = { column, exportName: column, target, onDelete, required, unique, acyclic, relation: undefined };
  const reference: Draft<Reference> = known;
  type.references.push(reference);
  if (belongsTo !== null)
    reference.relation = addRelation(belongsTo, 'belongsTo', type, target, { at: 'source', reference });
  if (has !== null) addRelation(has, 'hasMany', target, type, { at: 'target', reference });
}

function keptJoin({ table: name, left, right }: AppliedJoin, one: TypeDraft, other: TypeDraft): JoinTable {
  const sides = { left: { column: left.column, type: one }, right: { column: right.column, type: other } };
  const table: JoinTable = { name, exportName: name, first: 'left', ...sides };
  const add = (from: AppliedJoin['left'], to: AppliedJoin['left'], source: TypeDraft, target: TypeDraft): void => {
    const link = { at: 'join', table, sourceColumn: from.column, targetColumn: to.column } as const;
    if (from.relation !== null) addRelation(from.relation, 'manyToMany', source, target, link);
  };
  add(left, right, one, other);
  add(right, left, other, one);
  return table;
}

const addRelation = (
  name: string,
  kind: Relation['kind'],
  source: TypeDraft,
  target: TypeDraft,
  link: Relation['link'],
): Draft<Relation> =>
  relationOf(
    { type: source, target, name: freeName(name, source.relations), relation: { kind, type: target.name } },
    link,
  );
