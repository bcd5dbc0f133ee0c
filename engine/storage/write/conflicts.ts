/** Finds the records that conflict with a write. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, isObject, type JsonObject } from '../../json/json.ts';
import type { Identifier } from '../../model/identifier.ts';
import {
  type Field,
  identifierIn,
  placeIn,
  type RecordType,
  type Relation,
  uniqueIndexes,
  type UniqueMembers,
} from '../../model/model.ts';
import { canFollow, knownMembers, namesRecords, type Rights, seesMember } from '../../model/rights.ts';
import { faultyRequest, type Fault, MAX_ERRORS, type RecordName } from '../../problem.ts';
import { columnOf, encode, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Values, Writer } from '../driver.ts';
import { isNode, isReplaced, keptNodes, type Node, throwInOrder, finalValue, type WriteSession } from './session.ts';
import { MAX_LISTED, type WriteTable } from './tables.ts';

/** Refuses records of the body that would end up with identifiers or unique values of other records. */
export async function refuseConflicts(session: WriteSession): Promise<void> {
  const taken = await takenIdentifiers(session);
  if (taken.length > 0) throw faultyRequest('identifier-conflict', taken);
  const faults: Fault[] = [];
  for (const [one, nodes] of Map.groupBy([...keptNodes(session), ...session.created], (node) => node.type)) {
    const conflicts: Conflict[] = [];
    for (const index of uniqueIndexes(one)) conflicts.push(...(await conflictsIn(session, index, nodes)));
    for (const ofNode of Map.groupBy(conflicts, ({ node }) => node).values())
      for (const conflict of ofNode)
        if (!ofNode.some((other) => implies(other, conflict))) faults.push(...faultsOf(session, conflict));
  }
  throwInOrder(session, 'unique-conflict', faults);
}

async function takenIdentifiers(session: WriteSession): Promise<readonly Fault[]> {
  const { created, cascaded, writer, rights, restores } = session;
  const faults: Fault[] = [];
  for (const node of created) {
    const { type, identifier, pointer, table } = node;
    if (identifier === undefined || cascaded.get(type.table)?.has(identifier)) continue;
    if (!(await writer.get(table.load, [identifier]))) continue;
    const other = type.identifier.by === 'service' ? ', or leave it out' : '';
    const cure = restores ? 'delete it first' : `choose another identifier${other}`;
    const message = `${type.name} ${identifier} already exists; ${cure}`;
    const at = `${pointer}/${escapeStep(type.identifier.name)}`;
    faults.push({ pointer: at, code: 'taken', message, ...recordNames(rights, type, [identifier]) });
    if (faults.length === MAX_ERRORS) break;
  }
  return faults;
}

/** A node whose values of a unique index another record has. */
interface Conflict {
  readonly node: Node;
  readonly members: UniqueMembers['members'];
  /** Another record of the body, or the identifier of a stored record outside it. */
  readonly holder: Node | Identifier;
}

/** Whether a subset of the members already conflicts with the same record. */
const implies = (one: Conflict, other: Conflict): boolean =>
  one.holder === other.holder &&
  one.members.length < other.members.length &&
  one.members.every((member) => other.members.includes(member));

/** Finds records that would repeat values of a stored record, and all but the first with equal new values. */
async function conflictsIn(session: WriteSession, index: UniqueMembers, nodes: readonly Node[]) {
  const { members } = index;
  const keptFirst = nodes.toSorted((a, b) => Number(changes(a, members)) - Number(changes(b, members)));
  const valued = keptFirst
    .map((node) => ({ node, values: members.map((member) => operand(session, node, member)) }))
    .filter(({ values }) => !values.includes(null));
  const keyOf = (value: SqlValue | Node): unknown => (isNode(value) ? [value.pointer] : value);
  const groups = [...Map.groupBy(valued, ({ values }) => JSON.stringify(values.map(keyOf))).values()];
  const [first] = nodes;
  if (!first) return [];
  const found = await Promise.all(
    groups.map(([{ values } = { values: [] }]) => {
      const stored = values.flatMap((value) => (isNode(value) ? [] : [value]));
      // No stored record is linked with a new one.
      return stored.length < values.length ? undefined : findHolder(session.writer, first.table, index, stored);
    }),
  );
  const isFree = (holder: Identifier): boolean =>
    session.existing.get(first.type)?.has(holder) === true ||
    session.cascaded.get(first.type.table)?.has(holder) === true ||
    session.released.some(
      ({ relation, reference: { column }, identifiers }) =>
        relation.target === first.type &&
        members.some((member) => columnOf(member) === column) &&
        identifiers.includes(holder),
    );
  return groups.flatMap((equal, position): Conflict[] => {
    const stored = found[position];
    if (stored !== undefined && !isFree(stored)) return equal.map(({ node }) => ({ node, members, holder: stored }));
    const [owner, ...others] = equal;
    return owner ? others.map(({ node }) => ({ node, members, holder: owner.node })) : [];
  });
}

