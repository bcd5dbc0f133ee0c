/** The state of a write while it is resolved: the records that it touches, and their new values. */
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { inDocumentOrder } from '../../json/fault-order.ts';
import { escapeStep, isObject, type JsonObject } from '../../json/json.ts';
import { NO_RAW_VALUES, type RawMember, type RawMembers, type RawValues } from '../../json/tokenizer.ts';
import {
  type BodyRecord,
  documentOf,
  identifierIn,
  type JoinTable,
  type RecordType,
  type Reference,
  type Relation,
  relationsIn,
} from '../../model/model.ts';
import { ALL_RIGHTS, type Rights } from '../../model/rights.ts';
import { type Fault, faultyRequest, type ProblemCode } from '../../problem.ts';
import { COPIES_OF_TEXT, type Reader, type Row, type Writer } from '../driver.ts';
import type { ViewRow } from '../read/views.ts';
import type { Strength, Tables, WriteTable } from './tables.ts';
import type { Stamp } from './values.ts';

/** A record that the write touches: one node for all its mentions in the body. */
export interface Node {
  readonly type: RecordType;
  readonly table: WriteTable;
  /** undefined until the insert, unless the client gave one. */
  identifier: number | undefined;
  readonly stored: Row | undefined;
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
  /** Open keys in the body; a key without a member is removed. */
  readonly openKeys: Map<
    string,
    { readonly member: RawMember | undefined; readonly pointer: string; readonly isWritten: boolean }
  >;
  storedOpenKeys: RawMembers | undefined;
}

