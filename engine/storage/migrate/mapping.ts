/** Maps the Model to the database's tables and columns: renamed parts keep theirs. */
import {
  type Field,
  type JoinTable,
  matchRenamed,
  type Model,
  otherSide,
  type RecordType,
  type Reference,
  type Relation,
  relationAt,
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
} from './applied.ts';
import { columnsBefore, indexKey } from './diff.ts';
import { stepId } from './steps.ts';

/** The former names of types. */
type Formers = ReadonlyMap<string, string>;

/** `own`: these descriptors as last applied. */
export function mappedModel(
  model: Model,
  applied: AppliedModel,
  own: AppliedModel = applied,
  allowedDrops: ReadonlySet<string> = new Set(),
): Model {
  const tables = [...Object.values(applied.types), ...applied.joins];
  const there = new Set(tables.map(({ table }) => table));
  const known = Object.entries(own.types).flatMap(([name, { table }]) => (there.has(table) ? { name } : []));
  const formers = new Map(
    matchRenamed(model.types.values(), known).kept.map(({ after, before }) => [after.name, before.name]),
  );
  const freeTable = freeNames([...there], tablesOf(model));
  const freeIndex = freeNames(tables.flatMap(({ made }) => Object.keys(made)));
  const revisions = new Map<object, object>();

  function revise(part: object, revision: object): void {
    const isChange = Object.entries(revision).some(([key, value]) => Reflect.get(part, key) !== value);
    if (isChange) revisions.set(part, { ...revisions.get(part), ...revision });
  }

  function mapType(type: RecordType): void {
    const before = own.types[formers.get(type.name) ?? ''];
    const now = Object.values(applied.types).find(({ table }) => table === before?.table);
    revise(type, { table: now?.table ?? freeTable(type.table) });
    if (before && now) mapColumns(type, before, now);
    // An index keeps its name while its columns stay the same.
    const names = new Map(
      Object.entries(now?.indexes ?? {}).map(([name, { unique, members }]) => [
        indexKey(unique, now ? columnsBefore(now, members, (field) => field.folded ?? field.column) : []),
        name,
      ]),
    );
    for (const index of type.indexes) {
      const name = names.get(indexKey(index.unique, index.members.map(indexedColumn)));
      revise(index, { name: name ?? freeIndex(index.name) });
    }
  }

  function indexedColumn(member: Field | Relation): string {
    const mapped = <P extends object>(part: P): P => ({ ...part, ...revisions.get(part) });
    if (!('link' in member)) return mapped(member).folded ?? mapped(member).column;
    return member.link.at === 'source' ? mapped(member.link.reference).column : '';
  }

  function mapColumns(type: RecordType, before: AppliedType, now: AppliedType): void {
    revise(type.identifier, { column: now.identifier });
    const held = new Map(Object.values(now.fields).map((field) => [field.column, field]));
    const names = Object.entries(before.fields).flatMap(([name, { column }]) => (held.has(column) ? { name } : []));
    const were = new Map(matchRenamed(type.fields.values(), names).kept.map((one) => [one.after, one.before.name]));
    const isThere = ({ column, target }: AppliedReference): boolean =>
      now.references.some((one) => one.column === column && tableOf(applied, one.target) === tableOf(own, target));
    const references = matchReferences(type, before.references.filter(isThere), formers);
    const wanted = [...type.fields.values(), ...type.references].map(({ column }) => column);
    const free = freeNames(new Map(columnsIn(now)).keys(), wanted);
    for (const field of type.fields.values()) {
      const was = held.get(before.fields[were.get(field) ?? '']?.column ?? '');
      // Other instances may still ignore case: keep the folded column until its drop is allowed, unless it is a rule.
      const drop = stepId({ code: 'drop-caseless', type: type.name, name: field.name });
      const isRule = type.indexes.some(({ unique, members }) => unique && members.includes(field));
      const isFolded = was?.type === field.type.name && !isRule && !allowedDrops.has(drop);
      const folded = field.folded ? (was?.folded ?? free(field.folded)) : isFolded ? was.folded : undefined;
      revise(field, { column: was?.column ?? free(field.column), folded });
    }
    for (const reference of type.references)
      revise(reference, { column: references.get(reference)?.column ?? free(reference.column) });
  }

  /** Join tables match former tables with the same types and the same relation on one side. */
  function mapJoins(joinTables: readonly JoinTable[]): void {
    const sidesIn = (of: AppliedModel, { table, left, right }: AppliedJoin): string =>
      JSON.stringify([table, ...[left, right].flatMap(({ column, type }) => [column, tableOf(of, type)])]);
    const joined = new Set(applied.joins.map((join) => sidesIn(applied, join)));
    const left = new Set(own.joins.filter((join) => joined.has(sidesIn(own, join))));
    const kept = new Set<JoinTable>();
    for (const key of ['name', 'renamedFrom'] as const)
      for (const join of joinTables) {
        const found = formerJoin(join, left, key, formers);
        if (!found || kept.has(join)) continue;
        const { before, first, second } = found;
        left.delete(before);
        kept.add(join);
        const columnNow = (column: string): string => (column === join.left.column ? first.column : second.column);
        for (const { type } of [join.left, join.right])
          for (const { link } of type.relations.values())
            if (link.at === 'join' && link.table === join) {
              const [sourceColumn, targetColumn] = [columnNow(link.sourceColumn), columnNow(link.targetColumn)];
              revise(link, { sourceColumn, targetColumn });
            }
        revise(join, { name: before.table, first: first === before.left ? 'left' : 'right' });
        revise(join.left, { column: first.column });
        revise(join.right, { column: second.column });
      }
    for (const join of joinTables) if (!kept.has(join)) revise(join, { name: freeTable(join.name) });
  }

  for (const type of model.types.values()) mapType(type);
  mapJoins(model.joinTables);
  return revisions.size === 0 ? model : revised(model, revisions);
}