const changes = (node: Node, members: UniqueMembers['members']): boolean =>
  !node.stored || members.some((member) => isReplaced(node, columnOf(member)));

export const findHolder = async (writer: Writer, table: WriteTable, { name, members }: UniqueMembers, key: Values) =>
  (key.includes(null) ? undefined : await writer.value(table.holder(name, members), key)) as Identifier | undefined;

/** The unique values of a body, as an index holds them. A record to be created counts as null: nothing links it yet. */
export const keyIn = ({ members }: UniqueMembers, body: JsonObject, { name }: Dialect): Values =>
  members.map((member): SqlValue => {
    const value = body[member.name] ?? null;
    if ('link' in member) return isObject(value) ? (identifierIn(value, member.target) ?? null) : null;
    return heldOperand(member, name, encode(member, name, value));
  });

/** Advice about another record that has a unique value of the one to restore. */
export const TO_RESTORE = '; change or delete that record first';

function faultsOf({ rights, records, restores }: WriteSession, { node, members, holder }: Conflict): readonly Fault[] {
  const { fields } = knownMembers(rights, node.type);
  const seen = members.filter((one) => ('link' in one ? canFollow(rights, one) : fields.has(one.name)));
  const names = seen.map(({ name }) => `"${name}"`).join(' and ');
  const cure = restores ? TO_RESTORE : '';
  if (seen.length < members.length) {
    // Its name would say which records share a link that the token may not read.
    const message = `Another record has this value of ${names === '' ? 'what' : `${names} already, together with what`} you may not read${cure}`;
    const pointers = seen.length > 0 ? pointersTo(node, seen) : [node.pointer];
    return pointers.map((pointer) => ({ pointer, code: 'unique', message }));
  }
  const isNamed = namesRecords(rights, node.type) && seen.every((one) => seesMember(rights, node.type, one));
  const inBody = typeof holder === 'object' && changes(holder, members) ? holder : undefined;
  const identifier = (typeof holder === 'object' ? holder.identifier : holder) ?? 0;
  return pointersTo(node, seen).map((pointer) => {
    const stored = isNamed ? `${node.type.name} ${identifier}` : 'Another record';
    const who = inBody ? `${placeIn(records, pointersTo(inBody, seen).join(''))} in the same body` : stored;
    return {
      pointer,
      code: 'unique',
      message: `${who} has this value of ${names} already${cure}`,
      ...recordNames(rights, node.type, inBody || !isNamed ? [] : [identifier]),
    };
  });
}

export function recordNames(
  rights: Rights,
  type: RecordType,
  identifiers: readonly Identifier[],
): { readonly records?: readonly RecordName[] } {
  if (!namesRecords(rights, type) || identifiers.length === 0) return {};
  return { records: identifiers.slice(0, MAX_LISTED).map((identifier) => ({ type: type.name, identifier })) };
}

/** Conflicts are reported at the first field in the body, else at the first relation. */
function pointersTo({ assigned, pointer }: Node, members: UniqueMembers['members']): readonly string[] {
  const ordered = [...members.filter((member) => !('link' in member)), ...members.filter((member) => 'link' in member)];
  const member = ordered.find((one) => assigned.get(columnOf(one))?.byOmission === false) ?? ordered[0];
  return member ? [assigned.get(columnOf(member))?.pointer ?? `${pointer}/${escapeStep(member.name)}`] : [];
}

function operand(session: WriteSession, node: Node, member: Field | Relation): SqlValue | Node {
  const value = finalValue(node, columnOf(member));
  return isNode(value) ? value : heldOperand(member, session.dialect, value);
}
