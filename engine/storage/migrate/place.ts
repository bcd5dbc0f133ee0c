/** Gives the Model the tables and columns of the database: renamed parts keep theirs, so that older instances find them. */
import {
  type Field,
  type JoinTable,
  match,
  type Model,
  type RecordType,
  type Reference,
  type Relation,
} from '../../model/model.ts';
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
import { columnsBefore, indexKey, relationAt } from './compare.ts';
import { stepId } from './steps.ts';

interface Placement {
  readonly applied: AppliedModel;
  /** The applied model whose names these descriptors were written for. */
  readonly known: AppliedModel;
  /** Names of types in `known`, by their present names. */
  readonly formers: ReadonlyMap<string, string>;
  readonly freeTable: (name: string) => string;
  readonly freeIndex: (name: string) => string;
  readonly revisions: Map<object, object>;
  readonly allowedDrops: ReadonlySet<string>;
}

/** `own`: these descriptors as they were applied last. `allowedDrops`: ids of the drops that are allowed. */
export function placedModel(
  model: Model,
  applied: AppliedModel,
  own: AppliedModel = applied,
  allowedDrops: ReadonlySet<string> = new Set(),
): Model {
  const tables = [...Object.values(applied.types), ...applied.joins];
  const there = new Set(tables.map(({ table }) => table));
  const known = Object.entries(own.types).flatMap(([name, { table }]) => (there.has(table) ? name : []));
  const placement: Placement = {
    applied,
    known: own,
    formers: new Map(match(model.types.values(), known).kept.map(({ wanted, former }) => [wanted.name, former])),
    freeTable: freeNames([...there], tablesOf(model)),
    freeIndex: freeNames(tables.flatMap(({ made }) => Object.keys(made))),
    revisions: new Map(),
    allowedDrops,
  };
  for (const type of model.types.values()) placeType(placement, type);
  placeJoins(placement, model.joinTables);
  return placement.revisions.size === 0 ? model : revised(model, placement.revisions);
}

/** Makes a function that returns the name, or with a number added if it is taken or wanted by another part. */
function freeNames(taken: readonly string[], wanted: readonly string[] = []): (name: string) => string {
  const [all, asked] = [new Set(taken.map(nameKey)), new Set(wanted.map(nameKey))];
  return (name) => {
    let found = name;
    for (let count = 2; all.has(nameKey(found)) || (found !== name && asked.has(nameKey(found))); count += 1)
      found = generatedName(name, String(count));
    all.add(nameKey(found));
    return found;
  };
}

/** Remembers a changed copy of a part of the model. */
function revise({ revisions }: Placement, part: object, revision: object): void {
  const isChange = Object.entries(revision).some(([key, value]) => Reflect.get(part, key) !== value);
  if (isChange) revisions.set(part, { ...revisions.get(part), ...revision });
}

const tableOf = ({ types }: AppliedModel, name: string): string | undefined => types[name]?.table;

function placeType(placement: Placement, type: RecordType): void {
  const before = placement.known.types[placement.formers.get(type.name) ?? ''];
  const now = Object.values(placement.applied.types).find(({ table }) => table === before?.table);
  revise(placement, type, { table: now?.table ?? placement.freeTable(type.table) });
  if (before && now) placeColumns(placement, type, before, now);
  // An index keeps its name for as long as it is over the same columns.
  const names = new Map(
    Object.entries(now?.indexes ?? {}).map(([name, { unique, members }]) => [
      indexKey(unique, now ? columnsBefore(now, members, (field) => field.folded ?? field.column) : []),
      name,
    ]),
  );
  for (const index of type.indexes) {
    const known = names.get(
      indexKey(
        index.unique,
        index.members.map((member) => indexedColumn(placement, member)),
      ),
    );
    revise(placement, index, { name: known ?? placement.freeIndex(index.name) });
  }
}

function indexedColumn({ revisions }: Placement, member: Field | Relation): string {
  const placed = <P extends object>(part: P): P => ({ ...part, ...revisions.get(part) });
  if (!('link' in member)) return placed(member).folded ?? placed(member).column;
  return member.link.at === 'source' ? placed(member.link.reference).column : '';
}

