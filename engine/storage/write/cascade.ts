/**
 * What goes with the records that a write deletes. One walk finds the records that are deleted together with them, those
 * that lose a link, and those that prevent the deletion; limits, effects and statements are made from what it found.
 */
import type { JoinTable, RecordType, Reference } from '../../model/model.ts';
import { can, relationsFor, type Rights } from '../../model/rights.ts';
import { type Fault, MAX_ERRORS, Problem } from '../../problem.ts';
import { inTheWay } from './conflicts.ts';
import type { RecordSet, WriteSession } from './session.ts';
import { NAMED } from './tables.ts';

/** The link that makes records go with others. */
export interface Below {
  readonly column: string;
  readonly parents: ReadonlySet<number>;
}

/** Records of one type that are deleted together with those above them. */
export interface Level {
  readonly type: RecordType;
  readonly identifiers: readonly number[];
  /** Missing for the records that the deletion names. */
  readonly via?: Below;
}

/** Records of a type that lose the link in a column. */
export interface Unlinked {
  readonly type: RecordType;
  readonly identifiers: readonly number[];
  readonly reference: Reference;
  readonly via: Below;
}

/** Pairs of a join table that go with the records in one of its columns. */
export interface LostPairs {
  readonly table: JoinTable;
  readonly column: string;
  readonly pairs: readonly (readonly [left: number, right: number])[];
}

export interface Deletion {
  readonly type: RecordType;
  readonly identifiers: readonly number[];
  readonly pointer: string;
}

export interface Cascade extends Deletion {
  /** The records themselves first; each record once. */
  readonly levels: readonly Level[];
  readonly unlinked: readonly Unlinked[];
  readonly pairs: readonly LostPairs[];
  /** Names the records that prevent the deletion. */
  readonly faults: readonly Fault[];
  /** Whether records go together with others of the same type. */
  readonly nests: boolean;
  /** Rows that go or change besides the records themselves. */
  readonly rows: number;
  /** The relation that leads to one row too many; the walk ended there. */
  readonly exceeds: string | undefined;
}

/** State that the deletions of one write share: records that one deletes are gone when the next begins. */
export interface Walked {
  readonly gone: RecordSet;
  readonly cut: RecordSet;
  readonly pairs: Set<string>;
}

export const startWalk = (): Walked => ({ gone: new Map(), cut: new Map(), pairs: new Set() });

export const isIn = (set: RecordSet, { table }: RecordType, identifier: number): boolean =>
  set.get(table)?.has(identifier) === true;

/** Adds records, and returns those that are new: cycles end here. */
function added(set: RecordSet, { table }: RecordType, found: readonly number[]): readonly number[] {
  const known = set.get(table) ?? new Set<number>();
  set.set(table, known);
  const fresh = found.filter((identifier) => !known.has(identifier));
  for (const identifier of fresh) known.add(identifier);
  return fresh;
}

/** `most`: rows besides the records themselves. */
export async function walkCascade(
  session: WriteSession,
  { type, identifiers, pointer }: Deletion,
  most: number,
  { gone, cut, pairs: seen }: Walked = startWalk(),
): Promise<Cascade> {
  const { writer, tables } = session;
  const levels: (Level & { readonly through?: string })[] = [{ type, identifiers: added(gone, type, identifiers) }];
  const unlinked: Unlinked[] = [];
  const pairs: LostPairs[] = [];
  let rows = 0;
  let nests = false;
  const walked = (exceeds?: string, faults: readonly Fault[] = []): Cascade => ({
    type,
    identifiers,
    pointer,
    levels,
    unlinked,
    pairs,
    faults,
    nests,
    rows,
    exceeds,
  });
  for (const above of levels) {
    const all = JSON.stringify(above.identifiers);
    const parents = new Set(above.identifiers);
    for (const { type: child, reference } of above.type.referrers) {
      if (reference.onDelete === 'restrict') continue;
      const cascades = reference.onDelete === 'cascade';
      const via = { column: reference.column, parents };
      const through = above.through ?? throughOf(session.rights, type, reference) ?? nameOf(session.rights, child);
      const left = alreadyCut(session, child, reference);
      const [mine, other] = cascades ? [gone, cut] : [cut, gone];
      // Records that are counted already may be found again.
      const counted = left.size + (mine.get(child.table)?.size ?? 0) + (other.get(child.table)?.size ?? 0);
      const children = tables.of(child).someChildren(reference.column);
      const found = (await writer.column(children, [all, most - rows + 1 + counted]))
        .map(Number)
        .filter((identifier) => !left.has(identifier));
      const fresh = added(mine, child, found);
      rows += fresh.filter((identifier) => !isIn(other, child, identifier)).length;
      nests ||= cascades && found.length > 0 && levels.some((level) => level.type === child);
      if (!cascades && found.length > 0) unlinked.push({ type: child, reference, identifiers: found, via });
      if (rows > most) return walked(through);
      if (cascades && fresh.length > 0) levels.push({ type: child, identifiers: fresh, through, via });
    }
    for (const [table, column] of tables.joinsOf(above.type)) {
      // With both of its records, a pair is found twice.
      const found = await writer.all(tables.rows(table).pairs(column), [all, most - rows + 1 + seen.size]);
      const fresh = found
        .map(([left, right]) => [Number(left), Number(right)] as const)
        .filter((pair) => !seen.has(`${table.name} ${pair.join(' ')}`));
      for (const pair of fresh) seen.add(`${table.name} ${pair.join(' ')}`);
      rows += fresh.length;
      if (fresh.length > 0) pairs.push({ table, column, pairs: fresh });
      if (rows > most) return walked(above.through ?? joinName(session.rights, type, table) ?? 'links');
    }
  }
  return walked(undefined, await restricted(session, levels, gone, pointer));
}

