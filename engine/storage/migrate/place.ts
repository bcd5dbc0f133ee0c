/**
 * Where the database keeps what the descriptors name. A type, a field or a relation that is renamed keeps its table and its
 * column, so that instances of every version find it, each under its own name.
 */
import type { Field, Index, JoinTable, Model, RecordType, Reference, Relation } from '../../model/model.ts';
import { match } from '../../model/renames.ts';
import { revised } from '../../model/resolve.ts';
import { generatedName } from '../../names.ts';
import type { AppliedIndex, AppliedJoin, AppliedModel, AppliedReference, AppliedType } from './applied.ts';
import { tablesOf } from '../tables.ts';
import { columnsIn, nameKey, otherSide } from './applied.ts';
import { relationAt } from './match.ts';

/** Former names of types, by current names. */
type FormerNames = ReadonlyMap<string, string>;

interface Placement {
  readonly applied: AppliedModel;
  /** The names by which the descriptors are to be found. */
  readonly known: AppliedModel;
  readonly names: FormerNames;
  readonly tables: Names;
  readonly indexes: Names;
  readonly revisions: Map<object, object>;
}

/** `own`: where these descriptors had their columns when they were applied; without it, the names tell what was renamed. */
export function placedModel(model: Model, applied: AppliedModel, own?: AppliedModel): Model {
  const known = own ? stillThere(own, applied) : applied;
  const { kept } = match(model.types.values(), Object.keys(known.types));
  const types = Object.values(applied.types);
  const placement: Placement = {
    applied,
    known,
    names: new Map(kept.map(({ wanted, former }) => [wanted.name, former])),
    tables: new Names(
      [...types.map(({ table }) => table), ...applied.joins.map(({ table }) => table)],
      tablesOf(model),
    ),
    indexes: new Names([...types, ...applied.joins].flatMap(({ made }) => Object.keys(made))),
    revisions: new Map(),
  };
  for (const type of model.types.values()) placeType(placement, type);
  placeJoins(placement, model);
  for (const type of model.types.values()) placeIndexes(placement, type);
  return placement.revisions.size === 0 ? model : revised(model, placement.revisions);
}

/** Names that something has, or is to have. */
class Names {
  readonly #taken: Set<string>;
  readonly #wanted: ReadonlySet<string>;

  constructor(taken: readonly string[], wanted: readonly string[] = []) {
    this.#taken = new Set(taken.map(nameKey));
    this.#wanted = new Set(wanted.map(nameKey));
  }

