/** Finds the records that conflict with a write. The database only says that a constraint broke. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep } from '../../json.ts';
import type { Field, Index, RecordType, Relation } from '../../model/model.ts';
import { faultyRequest, type Fault, Problem } from '../../problem.ts';
import { columnOf, heldOperand } from '../columns.ts';
import { type Node, type WriteSession, storedValue } from './session.ts';
import { NAMED } from './tables.ts';

type UniqueIndex = Pick<Index, 'name' | 'members'>;

/** The unique indexes of a table: those of the descriptor, and the columns of hasOne relations. */
export function uniqueIndexes(type: RecordType): readonly UniqueIndex[] {
  const hasOnes = type.references.flatMap(({ unique, relation }) =>
    unique && relation ? [{ name: relation.name, members: [relation] }] : [],
  );
  return [...type.indexes.filter(({ unique }) => unique), ...hasOnes];
}

export async function uniqueConflict(session: WriteSession, node: Node): Promise<Problem> {
  const { type, identifier } = node;
  if (!node.stored && identifier !== undefined && (await session.writer.get(node.table.load, [identifier]))) {
    const message = `${type.recordName} ${identifier} already exists; choose another identifier, or leave it out`;
    const pointer = `${node.pointer}/${escapeStep(type.identifier.name)}`;
    return faultyRequest('identifier-conflict', [{ pointer, code: 'taken', message }]);
  }
  const faults: Fault[] = [];
  for (const index of uniqueIndexes(type)) {
    const values = index.members.map((member) => operand(session, node, member));
    if (values.includes(null)) continue;
    const holder = await session.writer.value(node.table.holder(index), [...values, identifier ?? 0]);
    if (holder !== undefined) faults.push(...heldBy(session, node, index, holder));
  }
  return faults.length > 0
    ? faultyRequest('unique-conflict', faults)
    : new Problem('unique-conflict', `Another record has a value that must be unique in ${type.name}`);
}

function heldBy({ made: all }: WriteSession, node: Node, { members }: UniqueIndex, holder: SqlValue): readonly Fault[] {
  const seen = members.filter(isSeen);
  const names = seen.map(({ name }) => `"${name}"`).join(' and ');
  const rest = seen.length < members.length ? ', together with what this token may not read' : '';
  // The identifier of a record that this write creates means nothing to the client.
  const made = all.find(({ type, identifier }) => type === node.type && identifier === holder);
  return seen.map((member) => {
    const who = made ? `"${pointerTo(made, member)}" in the same body` : `${node.type.recordName} ${holder}`;
    return {
      pointer: pointerTo(node, member),
      code: 'unique',
      message: `${who} has this value of ${names} already${rest}`,
    };
  });
}

/** Of a relation that a token may not know, not even the name is said: there is none in its type. */
const isSeen = (member: Field | Relation): boolean => !('link' in member) || member.source.relations.has(member.name);

const pointerTo = ({ assigned, pointer }: Node, member: Field | Relation): string =>
  assigned.get(columnOf(member))?.pointer ?? `${pointer}/${escapeStep(member.name)}`;

/** What the row will hold in an index's member, as it is compared. */
function operand({ dialect }: WriteSession, node: Node, member: Field | Relation): SqlValue {
  const column = columnOf(member);
  const assigned = node.assigned.get(column)?.value;
  const kept = storedValue(node, column) ?? node.table.columns.find(({ name }) => name === column)?.default ?? null;
  const value = assigned === undefined ? kept : assigned;
  if (typeof value === 'object') return value?.identifier ?? null;
  if ('link' in member) return value;
  return heldOperand(member, dialect, value);
}

/** Names the records that prevent a deletion: they refer to the record, or to one that would be deleted with it. */
export async function restrictConflict(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  pointer: string,
): Promise<Problem> {
  const faults = await referrersOf(session, type, identifiers, pointer, new Set());
  if (faults.length > 0) return faultyRequest('restrict-conflict', faults);
  const known = `${type.recordName} ${identifiers.slice(0, NAMED).join(', ')}`;
  return new Problem('restrict-conflict', `Records of a type that only newer descriptors name refer to ${known}`);
}

async function referrersOf(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  pointer: string,
  seen: Set<string>,
): Promise<readonly Fault[]> {
  const faults: Fault[] = [];
  for (const { type: child, reference } of type.referrers) {
    for (const identifier of identifiers) {
      const key = `${child.table} ${reference.column} ${identifier}`;
      if (reference.onDelete === 'setNull' || seen.has(key)) continue;
      seen.add(key);
      const statement = session.tables.of(child).children(reference.column);
      const found = (await session.writer.column(statement, [identifier, session.writeRows])) as readonly number[];
      if (found.length === 0) continue;
      if (reference.onDelete === 'cascade') faults.push(...(await referrersOf(session, child, found, pointer, seen)));
      else faults.push({ pointer, code: 'restrict', message: refers(child, found, type, identifier) });
    }
  }
  return faults;
}

function refers(child: RecordType, found: readonly number[], type: RecordType, identifier: number): string {
  const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : '';
  return `${child.recordName} ${found.slice(0, NAMED).join(', ')}${more} ${found.length > 1 ? 'refer' : 'refers'} to ${type.recordName} ${identifier}`;
}
