/** Says what a column is to hold, and notices where the body contradicts itself or changes what it may only link. */
import { append } from '../../append.ts';
import { memoized } from '../../memo.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { idOf, type JoinPair, type Node, refuse, storedValue, touch, type WriteSession } from './session.ts';
import {
  type Check,
  type Field,
  identifierIn,
  type Link,
  type RecordType,
  type Reference,
  type Relation,
} from '../../model/model.ts';
import { meets } from '../../query/checks.ts';
import { columnType } from '../columns.ts';
import type { Fault } from '../../problem.ts';
import type { WriteRequest } from '../store.ts';

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
  const holds = (): boolean => (node.stored ? (same ?? storedValue(node, column) === value) : !isCompared(node));
  if (!writable && compared && !holds()) linkedAs(session, node, pointer, () => willHold(node, column) === value);
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

/** A record that is only linked must be as the body says: it is already, or another part of the body makes it so. */
export function linkedAs(
  session: WriteSession,
  node: Pick<Node, 'type' | 'identifier'>,
  pointer: string,
  isMadeSo: () => boolean,
): void {
  session.checks.push(() => {
    if (!isMadeSo()) linkedOnly(session, node, pointer);
  });
}

export function linkedOnly(
  session: WriteSession,
  { type, identifier }: Pick<Node, 'type' | 'identifier'>,
  pointer: string,
): void {
  const what = `${type.recordName} ${identifier ?? ''}`.trim();
  const how = type.operations.has('update') ? 'change it at its own path, or leave the key out' : 'leave the key out';
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

export const pairKey = (session: WriteSession, relation: JoinRelation, node: Node, other: Node): string =>
  keyOf(session, between(relation, idOf(node), idOf(other), ''));

/** Whether some part of the body wants the row gone, and none wants it. */
export function isUnpaired(session: WriteSession, relation: JoinRelation, node: Node, other: number): boolean {
  const key = keyOf(session, between(relation, idOf(node), other, ''));
  return session.unpaired.has(key) && !session.kept.has(key);
}

/** A row that is there already is noted too, so that the other side cannot let it go. */
export function pair(
  session: WriteSession,
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

export function unpair(
  session: WriteSession,
  relation: JoinRelation,
  node: Node,
  other: number,
  pointer: string,
): void {
  const unwanted = between(relation, idOf(node), other, pointer);
  session.unpaired.set(keyOf(session, unwanted), unwanted);
}

function between({ link }: JoinRelation, source: number | Node, target: number | Node, pointer: string): JoinPair {
  const forward = link.table.left.column === link.sourceColumn;
  const [left, right] = forward ? [source, target] : [target, source];
  return { table: link.table, left, right, pointer };
}

function keyOf(session: WriteSession, { table, left, right }: JoinPair): string {
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
    for (const reference of ownedBy(current.type)) append(above, await ownerOf(session, current, reference));
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

// Which child an owner has, where the body does not name it: noted while the body is resolved, or read from the database.

/** `current`: the identifiers of the children that the owner has. */
export function noteOwnChild(
  session: WriteSession,
  { identifier, stored }: Node,
  relation: Relation,
  value: JsonValue,
  [current]: readonly number[],
): void {
  if (!relation.owned || relation.toMany || !stored || identifier === undefined) return;
  if (isObject(value) && identifierIn(value, relation.target) === undefined)
    ownChildrenOf(session, relation).set(identifier, current ?? null);
}

function ownChildrenOf({ ownChildren }: WriteSession, relation: Relation): Map<number, number | null> {
  const children = ownChildren.get(relation) ?? new Map<number, number | null>();
  ownChildren.set(relation, children);
  return children;
}

/** The body's own part of a write. `roots`: undefined in place of a record that is not there. */
export type Asked = Pick<WriteRequest, 'type' | 'disagreements'> & { readonly roots: readonly (Node | undefined)[] };

/** All places where the body contradicts itself; undefined if what is stored does not tell more than the body. */
export async function findDisagreements(
  session: WriteSession,
  { type, disagreements, roots }: Asked,
): Promise<readonly Fault[] | undefined> {
  // A body without a fault was resolved completely: every child that it does not name is noted.
  const isResolved = session.faults.length === 0 && roots.every((root) => root !== undefined);
  if (!disagreements || (session.ownChildren.size === 0 && isResolved)) return undefined;
  for (const { body, identifier } of session.records) await askIn(session, type, identifier, body);
  return session.ownChildren.size === 0
    ? undefined
    : disagreements((relation, owner) => session.ownChildren.get(relation)?.get(owner));
}

/** Reads the children in places that were not resolved because they, or places around them, are faulty. */
async function askIn(
  session: WriteSession,
  type: RecordType,
  identifier: number | undefined,
  body: JsonObject,
): Promise<void> {
  for (const [key, value] of Object.entries(body)) {
    const relation = type.relations.get(key);
    if (!relation) continue;
    for (const item of Array.isArray(value) ? value : [value]) {
      if (!isObject(item)) continue;
      const named = identifierIn(item, relation.target);
      const own = named ?? (await ownChild(session, relation, identifier));
      await askIn(session, relation.target, own, item);
    }
  }
}

async function ownChild(
  session: WriteSession,
  relation: Relation,
  owner: number | undefined,
): Promise<number | undefined> {
  const { owned, toMany, link, target } = relation;
  if (owner === undefined || !owned || toMany || link.at !== 'target') return undefined;
  const asked = ownChildrenOf(session, relation);
  const found = asked.get(owner);
  if (found !== undefined) return found ?? undefined;
  const { children } = session.tables.of(target);
  const [child] = (await session.writer.column(children(link.reference.column), [owner, 1])) as readonly number[];
  asked.set(owner, child ?? null);
  return child;
}

// Each record that is made or changed, held against the checks of its type as it will be.

/** Whether a check compares a field of the body, perhaps with one that is only stored. */
export const namesChecked = ({ checks }: RecordType, body: JsonObject): boolean =>
  checks.some(({ fields }) => fields.some(({ name }) => Object.hasOwn(body, name)));

/** Refuses new records that do not meet a check, and others of which a field changes that it names. */
export function holdToChecks(session: WriteSession): void {
  for (const node of session.made) holdNode(session, node);
  for (const nodes of session.existing.values()) for (const node of nodes.values()) holdNode(session, node);
}

function holdNode(session: WriteSession, node: Node): void {
  const { checks } = node.type;
  if (checks.length === 0 || !node.isWritten) return;
  for (const check of checks) {
    const concerns = !node.stored || check.fields.some((field) => isChanged(session, node, field));
    if (!concerns || check.fields.some((field) => isUnsaid(node, field))) continue;
    if (!meets(check, (field) => valueOf(session, node, field)))
      refuse(session, 'invalid-body', pointerOf(node, check), 'check', check.message);
  }
}

/** A value that was refused, or is missing: there is nothing to compare with, and a fault already. */
function isUnsaid({ unusable, stored, assigned, table }: Node, { column, nullable }: Field): boolean {
  if (unusable?.has(column) === true) return true;
  return !nullable && !stored && !assigned.has(column) && (table.defaults.get(column) ?? null) === null;
}

/** Whether the record gets another value, however that is written. */
function isChanged(session: WriteSession, node: Node, field: Field): boolean {
  if (!node.assigned.has(field.column)) return false;
  const [before, after] = [decoded(session, field, storedValue(node, field.column)), valueOf(session, node, field)];
  return before === null || after === null ? before !== after : !field.type.equal(before, after);
}

function valueOf(session: WriteSession, node: Node, field: Field): JsonValue {
  const { column } = field;
  const assigned = node.assigned.get(column);
  const stored = node.stored ? storedValue(node, column) : node.table.defaults.get(column);
  return decoded(session, field, assigned ? assigned.value : stored);
}

function decoded({ dialect }: WriteSession, field: Field, value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  return columnType(field, dialect).decode(value as string | number);
}

/** Beside what the body says of the record: it may stand in several places. */
function pointerOf({ assigned, pointer }: Node, { at, fields }: Check): string {
  const own = assigned.get(at.column)?.pointer;
  if (own !== undefined) return own;
  const said = fields.flatMap(({ column }) => assigned.get(column)?.pointer ?? [])[0];
  const record = said === undefined ? pointer : said.slice(0, said.lastIndexOf('/'));
  return `${record}/${escapeStep(at.name)}`;
}
