/** The rows of join tables that a write wants, and those that it wants gone. What one part of a body wants, no other lets go. */
import type { Link, Relation } from '../../model/model.ts';
import { idOf, type Node, type Pair, type Session } from './session.ts';

type JoinRelation = Relation & { readonly link: Extract<Link, { at: 'join' }> };

export async function pairedWith(
  session: Session,
  node: Node,
  { link }: JoinRelation,
  most: number,
): Promise<readonly number[]> {
  if (!node.stored || node.identifier === undefined) return [];
  const { others } = session.tables.rows(link.table);
  return (await session.writer.column(others(link.sourceColumn), [node.identifier, most])) as readonly number[];
}

export const pairKey = (session: Session, relation: JoinRelation, node: Node, other: Node): string =>
  keyOf(session, between(relation, idOf(node), idOf(other), ''));

/** Whether some part of the body wants the row gone, and none wants it. */
export function isUnpaired(session: Session, relation: JoinRelation, node: Node, other: number): boolean {
  const key = keyOf(session, between(relation, idOf(node), other, ''));
  return session.unpaired.has(key) && !session.kept.has(key);
}

/** A row that is there already is noted too, so that the other side cannot let it go. */
export function pair(
  session: Session,
  relation: JoinRelation,
  node: Node,
  other: Node,
  pointer: string,
  isNew: boolean,
): void {
  const wanted = between(relation, idOf(node), idOf(other), pointer);
  const key = keyOf(session, wanted);
  if (isNew && !session.paired.has(key)) session.paired.set(key, wanted);
  if (!isNew) session.kept.add(key);
}

export function unpair(session: Session, relation: JoinRelation, node: Node, other: number, pointer: string): void {
  const unwanted = between(relation, idOf(node), other, pointer);
  session.unpaired.set(keyOf(session, unwanted), unwanted);
}

function between({ link }: JoinRelation, source: number | Node, target: number | Node, pointer: string): Pair {
  const forward = link.table.left.column === link.sourceColumn;
  const [left, right] = forward ? [source, target] : [target, source];
  return { table: link.table, left, right, pointer };
}

function keyOf(session: Session, { table, left, right }: Pair): string {
  const name = (side: number | Node): string =>
    typeof side === 'number' ? String(side) : `new ${session.made.indexOf(side)}`;
  return `${table.name} ${name(left)} ${name(right)}`;
}