export interface Assigned {
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

export type RecordSet = Map<string, Set<number>>;

/** Children that a set omits: deleted if they are owned, else unlinked. */
export interface Released {
  readonly relation: Relation;
  readonly reference: Reference;
  readonly identifiers: readonly number[];
  readonly pointer: string;
}

/** A row of a join table. If one part of the body wants it, no other part removes it. */
export interface JoinPair {
  readonly table: JoinTable;
  readonly left: number | Node;
  readonly right: number | Node;
  readonly pointer: string;
  readonly isStored: boolean;
  readonly isWanted: boolean;
}

export interface Mention {
  readonly pointer: string;
  /** False below a relation that only links. */
  readonly writable: boolean;
  readonly isLost: boolean;
  readonly via: { readonly relation: Relation; readonly parent: Node } | undefined;
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

interface Given {
  readonly writer: Writer;
  readonly tables: Tables;
  readonly dialect: DialectName;
  readonly stamp: Stamp;
  /** Applies RFC 7396 inside JSON values, and to open keys. */
  readonly mergePatch?: boolean;
  /** Runs after a constraint violation: finds the conflicting records and the refused row. */
  readonly isSearched?: boolean;
  /** Seeds may set read-only fields. */
  readonly readOnlyToo?: boolean | undefined;
  readonly records?: readonly BodyRecord[];
  readonly raw?: RawValues | undefined;
  /** Faults of the validator. If there is one, resolving the body only finds further faults. */
  readonly faults?: readonly Fault[] | undefined;
  readonly writeRows?: number | undefined;
  readonly caller?: Caller | undefined;
  readonly rights?: Rights | undefined;
}

export type WriteSession = ReturnType<typeof createSession>;

export function createSession(asked: Given) {
  const { faults = [] } = asked;
  return {
    ...asked,
    faults,
    records: asked.records ?? [],
    raw: asked.raw ?? NO_RAW_VALUES,
    writeRows: asked.writeRows ?? UNLIMITED_ROWS,
    caller: asked.caller ?? NO_CLIENT,
    rights: asked.rights ?? ALL_RIGHTS,
    faulty: new Set(faults.flatMap((fault) => ('pointer' in fault ? fault.pointer : []))),
    /** Records that the body identifies, stored or lost. */
    existing: new Map<RecordType, Map<number, Node>>(),
    made: [] as Node[],
    given: new Map<RecordType, Map<number, Node>>(),
    /** Omitted records, with the pointers of the sets. */
    deleted: new Map<Node, string>(),
    gone: new Map() as RecordSet,
    released: [] as Released[],
    /** Omitted children that must stay, unless another part of the body moves them. */
    leftOut: [] as (Released & { readonly writable: boolean })[],
    /** Stored records that the body names, with pointers to their identifiers. */
    named: new Map<Node, string[]>(),
    checks: [] as LinkCheck[],
    pairs: new Map<string, JoinPair>(),
    /** Links of new records to other new records, which are inserted first. */
    awaits: new Map<Node, { readonly parent: Node; readonly pointer: string }[]>(),
    claims: [] as Claim[],
    placeholders: 0,
    refusals: [] as { readonly code: ProblemCode; readonly fault: Fault }[],
    /** Contradictions between mentions, reported if the body has no other fault. */
    contradictions: [] as Fault[],
  };
}

const createNode = (session: WriteSession, type: RecordType, pointer: string, given: Partial<Node>): Node => ({
  type,
  table: session.tables.of(type),
  identifier: undefined,
  stored: undefined,
  isLost: false,
  isOwnChild: false,
  pointer,
  isWritten: false,
  assigned: new Map(),
  linked: new Map(),
  related: new Map(),
  unusable: new Set(),
  openKeys: new Map(),
  storedOpenKeys: undefined,
  ...given,
});

function noteIn(maps: WriteSession['existing'], identifier: number, node: Node): Node {
  const known = maps.get(node.type) ?? new Map<number, Node>();
  maps.set(node.type, known.set(identifier, node));
  return node;
}

function remember(session: WriteSession, type: RecordType, identifier: number, pointer: string, stored?: Row): Node {
  const node = createNode(session, type, pointer, { identifier, stored, isLost: stored === undefined });
  return noteIn(session.existing, identifier, node);
}

export async function touch(session: WriteSession, type: RecordType, identifier: number, pointer: string) {
  const known = session.existing.get(type)?.get(identifier);
  if (known) return known;
  const stored = await session.writer.get(session.tables.of(type).load, [identifier]);
  return remember(session, type, identifier, pointer, stored);
}

export function make(
  session: WriteSession,
  type: RecordType,
  identifier: number | undefined,
  pointer: string,
  is: Partial<Pick<Node, 'isOwnChild' | 'isLost'>> = {},
): Node {
  const node = createNode(session, type, pointer, { identifier, ...is });
  if (is.isLost) return node;
  session.made.push(node);
  return identifier === undefined ? node : noteIn(session.given, identifier, node);
}

/** Stored records, sorted so that both databases report the same conflict. */
export const keptNodes = ({ existing, deleted }: WriteSession): readonly Node[] =>
  [...existing]
    .toSorted(([a], [b]) => (a.name < b.name ? -1 : 1))
    .flatMap(([, nodes]) => [...nodes.values()].toSorted((a, b) => (a.identifier ?? 0) - (b.identifier ?? 0)))
    .filter((node) => !deleted.has(node));

/** The value of a link to the record: for a new record its node, even if the body gives its identifier. */
export const idOf = (node: Node): number | Node => (node.stored ? (node.identifier ?? node) : node);

export const nameOf = ({ type, identifier }: Pick<Node, 'type' | 'identifier'>): string =>
  `${type.name} ${identifier ?? ''}`.trim();

export const storedValue = ({ stored, table }: Node, column: string): SqlValue | undefined =>
  stored?.[table.position.get(column) ?? -1];

export const isNode = (value: SqlValue | Node): value is Node => typeof value === 'object' && value !== null;

/** The identifier of a linked record; undefined until its insert. */
const plain = (value: SqlValue | Node): SqlValue | undefined => (isNode(value) ? value.identifier : value);

export const boundValue = (value: SqlValue | Node): SqlValue => (isNode(value) ? (value.identifier ?? null) : value);

export function isReplaced(node: Node, column: string): boolean {
  const assigned = node.assigned.get(column);
  return assigned !== undefined && plain(assigned.value) !== storedValue(node, column);
}

export function finalValue(node: Node, column: string): SqlValue | Node {
  const known = node.assigned.get(column);
  if (known) return known.value;
  return (node.stored ? storedValue(node, column) : node.table.defaults.get(column)) ?? null;
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
  const given = { value, pointer, byOmission: false };
  if (!before && isNode(value) && value !== node && !node.stored && !node.isLost && !value.isLost)
    session.awaits.set(node, [...(session.awaits.get(node) ?? []), { parent: value, pointer }]);
  if (writable && !node.assigned.has(column)) node.assigned.set(column, given);
  if (writable) return undefined;
  if (!before) node.linked.set(column, given);
  const isSame = node.stored ? (same ?? storedValue(node, column) === value) : !isCompared(node);
  if (compared && !isSame) session.checks.push({ subject: node, pointer, expected: { node, column, value } });
  return undefined;
}

export function refuse(session: WriteSession, code: ProblemCode, pointer: string, word: string, message: string): void {
  session.refusals.push({ code, fault: { pointer, code: word, message } });
}

export function contradict({ contradictions }: WriteSession, pointer: string, other: string): void {
  const message = `${pointer} and ${other} give the same record different values; leave one out, or make them agree`;
  contradictions.push({ pointer, code: 'contradiction', message });
}

export function throwRefused(session: WriteSession, code: ProblemCode, known: readonly Fault[] = []): void {
  const refused = session.refusals.flatMap((refusal) => (refusal.code === code ? refusal.fault : []));
  throwInOrder(session, code, [...known, ...refused]);
}

export function throwInOrder({ records }: WriteSession, code: ProblemCode, faults: readonly Fault[]): void {
  if (faults.length > 0) throw faultyRequest(code, inDocumentOrder(faults, documentOf(records)));
}

// Locks the records in the body and the records that the ETag in If-Match covers, in one order to avoid deadlocks.

/** From this count on, one statement for all is cheaper than one for each. */
const BULK_FROM = 8;

interface LockedRecord {
  readonly identifier: number;
  readonly pointer: string | undefined;
  readonly strength: Strength;
}

type Named = Map<RecordType, Map<number, LockedRecord>>;

/** Finds the related records that the ETag covers; undefined if they exceed the limit of a response. */
export type FindShown = () => Promise<readonly ViewRow[] | undefined>;

/** Returns whether all shown records are locked. Records that appeared meanwhile cannot be locked in order any more. */
export async function lockNamed(
  session: WriteSession,
  type: RecordType,
  records: readonly BodyRecord[],
  findShown?: FindShown,
): Promise<boolean> {
  const { locks } = session.tables;
  if (!locks && type.relations.size === 0 && records.length < BULK_FROM) return true;
  const named: Named = new Map();
  for (const { identifier, pointer, body } of records) {
    if (identifier !== undefined) note(named, type, { identifier, pointer, strength: 'update' });
    nameWithin(named, type, body, pointer);
  }
  if (!locks || !findShown) {
    if (named.size > 0) await lockAll(session, named);
    return true;
  }
  // `update` also blocks new rows that refer to them, since their sets may be shown.
  for (const one of (await findShown()) ?? [])
    note(named, one.type, { identifier: one.identifier, pointer: undefined, strength: 'update' });
  const [held, shown] = await Promise.all([lockAll(session, named), findShown()]);
  return shown !== undefined && shown.every((one) => held.has(`${one.type.name} ${one.identifier}`));
}

function nameWithin(named: Named, type: RecordType, body: JsonObject, pointer: string): void {
  for (const key of relationsIn(type, body)) {
    const relation = type.relations.get(key);
    const value = body[key] ?? null;
    for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
      if (!relation || !isObject(item)) continue;
      const { target, link } = relation;
      const at = `${pointer}/${escapeStep(key)}${Array.isArray(value) ? `/${index}` : ''}`;
      const identifier = identifierIn(item, target);
      // Other writes must not delete a record that is only linked, but may link it.
      const isLink = link.at !== 'target' && Object.keys(item).length === 1;
      const strength = isLink ? 'key share' : 'update';
      if (identifier !== undefined) note(named, target, { identifier, pointer: at, strength });
      nameWithin(named, target, item, at);
    }
  }
}

function note(named: Named, type: RecordType, { identifier, pointer, strength }: LockedRecord): void {
  const records = named.get(type) ?? new Map<number, LockedRecord>();
  const known = records.get(identifier);
  const strongest = known?.strength === 'update' ? 'update' : strength;
  named.set(type, records.set(identifier, { identifier, pointer: known?.pointer ?? pointer, strength: strongest }));
}

/** Lets foreign keys check the linked records; false if the body names records to change. */
export function trustLinks(session: WriteSession, type: RecordType, body: JsonObject): boolean {
  const named: Named = new Map();
  nameWithin(named, type, body, '');
  for (const [linked, records] of named)
    for (const { identifier, pointer = '', strength } of records.values()) {
      // Negative numbers refer to new records.
      if (strength !== 'key share' || identifier < 1) return false;
      remember(session, linked, identifier, pointer, []);
    }
  return true;
}

/** Returns the records locked against changes. */
async function lockAll(session: WriteSession, named: Named): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const locked: Promise<void>[] = [];
  for (const [type, records] of [...named].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1))) {
    // Adjacent records with the same lock share a statement.
    const runs: LockedRecord[][] = [];
    for (const record of [...records.values()].toSorted((a, b) => a.identifier - b.identifier)) {
      const run = runs.at(-1);
      if (run && run[0]?.strength === record.strength && isNamed(run[0]) === isNamed(record)) run.push(record);
      else runs.push([record]);
    }
    for (const run of runs)
      if (session.tables.locks || run.length >= BULK_FROM) locked.push(lockRun(session, type, run, held));
  }
  await Promise.all(locked);
  return held;
}

const isNamed = ({ pointer }: LockedRecord): boolean => pointer !== undefined;

async function lockRun(session: WriteSession, type: RecordType, run: readonly LockedRecord[], held: Set<string>) {
  const [first] = run;
  if (!first) return;
  const { lock, hold } = session.tables.of(type);
  const statement = (isNamed(first) ? lock : hold)(first.strength);
  // A short body can name thousands of long records.
  const charge = (row: Row): void => {
    for (const value of row) if (typeof value === 'string') session.caller.take(COPIES_OF_TEXT * value.length);
  };
  const identifiers = JSON.stringify(run.map(({ identifier }) => identifier));
  const rows = await session.writer.all(statement, [identifiers], run.length < BULK_FROM ? undefined : charge);
  const stored = new Map(rows.map((row) => [Number(row[0]), row]));
  if (first.strength === 'update') for (const identifier of stored.keys()) held.add(`${type.name} ${identifier}`);
  if (!isNamed(first)) return;
  for (const { identifier, pointer = '' } of run) remember(session, type, identifier, pointer, stored.get(identifier));
}
