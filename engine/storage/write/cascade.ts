/** Deletion: before any write, one walk finds the records to delete and the records to unlink. */
import type { Identifier } from '../../model/identifier.ts';
import type { JoinTable, RecordType, Reference } from '../../model/model.ts';
import { firstOf } from '../../names.ts';
import { can, namesRecords, relationsFor, type Rights, showsLink } from '../../model/rights.ts';
import { type Fault, type FaultPlace, faultyRequest, MAX_ERRORS, type Problem } from '../../problem.ts';
import { recordNames } from './conflicts.ts';
import { added, isIn, type RecordSet, seenAmong, storedValue, type WriteSession } from './session.ts';
import { MAX_LISTED } from './tables.ts';

export interface Below {
  readonly column: string;
  readonly parents: ReadonlySet<Identifier>;
}

export interface Rows {
  readonly type: RecordType;
  readonly identifiers: readonly Identifier[];
}

interface Level extends Rows {
  /** Of the deletion that leads to it. */
  readonly pointer: string;
  /** Whether its records, or the links that lead to them, include what the token may not read: no response names them. */
  readonly isHidden: boolean;
  readonly via?: Below;
  readonly through?: string;
}

export interface Unlinked extends Rows {
  readonly reference: Reference;
  readonly isHidden: boolean;
}

export interface Deletion extends Rows {
  readonly pointer: string;
}

export interface Cascade {
  /** Of each deletion first the records that it names, then level by level those that cascade from above. */
  readonly levels: Level[];
  readonly unlinked: (Unlinked & { readonly via: Below })[];
  /** Join table rows that are deleted with the records in `column`. */
  readonly pairs: {
    readonly table: JoinTable;
    readonly column: string;
    readonly pairs: readonly (readonly [left: Identifier, right: Identifier])[];
    readonly isHidden: boolean;
  }[];
  rows: number;
  /** `rows` without what is hidden. */
  affected: number;
}

const HIDDEN = 'Records that you may not read';

export type Refusal = (deletion: Deletion, through: string, affected: number) => Problem;

/** `most`: the maximum of rows. `mostAffected`: of rows that are not hidden. */
export async function walkCascade(
  session: WriteSession,
  deletions: readonly Deletion[],
  most: number,
  refusal: Refusal,
  mostAffected = most,
): Promise<Cascade> {
  const { writer, tables, rights, cascaded } = session;
  const cascade: Cascade = { levels: [], unlinked: [], pairs: [], rows: 0, affected: 0 };
  const cut: RecordSet = new Map();
  const seen = new Set<string>();
  const left = (known: number): number => most - cascade.rows + 1 + known;
  for (const deletion of deletions) {
    const { type, identifiers, pointer } = deletion;
    const count = (rows: number, through: string, isHidden: boolean): void => {
      cascade.rows += rows;
      if (!isHidden) cascade.affected += rows;
      if (cascade.rows > most || cascade.affected > mostAffected)
        throw refusal(deletion, isHidden ? HIDDEN : through, cascade.affected);
    };
    count(identifiers.length, '', false);
    const levels: Level[] = [{ type, identifiers: added(cascaded, type, identifiers), pointer, isHidden: false }];
    // Both lists grow while they are walked. Hidden paths are walked last: what a visible path leads to as well is not hidden.
    const hidden: Level[] = [];
    for (const list of [levels, hidden])
      for (const above of list) {
        const all = JSON.stringify(above.identifiers);
        for (const { type: child, reference } of above.type.referrers) {
          if (reference.onDelete === 'restrict') continue;
          const cascades = reference.onDelete === 'cascade';
          const via = { column: reference.column, parents: new Set(above.identifiers) };
          const through = above.through ?? nameOfLink(rights, type, reference) ?? child.name;
          const already = alreadyCut(session, child, reference);
          const [mine, other] = cascades ? [cascaded, cut] : [cut, cascaded];
          // The query may return records that are already counted, so its limit includes them.
          const counted = already.size + (mine.get(child.table)?.size ?? 0) + (other.get(child.table)?.size ?? 0);
          const { children } = tables.of(child).linksIn(reference.column);
          const found = ((await writer.column(children, [all, left(counted)])) as readonly Identifier[]).filter(
            (identifier) => !already.has(identifier),
          );
          for (const { some, isUnseen } of await bySight(session, child, found)) {
            const isHidden = above.isHidden || isUnseen || !showsLink(rights, child, reference);
            const fresh = added(mine, child, [...some]);
            count(fresh.filter((identifier) => !isIn(other, child, identifier)).length, through, isHidden);
            if (!cascades && some.size > 0)
              cascade.unlinked.push({ type: child, reference, identifiers: [...some], via, isHidden });
            if (cascades && fresh.length > 0)
              (isHidden ? hidden : levels).push({ type: child, identifiers: fresh, pointer, isHidden, through, via });
          }
        }
        for (const [table, column] of tables.joinsOf(above.type)) {
          // Deleting both records of a pair finds it twice.
          const found = await writer.all(tables.rows(table).pairs(column), [all, left(seen.size)]);
          const fresh = (found as readonly (readonly [Identifier, Identifier])[]).filter(
            (pair) => !seen.has(`${table.name} ${pair.join(' ')}`),
          );
          for (const pair of fresh) seen.add(`${table.name} ${pair.join(' ')}`);
          const isShown = [table.left, table.right].some((side) => nameOfLink(rights, side.type, table));
          const isLeft = column === table.left.column;
          const others = fresh.map(([one, two]) => (isLeft ? two : one));
          for (const { some, isUnseen } of await bySight(session, (isLeft ? table.right : table.left).type, others)) {
            const isHidden = above.isHidden || isUnseen || !isShown;
            const lost = fresh.filter(([one, two]) => some.has(isLeft ? two : one));
            if (lost.length > 0) cascade.pairs.push({ table, column, pairs: lost, isHidden });
            count(lost.length, above.through ?? nameOfLink(rights, type, table) ?? 'links', isHidden);
          }
        }
      }
    levels.push(...hidden);
    for (const level of levels) cascade.levels.push(level);
    await refuseRestricted(session, levels, pointer);
  }
  return cascade;
}

