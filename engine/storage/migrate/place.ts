/**
 * Where the database keeps what the descriptors name. A type, a field or a relation that is renamed keeps its table and its
 * column, so that instances of every version find it, each under its own name.
 */
import type { Field, Index, JoinTable, Model, RecordType, Reference, Relation } from '../../model/model.ts';
import { match } from '../../model/renames.ts';
import { revised } from '../../model/resolve.ts';
import { generatedName } from '../../names.ts';
import { tablesOf } from '../tables.ts';
import {
  type AppliedJoin,
  type AppliedModel,
  type AppliedReference,
  type AppliedType,
  columnsIn,
  nameKey,
  otherSide,
} from './applied.ts';
import { columnsBefore, relationAt } from './compare.ts';
import { stepId } from './steps.ts';

interface Placement {
  readonly applied: AppliedModel;
  /** The names by which the descriptors are found: those that they were applied with, or those of the tables. */
  readonly known: AppliedModel;
  /** Former names of types, by current names. */
  readonly formers: ReadonlyMap<string, string>;
  readonly freeTable: FreeName;
  readonly freeIndex: FreeName;
  readonly revisions: Map<object, object>;
  readonly letGo: ReadonlySet<string>;
}

/** `own`: these descriptors as they were applied once. `letGo`: ids of the steps whose drop is allowed. */
export function placedModel(
  model: Model,
  applied: AppliedModel,
  own: AppliedModel = applied,
  letGo: ReadonlySet<string> = new Set(),
): Model {
  const types = Object.values(applied.types);
  const there = new Set(types.map(({ table }) => table));
  const known = Object.keys(own.types).filter((name) => there.has(tableOf(own, name) ?? ''));
  const { kept } = match(model.types.values(), known);
  const tables = [...types, ...applied.joins];
  const placement: Placement = {
    applied,
    known: own,
    formers: new Map(kept.map(({ wanted, former }) => [wanted.name, former])),
    freeTable: freeNames(
      tables.map(({ table }) => table),
      tablesOf(model),
    ),
    freeIndex: freeNames(tables.flatMap(({ made }) => Object.keys(made))),
    revisions: new Map(),
    letGo,
  };
  for (const type of model.types.values()) placeType(placement, type);
  placeJoins(placement, model);
  return placement.revisions.size === 0 ? model : revised(model, placement.revisions);
}

type FreeName = (name: string) => string;

/** Returns the name itself, or one like it that nothing has or wants. */
function freeNames(taken: readonly string[], wanted: readonly string[] = []): FreeName {
  const [all, asked] = [new Set(taken.map(nameKey)), new Set(wanted.map(nameKey))];
  return (name) => {
    let found = name;
    for (let count = 2; all.has(nameKey(found)) || (found !== name && asked.has(nameKey(found))); count += 1)
      found = generatedName(name, String(count));
    all.add(nameKey(found));
    return found;
  };
}

function revise({ revisions }: Placement, part: object, revision: object): void {
  const isChange = Object.entries(revision).some(([key, value]) => Reflect.get(part, key) !== value);
  if (isChange) revisions.set(part, { ...revisions.get(part), ...revision });
}

const placed = <P extends object>({ revisions }: Placement, part: P): P => ({ ...part, ...revisions.get(part) });

const tableOf = ({ types }: AppliedModel, name: string): string | undefined => types[name]?.table;

function placeType(placement: Placement, type: RecordType): void {
  const before = placement.known.types[placement.formers.get(type.name) ?? ''];
  const now = Object.values(placement.applied.types).find(({ table }) => table === before?.table);
  if (before && now) placeColumns(placement, type, before, now);
  else revise(placement, type, { table: placement.freeTable(type.table) });
  placeIndexes(placement, type, now);
}

function placeColumns(placement: Placement, type: RecordType, before: AppliedType, now: AppliedType): void {
  revise(placement, type, { table: before.table });
  revise(placement, type.identifier, { column: now.identifier });
  const held = new Map(Object.values(now.fields).map((field) => [field.column, field]));
  const known = Object.keys(before.fields).filter((name) => held.has(before.fields[name]?.column ?? ''));
  const fields = new Map(match(type.fields.values(), known).kept.map(({ wanted, former }) => [wanted, former]));
  const references = matchReferences(placement, type, before, now);
  const free = freeNames(columnsIn(now), [
    ...[...type.fields.values()].map(({ column }) => column),
    ...type.references.map(({ column }) => column),
  ]);
  for (const field of type.fields.values()) {
    const was = held.get(before.fields[fields.get(field) ?? '']?.column ?? '');
    // If case counts again, other instances may still ignore it, so the folded column stays until its drop is allowed.
    const isFolded = was?.type === field.type.name && !placement.letGo.has(foldedDrop(type, field));
    const folded = field.folded ? (was?.folded ?? free(field.folded)) : isFolded ? was.folded : undefined;
    revise(placement, field, { column: was?.column ?? free(field.column), folded });
  }
  for (const reference of type.references)
    revise(placement, reference, { column: references.get(reference)?.column ?? free(reference.column) });
}

const foldedDrop = (type: RecordType, { name }: Field): string =>
  stepId({ code: 'drop-caseless', type: type.name, name });