  /** The name itself, or one like it that nothing has. */
  free(name: string): string {
    let found = name;
    const isOther = (): boolean => found !== name && this.#wanted.has(nameKey(found));
    for (let count = 2; this.#taken.has(nameKey(found)) || isOther(); count += 1)
      found = generatedName(name, String(count));
    this.#taken.add(nameKey(found));
    return found;
  }
}

function revise({ revisions }: Placement, part: object, revision: object): void {
  const isChange = Object.entries(revision).some(([key, value]) => Reflect.get(part, key) !== value);
  if (isChange) revisions.set(part, { ...revisions.get(part), ...revision });
}

/** A part of the model as it is placed so far. */
const placed = <P extends object>({ revisions }: Placement, part: P): P => ({ ...part, ...revisions.get(part) });

const tableOf = ({ types }: AppliedModel, name: string): string | undefined => types[name]?.table;

/** The model of descriptors when they were applied, without the parts that the tables have lost. */
function stillThere(own: AppliedModel, now: AppliedModel): AppliedModel {
  const tables = new Map(Object.values(now.types).map((type) => [type.table, type]));
  const types = Object.entries(own.types).flatMap(([name, type]) => {
    const there = tables.get(type.table);
    if (!there) return [];
    const columns = new Set(Object.values(there.fields).map(({ column }) => column));
    const fields = Object.entries(type.fields).filter(([, { column }]) => columns.has(column));
    const references = type.references.filter((one) =>
      there.references.some(
        ({ column, target }) => column === one.column && tableOf(now, target) === tableOf(own, one.target),
      ),
    );
    return [[name, { ...type, fields: Object.fromEntries(fields), references }] as const];
  });
  const isThere = (join: AppliedJoin): boolean =>
    now.joins.some(
      ({ table, left, right }) =>
        table === join.table &&
        [left, right].every((side, at) => {
          const before = [join.left, join.right][at];
          return side.column === before?.column && tableOf(now, side.type) === tableOf(own, before.type);
        }),
    );
  return { ...own, types: Object.fromEntries(types), joins: own.joins.filter(isThere) };
}

function placeType(placement: Placement, type: RecordType): void {
  const { known, names, applied } = placement;
  const before = known.types[names.get(type.name) ?? ''];
  if (!before) return revise(placement, type, { table: placement.tables.free(type.table) });
  revise(placement, type, { table: before.table });
  const now = Object.values(applied.types).find(({ table }) => table === before.table) ?? before;
  revise(placement, type.identifier, { column: now.identifier });
  const columns = new Names(columnsIn(now), [
    ...[...type.fields.values()].map(({ column }) => column),
    ...type.references.map(({ column }) => column),
  ]);
  const fields = new Map(
    match(type.fields.values(), Object.keys(before.fields)).kept.map(({ wanted, former }) => [
      wanted,
      before.fields[former]?.column,
    ]),
  );
  const references = matchReferences(type, before, names);
  const held = new Map(Object.values(now.fields).map((field) => [field.column, field]));
  for (const field of type.fields.values()) {
    const column = fields.get(field) ?? columns.free(field.column);
    const folded = field.folded && (held.get(column)?.folded ?? columns.free(field.folded));
    revise(placement, field, { column, folded });
  }
  for (const reference of type.references)
    revise(placement, reference, { column: references.get(reference)?.column ?? columns.free(reference.column) });
}

/** The foreign keys that were there, by those that they are now: the same relation of either side, to the same type. */
function matchReferences(
  type: RecordType,
  before: AppliedType,
  names: FormerNames,
): ReadonlyMap<Reference, AppliedReference> {
  const left = new Set(before.references);
  const pairs = new Map<Reference, AppliedReference>();
  const claim = (side: 'belongsTo' | 'has', nameOf: (reference: Reference) => string | undefined): void => {
    for (const reference of type.references) {
      const name = nameOf(reference);
      if (name === undefined || pairs.has(reference)) continue;
      const target = names.get(reference.target.name);
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

/** Two join tables are the same if one side is the same relation, and both lead to the same types. */
function placeJoins(placement: Placement, model: Model): void {
  const left = new Set(placement.known.joins);
  const kept = new Set<JoinTable>();
  for (const nameOf of [(one: Relation) => one.name, (one: Relation) => one.renamedFrom]) {
    for (const join of model.joinTables) {
      if (kept.has(join)) continue;
      const found = [...left].flatMap((before) => matchJoin(join, before, placement, nameOf) ?? [])[0];
      if (!found || !left.delete(found.before)) continue;
      kept.add(join);
      placeJoin(placement, join, found);
    }
  }
  for (const join of model.joinTables)
    if (!kept.has(join)) revise(placement, join, { name: placement.tables.free(join.name) });
}

interface JoinMatch {
  readonly before: AppliedJoin;
  /** The names of the columns of the two sides. */
  readonly left: string;
  readonly right: string;
}

function matchJoin(
  join: JoinTable,
  before: AppliedJoin,
  { names }: Placement,
  nameOf: (relation: Relation) => string | undefined,
): JoinMatch | undefined {
  for (const [left, right] of [
    [before.left, before.right],
    [before.right, before.left],
  ] as const) {
    const isSame = [join.left, join.right].every(({ type }, at) => names.get(type.name) === [left, right][at]?.type);
    const named = [join.left, join.right].some(({ column }, at) => {
      const relation = relationAt(join, column);
      const name = relation && nameOf(relation);
      return name !== undefined && name === [left, right][at]?.relation;
    });
    if (isSame && named) return { before, left: left.column, right: right.column };
  }
  return undefined;
}

function placeJoin(placement: Placement, join: JoinTable, { before, left, right }: JoinMatch): void {
  const columns = new Map([
    [join.left.column, left],
    [join.right.column, right],
  ]);
  for (const { type } of [join.left, join.right])
    for (const { link } of type.relations.values())
      if (link.at === 'join' && link.table === join)
        revise(placement, link, {
          sourceColumn: columns.get(link.sourceColumn),
          targetColumn: columns.get(link.targetColumn),
        });
  revise(placement, join, { name: before.table, first: left === before.left.column ? 'left' : 'right' });
  revise(placement, join.left, { column: left });
  revise(placement, join.right, { column: right });
}

/** An index keeps its name for as long as it is over the same columns. */
function placeIndexes(placement: Placement, type: RecordType): void {
  const { table } = placed(placement, type);
  const now = Object.values(placement.applied.types).find((one) => one.table === table);
  const names = new Map(Object.entries(now?.indexes ?? {}).map(([name, index]) => [keyBefore(now, index), name]));
  for (const index of type.indexes) {
    const columns = index.members.map((member) => columnOf(placement, member));
    const known = names.get(keyOf(index.unique, columns));
    revise(placement, index, {
      name: known ?? placement.indexes.free(indexName(placement, table, index)),
    });
  }
}

const keyOf = (unique: boolean, columns: readonly (string | undefined)[]): string => JSON.stringify([unique, columns]);

function keyBefore(type: AppliedType | undefined, { unique, members }: AppliedIndex): string {
  const columns = members.map(
    (name) =>
      type?.fields[name]?.folded ??
      type?.fields[name]?.column ??
      type?.references.find(({ belongsTo }) => belongsTo === name)?.column,
  );
  return keyOf(unique, columns);
}

function columnOf(placement: Placement, member: Field | Relation): string {
  if (!('link' in member)) {
    const { folded, column } = placed(placement, member);
    return folded ?? column;
  }
  return member.link.at === 'source' ? placed(placement, member.link.reference).column : '';
}

/** As the model names it, unless the columns have other names than the members. */
function indexName(placement: Placement, table: string, { unique, members }: Index): string {
  const names = members.map((member) => {
    const column = columnOf(placement, member);
    if (!('link' in member)) return column;
    return member.link.at === 'source' && member.link.reference.column !== column ? column : member.name;
  });
  return generatedName(table, ...names, unique ? 'unique' : 'index');
}
