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
  if (known && !known.byOmission && resolved(known.value) !== resolved(value))
    return contradiction(session, pointer, known.pointer);
  if (!writable && node.stored && !(same ?? stored === resolved(value))) return linkedOnly(session, node, pointer);
  if (writable) node.assigned.set(column, known?.byOmission === false ? known : { value, pointer, byOmission });
}

/** A node that has its identifier already is that identifier. */
const resolved = (value: SqlValue | Node): SqlValue | Node =>
  typeof value === 'object' && value !== null ? (value.identifier ?? value) : value;

export function contradiction(session: Session, pointer: string, other: string): void {
  const message = (here: string, there: string): string => `${here} and ${there} give one record two values`;
  refuse(session, 'invalid-body', other, 'contradiction', message(other, pointer));
  refuse(session, 'invalid-body', pointer, 'contradiction', message(pointer, other));
}

export function linkedOnly(session: Session, node: Node, pointer: string): void {
  const { type, identifier } = node;
  const what = `${type.name} ${identifier ?? ''}`.trim();
  const how = type.operations.has('update') ? 'change it at its own path, or leave the key out' : 'leave the key out';
  refuse(session, 'link-conflict', pointer, 'link-only', `${what} is only linked here and differs from this: ${how}`);
}