/** The foreign keys that were there, by those that they are now: the same relation of either side, to the same type. */
function matchReferences(
  { applied, known, formers }: Placement,
  type: RecordType,
  before: AppliedType,
  now: AppliedType,
): ReadonlyMap<Reference, AppliedReference> {
  const isThere = ({ column, target }: AppliedReference): boolean =>
    now.references.some((one) => one.column === column && tableOf(applied, one.target) === tableOf(known, target));
  const left = new Set(before.references.filter(isThere));
  const pairs = new Map<Reference, AppliedReference>();
  const claim = (side: 'belongsTo' | 'has', nameOf: (reference: Reference) => string | undefined): void => {
    for (const reference of type.references) {
      const name = nameOf(reference);
      if (name === undefined || pairs.has(reference)) continue;
      const target = formers.get(reference.target.name);
      const found = [...left].find((old) => old[side] === name && old.target === target);
      if (found && left.delete(found)) pairs.set(reference, found);
    }
  };
  claim('belongsTo', ({ relation }) => relation?.name);
  claim('belongsTo', ({ relation }) => relation?.renamedFrom);
  claim('has', (reference) => otherSide(reference)?.name);
  claim('has', (reference) => otherSide(reference)?.renamedFrom);
  return pairs;
}

/** An index keeps its name for as long as it is over the same columns. */
function placeIndexes(placement: Placement, type: RecordType, now: AppliedType | undefined): void {
  const keyOf = (unique: boolean, columns: readonly string[]): string => JSON.stringify([unique, columns]);
  const names = new Map(
    Object.entries(now?.indexes ?? {}).map(([name, { unique, members }]) => [
      keyOf(unique, now ? columnsBefore(now, members, (field) => field.folded ?? field.column) : []),
      name,
    ]),
  );
  for (const index of type.indexes) {
    const columns = index.members.map((member) => columnOf(placement, member));
    const known = names.get(keyOf(index.unique, columns));
    revise(placement, index, {
      name: known ?? placement.freeIndex(indexName(placed(placement, type).table, index, columns)),
    });
  }
}

function columnOf(placement: Placement, member: Field | Relation): string {
  if (!('link' in member)) {
    const { folded, column } = placed(placement, member);
    return folded ?? column;
  }
  return member.link.at === 'source' ? placed(placement, member.link.reference).column : '';
}

/** As the model names it, unless the columns have other names than the members. */
function indexName(table: string, { unique, members }: Index, columns: readonly string[]): string {
  const names = members.map((member, at) =>
    'link' in member && member.link.at === 'source' && member.link.reference.column === columns[at]
      ? member.name
      : (columns[at] ?? ''),
  );
  return generatedName(table, ...names, unique ? 'unique' : 'index');
}

/** Two join tables are the same if one side is the same relation, and both lead to the same types. */
function placeJoins(placement: Placement, { joinTables }: Model): void {
  const left = new Set(placement.known.joins.filter((join) => isJoinThere(placement, join)));
  const kept = new Set<JoinTable>();
  for (const nameOf of [(one: Relation) => one.name, (one: Relation) => one.renamedFrom])
    for (const join of joinTables)
      for (const before of kept.has(join) ? [] : left) {
        const sides = matchJoin(placement, join, before, nameOf);
        if (!sides) continue;
        left.delete(before);
        kept.add(join);
        placeJoin(placement, join, before, sides);
        break;
      }
  for (const join of joinTables) if (!kept.has(join)) revise(placement, join, { name: placement.freeTable(join.name) });
}

const isJoinThere = ({ applied, known }: Placement, join: AppliedJoin): boolean => {
  const sidesIn = (model: AppliedModel, { table, left, right }: AppliedJoin): string =>
    JSON.stringify([table, ...[left, right].flatMap(({ column, type }) => [column, tableOf(model, type)])]);
  return applied.joins.some((one) => sidesIn(applied, one) === sidesIn(known, join));
};

type AppliedSides = readonly [AppliedJoin['left'], AppliedJoin['right']];

/** The sides before, in the order of those of the join table now. */
function matchJoin(
  { formers }: Placement,
  join: JoinTable,
  { left, right }: AppliedJoin,
  nameOf: (relation: Relation) => string | undefined,
): AppliedSides | undefined {
  const now = [join.left, join.right];
  return [[left, right] as const, [right, left] as const].find(
    (sides) =>
      now.every(({ type }, at) => formers.get(type.name) === sides[at]?.type) &&
      now.some(({ column }, at) => {
        const relation = relationAt(join, column);
        const name = relation && nameOf(relation);
        return name !== undefined && name === sides[at]?.relation;
      }),
  );
}

function placeJoin(placement: Placement, join: JoinTable, before: AppliedJoin, [left, right]: AppliedSides): void {
  const columns = new Map([
    [join.left.column, left.column],
    [join.right.column, right.column],
  ]);
  for (const { type } of [join.left, join.right])
    for (const { link } of type.relations.values())
      if (link.at === 'join' && link.table === join)
        revise(placement, link, {
          sourceColumn: columns.get(link.sourceColumn),
          targetColumn: columns.get(link.targetColumn),
        });
  revise(placement, join, { name: before.table, first: left === before.left ? 'left' : 'right' });
  revise(placement, join.left, { column: left.column });
  revise(placement, join.right, { column: right.column });
}
