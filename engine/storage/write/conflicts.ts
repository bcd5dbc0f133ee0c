/** Finds the records that conflict with a write. The database only says that a constraint broke. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep } from '../../json.ts';
import {
  type Field,
  type RecordType,
  type Reference,
  type Relation,
  uniqueIndexes,
  type UniqueMembers,
} from '../../model/model.ts';
import { faultyRequest, type Fault, MAX_ERRORS, Problem, type RecordName } from '../../problem.ts';
import { columnOf, heldOperand } from '../columns.ts';
import { type Node, type WriteSession, storedValue } from './session.ts';
import { NAMED } from './tables.ts';

export async function uniqueConflict(session: WriteSession, node: Node): Promise<Problem> {
  const { type, identifier } = node;
  if (!node.stored && identifier !== undefined && (await session.writer.get(node.table.load, [identifier]))) {
    const message = `${type.recordName} ${identifier} already exists; choose another identifier, or leave it out`;
    const pointer = `${node.pointer}/${escapeStep(type.identifier.name)}`;
    return faultyRequest('identifier-conflict', [{ pointer, code: 'taken', message, ...inTheWay(type, [identifier]) }]);
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

function heldBy(
  { made: all }: WriteSession,
  node: Node,
  { members }: UniqueMembers,
  holder: SqlValue,
): readonly Fault[] {
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
      ...inTheWay(node.type, made ? [] : [Number(holder)]),
    };
  });
}

function inTheWay(
  { name, recordName }: RecordType,
  identifiers: readonly number[],
): { readonly records?: readonly RecordName[] } {
  // A type that the token may not read has another name in messages than its own.
  if (name !== recordName || identifiers.length === 0) return {};
  return { records: identifiers.slice(0, NAMED).map((identifier) => ({ type: name, identifier })) };
}

/** Of a relation that a token may not know, not even the name is said: there is none in its type. */
const isSeen = (member: Field | Relation): boolean => !('link' in member) || member.source.relations.has(member.name);

const pointerTo = ({ assigned, pointer }: Node, member: Field | Relation): string =>
  assigned.get(columnOf(member))?.pointer ?? `${pointer}/${escapeStep(member.name)}`;

/** What the row will hold in an index's member, as it is compared. */
function operand({ dialect }: WriteSession, node: Node, member: Field | Relation): SqlValue {
  const column = columnOf(member);
  const assigned = node.assigned.get(column)?.value;
  const unsaid = node.table.columns.find(({ name }) => name === column)?.default;
  const kept = (node.stored ? storedValue(node, column) : unsaid) ?? null;
  const value = assigned === undefined ? kept : assigned;
  if (typeof value === 'object') return value?.identifier ?? null;
  if ('link' in member) return value;
  return heldOperand(member, dialect, value);
}

/** Records that a deletion takes along, by type: they do not prevent it. */
export type Going = ReadonlyMap<RecordType, ReadonlySet<number>>;

/** Names the records that prevent a deletion: they refer to the record, or to one that would be deleted with it. */
export async function restrictConflict(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  { pointer, going }: Pick<Search, 'pointer' | 'going'>,
): Promise<Problem> {
  const faults = await referrersOf(session, type, identifiers, { pointer, going, seen: new Set() });
  if (faults.length > 0) return faultyRequest('restrict-conflict', faults);
  const known = `${type.recordName} ${identifiers.slice(0, NAMED).join(', ')}`;
  return new Problem('restrict-conflict', `Records of a type that only newer descriptors name refer to ${known}`);
}

interface Search {
  readonly pointer: string;
  readonly going: Going;
  readonly seen: Set<string>;
}

async function referrersOf(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  search: Search,
): Promise<readonly Fault[]> {
  const { writer, tables, writeRows } = session;
  const { pointer, going, seen } = search;
  const faults: Fault[] = [];
  for (const { type: child, reference } of type.referrers) {
    const { column, onDelete } = reference;
    const keyOf = (identifier: number): string => `${child.table} ${column} ${identifier}`;
    const fresh = identifiers.filter((identifier) => !seen.has(keyOf(identifier)));
    for (const identifier of fresh) seen.add(keyOf(identifier));
    if (onDelete === 'setNull' || fresh.length === 0) continue;
    if (onDelete === 'cascade') {
      const found = await writer.column(tables.of(child).someChildren(column), [JSON.stringify(fresh), writeRows]);
      const children = found.map(Number).toSorted((one, other) => one - other);
      faults.push(...(await referrersOf(session, child, children, search)));
      continue;
    }
    for (const identifier of await referredAmong(session, child, reference, fresh)) {
      if (faults.length >= MAX_ERRORS) return faults;
      const found = (await writer.column(tables.of(child).children(column), [identifier, writeRows])).map(Number);
      const staying = found.filter((one) => !going.get(child)?.has(one));
      if (staying.length === 0) continue;
      const message = refers(child, staying, type, identifier);
      faults.push({ pointer, code: 'restrict', message, ...inTheWay(child, staying) });
    }
  }
  return faults;
}

/** Of many, only those are looked at that are referred to. */
async function referredAmong(
  { tables, writer, writeRows }: WriteSession,
  child: RecordType,
  { column }: Reference,
  identifiers: readonly number[],
): Promise<readonly number[]> {
  if (identifiers.length <= NAMED) return identifiers;
  const found = await writer.column(tables.of(child).parents(column), [JSON.stringify(identifiers), writeRows]);
  return found.map(Number);
}

function refers(child: RecordType, found: readonly number[], type: RecordType, identifier: number): string {
  const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : '';
  return `${child.recordName} ${found.slice(0, NAMED).join(', ')}${more} ${found.length > 1 ? 'refer' : 'refers'} to ${type.recordName} ${identifier}`;
}
