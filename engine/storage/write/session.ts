/**
 * The state of a write while it is resolved: the records that it touches, and their new values. A **node** stands for a
 * record, however many places of the body mention it. What a body writes to it is `assigned`, what a body that may only link
 * it says of it is `linked`, and must turn out to be true (`checks`). A **claim** is what one place says of the records that
 * are related to it; all places must say the same (`contradictions`). Records leave in three ways: a set that omits stored
 * children releases them (`released`; `leftOut` where they may not go), an owned one that another place mentions is
 * `deleted`, and `cascaded` has everything that the cascade of these deletes. New records are `created`, in the order of the body,
 * and `createdById` where it brings their identifiers; one that links another new one `awaits` it. `plan.ts` makes a value of this.
 */
import { NO_CLIENT } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { inDocumentOrder, type JsonObject } from '../../json/json.ts';
import { membersOf } from '../../json/raw.ts';
import { NO_RAW_VALUES, type RawMember, type RawMembers } from '../../json/tokenizer.ts';
import { compareIdentifiers, type Identifier } from '../../model/identifier.ts';
import {
  type BodyRecord,
  documentOf,
  type JoinTable,
  OPEN_COLUMN,
  placeIn,
  type RecordType,
  type Reference,
  type Relation,
  type UniqueMembers,
} from '../../model/model.ts';
import { ALL_RIGHTS, entryOf } from '../../model/rights.ts';
import { type Fault, faultyRequest, type ProblemCode } from '../../problem.ts';
import { foldedText, type Stamp } from '../columns.ts';
import type { Driver, Reader, Row, Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { WriteRequest } from '../store.ts';
import type { Tables, WriteTable } from './tables.ts';

/** A record that the write touches: one node for all its mentions in the body. */
export interface Node {
  readonly type: RecordType;
  readonly table: WriteTable;
  /** undefined for a new record, unless the client gave one. */
  readonly identifier: Identifier | undefined;
  /** `unread`: foreign keys check that the record exists. */
  readonly stored: Row | 'unread' | undefined;
  /** The body names it but it does not exist, or it is new within such a record. */
  readonly isLost: boolean;
  /** A new child of an owned to-one relation, whose required fields the validator could not check. */
  readonly isOwnChild: boolean;
  readonly pointer: string;
  isWritten: boolean;
  /** New values by column. A node represents its future identifier. */
  readonly assigned: Map<string, Assigned>;
  /** Values by column where the body may only link the record: they must equal the stored values. */
  readonly linked: Map<string, Assigned>;
  readonly related: Map<Relation, Claim>;
  /** Columns with a refused value, or with two different values: checks skip them. */
  readonly unusable: Set<string>;
  /** Whether the body gives a value that the client may write and not read, which counts as a change. */
  isUnseen: boolean;
  /** Open keys in the body; a key without a member is removed. */
  readonly openKeys: Map<
    string,
    { readonly member: RawMember | undefined; readonly pointer: string; readonly isWritten: boolean }
  >;
  storedOpenKeys: RawMembers | undefined;
}

interface Assigned {
  readonly value: SqlValue | Node;
  readonly pointer: string;
  /** A set omitted the record: a link in another part of the body takes precedence. */
  readonly byOmission: boolean;
}

/** The first mention of a node's related records. A later mention that contradicts it is refused. */
export interface Claim {
  readonly node: Node;
  readonly relation: Relation;
  readonly nodes: ReadonlySet<Node>;
  readonly pointer: string;
  readonly order: number;
}

/** Identifiers by table. */
export type RecordSet = Map<string, Set<Identifier>>;

export const isIn = (set: RecordSet, { table }: RecordType, identifier: Identifier): boolean =>
  set.get(table)?.has(identifier) === true;

/** Adds records to the set, and returns only new records, so that cycles end. */
export function added(set: RecordSet, { table }: RecordType, found: readonly Identifier[]): readonly Identifier[] {
  const known = set.get(table) ?? new Set<Identifier>();
  set.set(table, known);
  const fresh = found.filter((identifier) => !known.has(identifier));
  for (const identifier of fresh) known.add(identifier);
  return fresh;
}

/** Children that a set omits: deleted if they are owned, else unlinked. */
export interface Released {
  readonly relation: Relation;
  readonly reference: Reference;
  readonly identifiers: readonly Identifier[];
  readonly pointer: string;
}

/** A row of a join table. If one part of the body wants it, no other part removes it. */
export interface JoinPair {
  readonly table: JoinTable;
  readonly left: Identifier | Node;
  readonly right: Identifier | Node;
  readonly pointer: string;
  readonly isStored: boolean;
  readonly isWanted: boolean;
  /** The record whose body has the set. */
  readonly holder: Node;
}

export interface Mention {
  readonly pointer: string;
  /** False below a relation that only links. */
  readonly writable: boolean;
  readonly isLost: boolean;
  readonly via: { readonly relation: Relation; readonly parent: Node } | undefined;
}

/** What a role may not do. `at`: the file and line of its rule, for the log. */
export interface Forbidden {
  readonly fault: Fault;
  readonly at: string;
}

/** A mention that only links a record but differs from the stored values: another part of the body must write these. */
export interface LinkCheck {
  readonly subject: Pick<Node, 'type' | 'identifier'>;
  readonly pointer: string;
  readonly expected:
    | { readonly node: Node; readonly column: string; readonly value: SqlValue | Node }
    | { readonly node: Node; readonly openKey: string }
    | { readonly pair: string; readonly isWanted: boolean };
}

function unasked(): never {
  throw new Error('This part of a write does not use the database');
}

export const NO_WRITER: Writer = { get: unasked, all: unasked, value: unasked, column: unasked, run: unasked };

export const onlyReading = (reader: Reader): Writer => ({ ...NO_WRITER, ...reader });

export const UNLIMITED_ROWS = 1_000_000_000;

/** What the writes of a store share. */
export interface WriteContext {
  readonly driver: Driver;
  readonly reads: Reads;
  readonly tables: Tables;
  /** The same statements, without locks: for dry runs, and for writes sent without BEGIN. */
  readonly unlocked: Tables;
  readonly writeRows: number;
}

/** A transaction, or the snapshot of a dry run. */
export interface Transaction extends WriteContext {
  readonly writer: Writer;
  /** Runs after a constraint violation: finds conflicting records before it writes, since a ConstraintError names none. */
  readonly isSearched: boolean;
}

/** Reruns of a request's transaction reuse its stamp: the author, and the time of `now`. */
export type Stamped<R> = R & { readonly stamp: Stamp };

type OfWrites = Partial<Pick<WriteRequest, 'raw' | 'faults' | 'mergePatch' | 'caller' | 'rights' | 'dryRun'>>;

export interface SessionRequest extends OfWrites {
  readonly stamp: Stamp;
  readonly items?: readonly BodyRecord[];
  readonly unknown?: UnknownLinks | undefined;
  /** Seeds may set read-only fields. */
  readonly readOnlyToo?: boolean | undefined;
  /** The values by which an upsert has found the records. */
  readonly unique?: UniqueMembers | undefined;
  /** Deleted records come back: messages advise otherwise, as there is no body to change. */
  readonly restores?: boolean;
}

export type WriteSession = ReturnType<typeof createSession>;

/** Links that name no record by their unique values, each with its fault. */
export type UnknownLinks = ReadonlyMap<JsonObject, Fault>;

/** Lists all members: V8 reads an object slowly once it has been made of others by spreading. */
export const createSession = (
  transaction: Pick<Transaction, 'writer' | 'reads' | 'tables' | 'driver' | 'writeRows' | 'isSearched'>,
  request: SessionRequest,
) => ({
  writer: transaction.writer,
  reads: transaction.reads,
  tables: transaction.tables,
  dialect: transaction.driver.dialect.name,
  writeRows: transaction.writeRows,
  isSearched: transaction.isSearched,
  stamp: request.stamp,
  records: request.items ?? [],
  raw: request.raw ?? NO_RAW_VALUES,
  faults: request.faults ?? [],
  faulty: new Set(request.faults?.flatMap((fault) => ('pointer' in fault ? fault.pointer : []))),
  mergePatch: request.mergePatch ?? false,
  readOnlyToo: request.readOnlyToo ?? false,
  caller: request.caller ?? NO_CLIENT,
  rights: request.rights ?? ALL_RIGHTS,
  unique: request.unique,
  isDry: request.dryRun ?? false,
  restores: request.restores ?? false,
  /** What the role may not send. */
  forbidden: [] as Forbidden[],
  /** Whether the role sees the records, if it was asked. */
  sight: new Map<RecordType, Map<Identifier, boolean>>(),
  /** Records that the body identifies, stored or lost. */
  existing: new Map<RecordType, Map<Identifier, Node>>(),
  created: [] as Node[],
  createdById: new Map<RecordType, Map<Identifier, Node>>(),
  /** Omitted records, with the pointers of the sets. */
  deleted: new Map<Node, string>(),
  cascaded: new Map() as RecordSet,
  released: [] as Released[],
  /** Omitted children that must stay, unless another part of the body moves them. */
  leftOut: [] as (Released & { readonly writable: boolean })[],
  /** Stored records that the body names, with pointers to their identifiers. */
  named: [] as { readonly node: Node; readonly pointer: string }[],
  checks: [] as LinkCheck[],
  pairs: new Map<string, JoinPair>(),
  /** Links of new records to other new records, which are inserted first. */
  awaits: [] as { readonly from: Node; readonly to: Node; readonly pointer: string }[],
  claims: [] as Claim[],
  placeholders: 0,
  unknown: request.unknown,
  refusals: [] as { readonly code: ProblemCode; readonly fault: Fault }[],
  /** Contradictions between mentions, reported if the body has no other fault. */
  contradictions: [] as Fault[],
});

const createNode = (
  session: WriteSession,
  type: RecordType,
  pointer: string,
  { identifier, stored, isLost = false, isOwnChild = false }: Partial<Node>,
): Node => ({
  type,
  table: session.tables.of(type),
  identifier,
  stored,
  isLost,
  isOwnChild,
  pointer,
  isWritten: false,
  assigned: new Map(),
  linked: new Map(),
  related: new Map(),
  unusable: new Set(),
  isUnseen: false,
  openKeys: new Map(),
  storedOpenKeys: undefined,
});

function noteIn(maps: WriteSession['existing'], identifier: Identifier, node: Node): Node {
  const known = maps.get(node.type) ?? new Map<Identifier, Node>();
  maps.set(node.type, known.set(identifier, node));
  return node;
}

export function remember(
  session: WriteSession,
  type: RecordType,
  identifier: Identifier,
  pointer: string,
  stored?: Node['stored'],
): Node {
  const node = createNode(session, type, pointer, { identifier, stored, isLost: stored === undefined });
  return noteIn(session.existing, identifier, node);
}

export async function touch(session: WriteSession, type: RecordType, identifier: Identifier, pointer: string) {
  const known = session.existing.get(type)?.get(identifier);
  if (known) return known;
  const stored = await session.writer.get(session.tables.of(type).load, [identifier]);
  const [seen] = stored ? await seenAmong(session, type, [identifier]) : [];
  return remember(session, type, identifier, pointer, seen === undefined ? undefined : stored);
}

/** Leaves out records that the client may not read. */
export async function seenAmong(
  { reads, writer, rights, sight }: Pick<WriteSession, 'reads' | 'writer' | 'rights' | 'sight'>,
  type: RecordType,
  identifiers: readonly Identifier[],
): Promise<readonly Identifier[]> {
  if (rights.tables === undefined) return identifiers;
  const known = sight.get(type) ?? new Map<Identifier, boolean>();
  sight.set(type, known);
  const asked = identifiers.filter((identifier) => !known.has(identifier));
  const found = await reads.meeting(writer, rights, type, entryOf(rights, type.name, 'read')?.where, asked);
  for (const identifier of asked) known.set(identifier, found.has(identifier));
  return identifiers.filter((identifier) => known.get(identifier));
}

export function make(
  session: WriteSession,
  type: RecordType,
  identifier: Identifier | undefined,
  pointer: string,
  { isOwnChild = false, isLost = false }: Partial<Pick<Node, 'isOwnChild' | 'isLost'>> = {},
): Node {
  const node = createNode(session, type, pointer, { identifier, isOwnChild, isLost });
  if (isLost) return node;
  session.created.push(node);
  return identifier === undefined ? node : noteIn(session.createdById, identifier, node);
}

/** Whether the body changes columns of the record. */
export const isChanged = (node: Node): boolean =>
  node.isUnseen ||
  [...node.assigned.keys()].some((column) => isReplaced(node, column)) ||
  [...node.openKeys].some(
    ([key, { member, isWritten }]) => isWritten && openKeysOf(node).get(key)?.text !== member?.text,
  );

export const openKeysOf = (node: Node): RawMembers =>
  (node.storedOpenKeys ??= node.stored ? membersOf(String(storedValue(node, OPEN_COLUMN))) : new Map());

/** Stored records, sorted so that both databases report the same conflict. */
export const keptNodes = ({ existing, deleted }: WriteSession): readonly Node[] =>
  [...existing]
    .toSorted(([a], [b]) => (a.name < b.name ? -1 : 1))
    .flatMap(([, nodes]) =>
      [...nodes.values()].toSorted((a, b) => compareIdentifiers(a.identifier ?? 0, b.identifier ?? 0)),
    )
    .filter((node) => !deleted.has(node));

/** The value of a link to the record: for a new record its node, even if the body gives its identifier. */
export const idOf = (node: Node): Identifier | Node => (node.stored ? (node.identifier ?? node) : node);

export const nameOf = ({ type, identifier }: Pick<Node, 'type' | 'identifier'>): string =>
  `${type.name} ${identifier ?? ''}`.trim();

export const storedValue = ({ stored, table }: Node, column: string): SqlValue | undefined =>
  typeof stored === 'object' ? stored[table.position.get(column) ?? -1] : undefined;

export const isNode = (value: SqlValue | Node): value is Node => typeof value === 'object' && value !== null;

/** Whether the body changes the column. A new record that it links may have no identifier yet; a lost one may be hidden. */
export function isReplaced(node: Node, column: string): boolean {
  const { value } = node.assigned.get(column) ?? {};
  if (value === undefined || (isNode(value) && value.isLost)) return value !== undefined;
  return (isNode(value) ? value.identifier : value) !== storedValue(node, column);
}

export function finalValue(node: Node, column: string): SqlValue | Node {
  const known = node.assigned.get(column);
  if (known) return known.value;
  return (node.stored ? storedValue(node, column) : node.table.columnOf.get(column)?.default) ?? null;
}

/** The value of a column after the write, also of one for case-folded text. */
export function valueAfter(node: Node, column: string): SqlValue | Node {
  const text = node.assigned.has(column) ? undefined : node.table.texts.get(column);
  return text === undefined ? finalValue(node, column) : foldedText(finalValue(node, text));
}

export const isInBody = ({ assigned, linked }: Node, column: string): boolean =>
  assigned.get(column)?.byOmission === false || linked.has(column);

/** Whether the body can be compared with a record that it only links, since it is stored or made elsewhere. */
export const isCompared = ({ stored, isOwnChild, identifier }: Node): boolean =>
  stored !== undefined || isOwnChild || identifier !== undefined;

/** Notes a column's value in the body. If the record is only linked, it must equal the stored value. */
export function assign(
  session: WriteSession,
  node: Node,
  column: string,
  value: SqlValue | Node,
  {
    pointer,
    writable,
    same,
    compared = true,
  }: Pick<Mention, 'pointer' | 'writable'> & {
    readonly same?: boolean;
    readonly compared?: boolean;
  },
): void {
  const before = node.assigned.get(column) ?? node.linked.get(column);
  if (before && before.value !== value) {
    node.unusable.add(column);
    return contradict(session, pointer, before.pointer);
  }
  const entry = { value, pointer, byOmission: false };
  if (!before && isNode(value) && value !== node && !node.stored && !node.isLost && !value.isLost)
    session.awaits.push({ from: node, to: value, pointer });
  if (writable && !node.assigned.has(column)) node.assigned.set(column, entry);
  if (writable) return undefined;
  if (!before) node.linked.set(column, entry);
  const isSame = node.stored ? (same ?? storedValue(node, column) === value) : !isCompared(node);
  if (compared && !isSame) session.checks.push({ subject: node, pointer, expected: { node, column, value } });
  return undefined;
}

export function refuse(session: WriteSession, code: ProblemCode, pointer: string, word: string, message: string): void {
  session.refusals.push({ code, fault: { pointer, code: word, message } });
}

export function contradict({ contradictions, records }: WriteSession, pointer: string, other: string): void {
  const message = `${placeIn(records, pointer)} and ${placeIn(records, other)} give the same record different values; leave one out, or make them agree`;
  contradictions.push({ pointer, code: 'contradiction', message });
}

export function throwRefused(session: WriteSession, code: ProblemCode, known: readonly Fault[] = []): void {
  const refused = session.refusals.flatMap((refusal) => (refusal.code === code ? refusal.fault : []));
  throwInOrder(session, code, [...known, ...refused]);
}

export function throwInOrder({ records }: WriteSession, code: ProblemCode, faults: readonly Fault[]): void {
  if (faults.length > 0) throw faultyRequest(code, inDocumentOrder(faults, documentOf(records)));
}