/** Pairs foreign keys with former keys that have the same target and share a relation on either side. */
function matchReferences({ references }: RecordType, before: readonly AppliedReference[], formers: Formers) {
  const left = new Set(before);
  const pairs = new Map<Reference, AppliedReference>();
  for (const side of ['belongsTo', 'has'] as const)
    for (const key of ['name', 'renamedFrom'] as const)
      for (const reference of references) {
        const relation = side === 'has' ? otherSide(reference) : reference.relation;
        const target = formers.get(reference.target.name);
        const found = [...left].find((old) => old[side] === relation?.[key] && old.target === target);
        if (found && !pairs.has(reference) && left.delete(found)) pairs.set(reference, found);
      }
  return pairs;
}

/** The former table of a join table, with the sides that were its left and its right. */
function formerJoin(join: JoinTable, left: Iterable<AppliedJoin>, key: 'name' | 'renamedFrom', formers: Formers) {
  const isSide = ({ type }: JoinTable['left'], side: AppliedJoin['left']): boolean =>
    formers.get(type.name) === side.type;
  const isRelation = ({ column }: JoinTable['left'], { relation }: AppliedJoin['left']): boolean =>
    relation !== null && relationAt(join, column)?.[key] === relation;
  return [...left]
    .flatMap((before) => [
      { before, first: before.left, second: before.right },
      { before, first: before.right, second: before.left },
    ])
    .filter(({ first, second }) => isSide(join.left, first) && isSide(join.right, second))
    .find(({ first, second }) => isRelation(join.left, first) || isRelation(join.right, second));
}

/**
 * What has no effect, since tables and columns keep their names: other names that descriptors choose, or defaults where they
 * once chose one. `before`: the chosen names that the database has.
 */
export function chosenNames({ types }: Model, mapped: Model, before: readonly string[] = []) {
  const chosen = new Set<string>();
  const unused = new Map<string, string>();
  const compare = (key: string, of: string, isChosen: boolean, wanted: string, has: string, table = ''): void => {
    const place = `${table}${has}`;
    if (before.includes(place) || (isChosen && wanted === has)) chosen.add(place);
    if (wanted === has || !(isChosen || chosen.has(place)) || unused.has(place)) return;
    unused.set(
      place,
      `${isChosen ? `"${key}: ${wanted}"` : `the default ${key} ${wanted}`} of ${of} (it stays ${has})`,
    );
  };
  for (const type of types.values()) {
    const now = mapped.types.get(type.name) ?? type;
    compare('table', type.name, type.choosesTable, type.table, now.table);
    for (const relation of type.relations.values()) {
      const { link, target } = now.relations.get(relation.name) ?? relation;
      const of = `${type.name}.${relation.name}`;
      if (link.at === 'join') compare('through', of, link.table.isChosen, link.table.exportName, link.table.name);
      else {
        const { exportName, column, isChosen } = link.reference;
        compare('column', of, isChosen, exportName, column, `${(link.at === 'source' ? now : target).table}.`);
      }
    }
  }
  return { chosen: [...chosen].toSorted(), unused: [...unused.values()] };
}

const tableOf = ({ types }: AppliedModel, name: string): string | undefined => types[name]?.table;

/** Adds a number to a name taken or wanted by another part. */
export function freeNames(
  taken: Iterable<string>,
  wanted: readonly string[] = [],
  numbered = (name: string, count: number): string => generatedName(name, String(count)),
): (name: string) => string {
  const [all, asked] = [new Set([...taken].map(nameKey)), new Set(wanted.map(nameKey))];
  return (name) => {
    let found = name;
    for (let count = 2; all.has(nameKey(found)) || (found !== name && asked.has(nameKey(found))); count += 1)
      found = numbered(name, count);
    all.add(nameKey(found));
    return found;
  };
}
