/** Says what a column is to hold, and notices where the body contradicts itself or changes what it may only link. */
import { memoized } from '../../memo.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import {
  idOf,
  type JoinPair,
  type LinkCheck,
  type Node,
  refuse,
  storedValue,
  touch,
  type WriteSession,
} from './session.ts';
import type { Link, RecordType, Reference, Relation } from '../../model/model.ts';
import { can } from '../../model/rights.ts';

interface Assignment {
  readonly column: string;
  readonly value: SqlValue | Node;
  readonly pointer: string;
  /** False where the record is only linked: then what is stored must be what the body says. */
  readonly writable: boolean;
  /** Whether the body says the same as is stored, however it is written. */
  readonly same?: boolean;
  readonly byOmission?: boolean;
  /** False inside a record that may only be linked and is not there: that it is missing is all there is to say. */
  readonly compared?: boolean;
}

export function assign(session: WriteSession, node: Node, assignment: Assignment): void {
  const { column, value, pointer, writable, same, byOmission = false, compared = true } = assignment;
  const known = node.assigned.get(column);
  if (!byOmission) {
    const said = known?.byOmission === false ? known.value : node.linked?.get(column);
    if (said === undefined && !writable) (node.linked ??= new Map()).set(column, value);
    if (said !== undefined && said !== value) (node.unusable ??= new Set()).add(column);
  }
  if (known && byOmission) return;
  if (known && !known.byOmission && known.value !== value) return contradiction(session, pointer, known.pointer);
  const isSame = node.stored ? (same ?? storedValue(node, column) === value) : !isCompared(node);
  if (!writable && compared && !isSame) session.checks.push({ subject: node, pointer, node, column, value });
  if (writable) node.assigned.set(column, known?.byOmission === false ? known : { value, pointer, byOmission });
}

/** Whether the body speaks of the column, also where it may only link. */
export const isSaid = ({ assigned, linked }: Node, column: string): boolean =>
  assigned.get(column)?.byOmission === false || linked?.has(column) === true;

export const isNode = (value: SqlValue | Node): value is Node => typeof value === 'object' && value !== null;

/** Of a record that is linked, its identifier: undefined until that is inserted. */
export const plain = (value: SqlValue | Node): SqlValue | undefined => (isNode(value) ? value.identifier : value);

/** Whether the body gives the column of a record that is there another value. */
export function isReplaced(node: Node, column: string): boolean {
  const assigned = node.assigned.get(column);
  return assigned !== undefined && plain(assigned.value) !== storedValue(node, column);
}

export function willHold(node: Node, column: string): SqlValue | Node {
  const known = node.assigned.get(column);
  if (known) return known.value;
  return (node.stored ? storedValue(node, column) : node.table.defaults.get(column)) ?? null;
}

/** Whether a record that may only be linked can be compared with the body: it is there, or another place makes it. */
export const isCompared = ({ stored, isOwnChild, identifier }: Node): boolean =>
  stored !== undefined || isOwnChild || identifier !== undefined;

/** Two places of one body that differ: found here only where the database had to say that they speak of one record. */
export function contradiction(session: WriteSession, pointer: string, other: string): void {
  const message = `${pointer} and ${other} give the same record different values; leave one out, or make them agree`;
  refuse(session, 'invalid-body', pointer, 'contradiction', message);
}

/** The most records that an answer names because they cannot be left out. */
const MAX_NAMED = 1000;

/** Refuses what differs where a record is only linked, and children that cannot be left out. */
export function checkLinks(session: WriteSession): void {
  for (const check of session.checks) if (!holds(session, check)) linkedOnly(session, check.subject, check.pointer);
  for (const { relation, column, identifiers, pointer, writable } of session.leftOut) {
    const { target, source } = relation;
    const leaves = leaving(session, target, column);
    for (const identifier of identifiers.filter((one) => !leaves(one)).slice(0, MAX_NAMED)) {
      if (!writable) linkedOnly(session, { type: target, identifier }, pointer);
      else {
        const message = `${target.name} ${identifier} cannot be left out: it must belong to a ${source.name}`;
        refuse(session, 'invalid-reference', pointer, 'required', message);
      }
    }
  }
}

function holds({ pairs }: WriteSession, check: LinkCheck): boolean {
  if ('pair' in check) return pairs.get(check.pair)?.isWanted === check.isWanted;
  if ('key' in check) return check.node.openKeys?.get(check.key)?.member?.text === check.text;
  return willHold(check.node, check.column) === check.value;
}