function placeColumns(placement: Placement, type: RecordType, before: AppliedType, now: AppliedType): void {
  revise(placement, type.identifier, { column: now.identifier });
  const held = new Map(Object.values(now.fields).map((field) => [field.column, field]));
  const known = Object.entries(before.fields).flatMap(([name, { column }]) => (held.has(column) ? name : []));
  const formers = new Map(match(type.fields.values(), known).kept.map(({ wanted, former }) => [wanted, former]));
  const references = matchReferences(placement, type, before, now);
  const wanted = [...type.fields.values(), ...type.references].map(({ column }) => column);
  const free = freeNames(columnsIn(now), wanted);
  for (const field of type.fields.values()) {
    const was = held.get(before.fields[formers.get(field) ?? '']?.column ?? '');
    // Other instances may still ignore case, so the folded column stays until its drop is allowed.
    const drop = stepId({ code: 'drop-caseless', type: type.name, name: field.name });
    const isFolded = was?.type === field.type.name && !placement.allowedDrops.has(drop);
    const folded = field.folded ? (was?.folded ?? free(field.folded)) : isFolded ? was.folded : undefined;
    revise(placement, field, { column: was?.column ?? free(field.column), folded });
  }
  for (const reference of type.references)
    revise(placement, reference, { column: references.get(reference)?.column ?? free(reference.column) });
}

/** Pairs foreign keys with their former ones: those with the same target and the same relation on either side. */
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
  for (const side of ['belongsTo', 'has'] as const)
    for (const key of ['name', 'renamedFrom'] as const)
      for (const reference of type.references) {
        const relation = side === 'has' ? otherSide(reference) : reference.relation;
        const target = formers.get(reference.target.name);
        const found = [...left].find((old) => old[side] === relation?.[key] && old.target === target);
        if (found && !pairs.has(reference) && left.delete(found)) pairs.set(reference, found);
      }
  return pairs;
}

/** A join table is a former one if both have the same types and share the relation of one side. */
function placeJoins(placement: Placement, joinTables: readonly JoinTable[]): void {
  const { applied, known, formers, freeTable } = placement;
  const sidesIn = (model: AppliedModel, { table, left, right }: AppliedJoin): string =>
    JSON.stringify([table, ...[left, right].flatMap(({ column, type }) => [column, tableOf(model, type)])]);
  const there = new Set(applied.joins.map((join) => sidesIn(applied, join)));
  const left = new Set(known.joins.filter((join) => there.has(sidesIn(known, join))));
  const kept = new Set<JoinTable>();
  for (const key of ['name', 'renamedFrom'] as const)
    for (const join of joinTables) {
      const isSide = ({ type }: JoinTable['left'], side: AppliedJoin['left']): boolean =>
        formers.get(type.name) === side.type;
      const isRelation = ({ column }: JoinTable['left'], { relation }: AppliedJoin['left']): boolean =>
        relation !== null && relationAt(join, column)?.[key] === relation;
      const found = [...left]
        .flatMap((before) => [
          { before, own: before.left, other: before.right },
          { before, own: before.right, other: before.left },
        ])
        .filter(({ own, other }) => isSide(join.left, own) && isSide(join.right, other))
        .find(({ own, other }) => isRelation(join.left, own) || isRelation(join.right, other));
      if (!found || kept.has(join)) continue;
      const { before, own, other } = found;
      left.delete(before);
      kept.add(join);
      const columnNow = (column: string): string => (column === join.left.column ? own.column : other.column);
      for (const { type } of [join.left, join.right])
        for (const { link } of type.relations.values())
          if (link.at === 'join' && link.table === join) {
            const [sourceColumn, targetColumn] = [columnNow(link.sourceColumn), columnNow(link.targetColumn)];
            revise(placement, link, { sourceColumn, targetColumn });
          }
      revise(placement, join, { name: before.table, first: own === before.left ? 'left' : 'right' });
      revise(placement, join.left, { column: own.column });
      revise(placement, join.right, { column: other.column });
    }
  for (const join of joinTables) if (!kept.has(join)) revise(placement, join, { name: freeTable(join.name) });
}
