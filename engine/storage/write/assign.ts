/** Says what a column is to hold, and notices where the body contradicts itself or changes what it may only link. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { type Node, refuse, type Session, storedValue } from './session.ts';

export interface Assignment {
  readonly column: string;
  readonly value: SqlValue | Node;
  readonly pointer: string;
  /** False where the record is only linked: then what is stored must be what the body says. */
  readonly writable: boolean;
  /** Whether the body says the same as is stored, however it is written. */
  readonly same?: boolean;
  readonly byOmission?: boolean;
}

export function assign(session: Session, node: Node, assignment: Assignment): void {
  const { column, value, pointer, writable, same, byOmission = false } = assignment;
  const stored = storedValue(node, column);
  const known = node.assigned.get(column);
  if (known && byOmission) return;
  if (known && !known.byOmission && known.value !== value) return contradiction(session, pointer, known.pointer);
  const holds = node.stored ? (same ?? stored === value) : !node.isOwnChild;
  if (!writable && !holds) linkedAs(session, node, pointer, () => willHold(node, column) === value);
  if (writable) node.assigned.set(column, known?.byOmission === false ? known : { value, pointer, byOmission });
}

function willHold(node: Node, column: string): SqlValue | Node | undefined {
  const known = node.assigned.get(column);
  return known ? known.value : (storedValue(node, column) ?? node.table.defaults.get(column) ?? null);
}

/** Two places of one body that differ: found here only where the database had to say that they speak of one record. */
export function contradiction(session: Session, pointer: string, other: string): void {
  const message = (here: string, there: string): string =>
    `${here} and ${there} give one record two values: leave one of them out, or make them agree`;
  refuse(session, 'invalid-body', other, 'contradiction', message(other, pointer));
  refuse(session, 'invalid-body', pointer, 'contradiction', message(pointer, other));
}

/** A record that is only linked must be as the body says: it is already, or another part of the body makes it so. */
export function linkedAs(
  session: Session,
  node: Pick<Node, 'type' | 'identifier'>,
  pointer: string,
  isMadeSo: () => boolean,
): void {
  session.checks.push(() => {
    if (!isMadeSo()) linkedOnly(session, node, pointer);
  });
}

export function linkedOnly(
  session: Session,
  { type, identifier }: Pick<Node, 'type' | 'identifier'>,
  pointer: string,
): void {
  const what = `${type.name} ${identifier ?? ''}`.trim();
  const how = type.operations.has('update') ? 'change it at its own path, or leave the key out' : 'leave the key out';
  refuse(session, 'link-conflict', pointer, 'link-only', `${what} is only linked here and differs from this: ${how}`);
}