/** Records whose link in this column the same write cuts before it deletes anything. */
function alreadyCut(
  { existing, released }: WriteSession,
  type: RecordType,
  { column, required }: Reference,
): Set<number> {
  const left = new Set<number>();
  for (const [identifier, { assigned, stored, table }] of existing.get(type) ?? []) {
    const value = assigned.get(column)?.value;
    const isMoved = value !== undefined && value !== stored?.[table.position.get(column) ?? -1];
    if (isMoved && (value === null || !required)) left.add(identifier);
  }
  for (const { relation, column: released_, identifiers } of released)
    if (!relation.owned && relation.target === type && released_ === column)
      for (const identifier of identifiers) left.add(identifier);
  return left;
}

async function restricted(
  session: WriteSession,
  levels: readonly Level[],
  gone: RecordSet,
  pointer: string,
): Promise<readonly Fault[]> {
  const { writer, tables, writeRows, rights } = session;
  const faults: Fault[] = [];
  for (const above of levels)
    for (const { type: child, reference } of above.type.referrers) {
      if (reference.onDelete !== 'restrict') continue;
      const left = alreadyCut(session, child, reference);
      const bound = [JSON.stringify(above.identifiers), writeRows];
      const found = (await writer.all(tables.of(child).referring(reference.column), bound))
        .map(([parent, identifier]) => [Number(parent), Number(identifier)] as const)
        .filter(([, identifier]) => !isIn(gone, child, identifier) && !left.has(identifier));
      for (const [parent, some] of Map.groupBy(found, ([one]) => one)) {
        if (faults.length >= MAX_ERRORS) return faults;
        const staying = some.map(([, identifier]) => identifier);
        const message = refers(rights, [child, staying], [above.type, parent]);
        faults.push({ pointer, code: 'restrict', message, ...inTheWay(rights, child, staying) });
      }
    }
  return faults;
}

const nameOf = (rights: Rights, type: RecordType): string => (can(rights, type, 'get') ? type.name : 'hidden record');

function refers(
  rights: Rights,
  [child, found]: readonly [RecordType, readonly number[]],
  [type, identifier]: readonly [RecordType, number],
): string {
  const named = (one: RecordType): string =>
    can(rights, one, 'get') ? one.name : 'A record that this token may not read, number';
  const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : '';
  return `${named(child)} ${found.slice(0, NAMED).join(', ')}${more} ${found.length > 1 ? 'refer' : 'refers'} to ${named(type)} ${identifier}`;
}

const throughOf = (rights: Rights, type: RecordType, reference: Reference): string | undefined =>
  [...relationsFor(rights, type).values()].find(({ link }) => link.at === 'target' && link.reference === reference)
    ?.name;

const joinName = (rights: Rights, type: RecordType, { name }: JoinTable): string | undefined =>
  [...relationsFor(rights, type).values()].find(({ link }) => link.at === 'join' && link.table.name === name)?.name;

export function tooManyRows(
  most: number,
  place: { readonly pointer: string } | { readonly relation: string } | { readonly parameter: string },
  what: string,
): Problem {
  const message =
    `${what} would delete, unlink or change more than ${most} rows in one step: do it in several, ` +
    `or let an operator remove a large tree with "records delete TYPE ID --chunked"`;
  return new Problem('too-many-rows', message, { errors: [{ ...place, code: 'too-many-rows', message }] });
}