/** Records that the client sees, then the others. */
async function bySight(session: WriteSession, type: RecordType, found: readonly Identifier[]) {
  const all = new Set(found);
  if (session.rights.tables === undefined) return [{ some: all, isUnseen: !can(session.rights, type, 'get') }];
  const seen = new Set(await seenAmong(session, type, found));
  return [
    { some: seen, isUnseen: false },
    { some: new Set(found.filter((identifier) => !seen.has(identifier))), isUnseen: true },
  ];
}

/** Records that stay because the write unlinks them before it deletes. */
function alreadyCut({ existing, released }: WriteSession, type: RecordType, reference: Reference) {
  const { column, required } = reference;
  const left = new Set<Identifier>();
  for (const [identifier, node] of existing.get(type) ?? []) {
    const value = node.assigned.get(column)?.value;
    if (value !== undefined && value !== storedValue(node, column) && (value === null || !required))
      left.add(identifier);
  }
  for (const one of released)
    if (!one.relation.owned && one.reference === reference)
      for (const identifier of one.identifiers) left.add(identifier);
  return left;
}

async function refuseRestricted(session: WriteSession, levels: readonly Level[], pointer: string): Promise<void> {
  const { writer, tables, writeRows, rights, cascaded } = session;
  const faults: Fault[] = [];
  const hidden = new Set<string>();
  for (const above of levels)
    for (const { type: child, reference } of above.type.referrers) {
      if (reference.onDelete !== 'restrict') continue;
      const left = alreadyCut(session, child, reference);
      const bound = [JSON.stringify(above.identifiers), writeRows];
      const rows = await writer.all(tables.of(child).linksIn(reference.column).referring, bound);
      const found = (rows as readonly (readonly [parent: Identifier, child: Identifier])[]).filter(
        ([, identifier]) => !isIn(cascaded, child, identifier) && !left.has(identifier),
      );
      if (found.length === 0) continue;
      if (above.isHidden || !can(rights, child, 'get')) hidden.add(HIDDEN);
      else if (!namesRecords(rights, child) || !showsLink(rights, child, reference))
        hidden.add(`Records of ${child.name}`);
      else
        for (const [parent, some] of Map.groupBy(found, ([one]) => one)) {
          const staying = some.map(([, identifier]) => identifier);
          const refer = staying.length > 1 ? 'refer' : 'refers';
          const message = `${child.name} ${firstOf(staying, MAX_LISTED)} ${refer} to ${above.type.name} ${parent}`;
          faults.push({ pointer, code: 'restrict', message, ...recordNames(rights, child, staying) });
        }
    }
  for (const who of hidden)
    faults.push({ pointer, code: 'restrict', message: `${who} refer to what would be deleted` });
  if (faults.length > 0) throw faultyRequest('restrict-conflict', faults.slice(0, MAX_ERRORS));
}

const nameOfLink = (rights: Rights, type: RecordType, from: Reference | JoinTable): string | undefined =>
  [...relationsFor(rights, type).values()].find(({ link }) =>
    link.at === 'target'
      ? link.reference === from
      : link.at === 'join' && 'name' in from && link.table.name === from.name,
  )?.name;

export function tooManyRows(most: number, source: FaultPlace, what: string): Problem {
  const message =
    `${what} would delete, unlink or change more than ${most} rows in one step: do it in several, ` +
    `or let an operator remove a large tree with "records delete TYPE ID --chunked"`;
  return faultyRequest('too-many-rows', [{ ...source, code: 'too-many-rows', message }]);
}

export const TOO_DEEP =
  'More records are deleted within each other than one step can delete: let an operator remove them with "records delete TYPE ID --chunked"';