/** Whether another part of the body unlinks a child, or links it elsewhere. */
function leaving(session: WriteSession, target: RecordType, column: string): (identifier: number) => boolean {
  const released = new Set(
    session.released.flatMap((one) => (one.relation.target === target && one.column === column ? one.identifiers : [])),
  );
  return (identifier) => {
    const child = session.existing.get(target)?.get(identifier);
    const linked = child?.assigned.get(column)?.value;
    return (
      released.has(identifier) || (child !== undefined && linked !== undefined && linked !== storedValue(child, column))
    );
  };
}

function linkedOnly(
  session: WriteSession,
  { type, identifier }: Pick<Node, 'type' | 'identifier'>,
  pointer: string,
): void {
  const what = `${type.name} ${identifier ?? ''}`.trim();
  const how =
    type.operations.has('update') && can(session.rights, type, 'update')
      ? 'change it at its own path, or leave the key out'
      : 'leave the key out';
  refuse(session, 'link-conflict', pointer, 'link-only', `${what} is only linked here and differs from this: ${how}`);
}

// The rows of join tables that a write wants, and those that it wants gone. What one part of a body wants, no other lets go.

type JoinRelation = Relation & { readonly link: Extract<Link, { at: 'join' }> };

export async function pairedWith(
  session: WriteSession,
  node: Node,
  { link }: JoinRelation,
  most: number,
): Promise<readonly number[]> {
  if (!node.stored || node.identifier === undefined) return [];
  const { others } = session.tables.rows(link.table);
  return (await session.writer.column(others(link.sourceColumn), [node.identifier, most])) as readonly number[];
}

export const pairKey = (session: WriteSession, relation: JoinRelation, node: Node, other: number | Node): string =>
  keyOf(session, sidesOf(relation, idOf(node), other));

/** `isStored`: a row that is there and stays is noted too, so that the other side cannot remove it. */
export function notePair(
  session: WriteSession,
  relation: JoinRelation,
  node: Node,
  other: number | Node,
  pair: Pick<JoinPair, 'pointer' | 'isStored' | 'isWanted'>,
): void {
  const sides = sidesOf(relation, idOf(node), other);
  const key = keyOf(session, sides);
  const known = session.pairs.get(key);
  if (!known?.isWanted && (pair.isWanted || !known)) session.pairs.set(key, { ...sides, ...pair });
}

type Sides = Pick<JoinPair, 'table' | 'left' | 'right'>;

function sidesOf({ link: { table, sourceColumn } }: JoinRelation, source: number | Node, target: number | Node): Sides {
  const [left, right] = table.left.column === sourceColumn ? [source, target] : [target, source];
  return { table, left, right };
}

function keyOf(session: WriteSession, { table, left, right }: Sides): string {
  const name = (side: number | Node): string =>
    typeof side === 'number' ? String(side) : `new ${session.made.indexOf(side)}`;
  return `${table.name} ${name(left)} ${name(right)}`;
}

// Who owns whom, as it is stored and as the body will have it.

/**
 * Whether `node` is `owner`, or is owned by it, however far above. No other write can change that before this one ends: two
 * at once could make a circle that neither of them sees.
 */
export async function isOwnedBy(session: WriteSession, node: Node, owner: Node): Promise<boolean> {
  if (!typesAbove(node.type).has(owner.type)) return false;
  const { lockOwnership } = session.tables;
  if (lockOwnership) await session.writer.value(lockOwnership, []);
  const above = [node];
  const seen = new Set<Node>();
  for (const current of above) {
    if (current === owner) return true;
    if (seen.has(current)) continue;
    seen.add(current);
    for (const reference of ownedBy(current.type))
      for (const one of await ownerOf(session, current, reference)) above.push(one);
  }
  return false;
}

/** The types that may own records of this one, however far above, and the type itself. */
const typesAbove = memoized((type: RecordType): ReadonlySet<RecordType> => {
  const types = new Set([type]);
  for (const one of types) for (const { target } of ownedBy(one)) types.add(target);
  return types;
});

/** The references of a type whose targets own its records. */
const ownedBy = ({ references }: RecordType): readonly Reference[] =>
  references.filter((reference) =>
    [...reference.target.relations.values()].some(
      ({ owned, link }) => owned && link.at === 'target' && link.reference === reference,
    ),
  );

async function ownerOf(session: WriteSession, node: Node, { column, target }: Reference): Promise<readonly Node[]> {
  const value = node.assigned.get(column)?.value ?? storedValue(node, column) ?? null;
  if (typeof value === 'object') return value === null ? [] : [value];
  const owner = await touch(session, target, Number(value), node.pointer);
  return owner ? [owner] : [];
}
