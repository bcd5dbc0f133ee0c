/** One write while it is resolved: the records that it touches, and what each is to become. Nothing is written yet. */
import { type Caller, PATIENT } from '../../edge/caller.ts';
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { inDocumentOrder } from '../../json/json.ts';
import { NO_RAW_VALUES, type RawMember, type RawMembers, type RawValues } from '../../json/tokenizer.ts';
import { type BodyRecord, documentOf } from '../../model/bodies.ts';
import type { JoinTable, RecordType, Relation } from '../../model/model.ts';
import { ALL_RIGHTS, type Rights } from '../../model/rights.ts';
import { type Fault, faultyRequest, type ProblemCode } from '../../problem.ts';
import type { Reader, Row, Writer } from '../driver.ts';
import type { Stamp } from './stamps.ts';
import type { Tables, WriteTable } from './tables.ts';

/** A record that the write touches: wherever the body mentions it, it is one node. */
export interface Node {
  readonly type: RecordType;
  readonly table: WriteTable;
  /** undefined until it is inserted, unless the client gave one. */
  identifier: number | undefined;
  /** The row as it is; undefined for a new record, and for one that is lost. */
  readonly stored: Row | undefined;
  /** The body names it and it does not exist, or it is new within such a record: it is only compared with itself. */
  readonly isLost: boolean;
  /** The child of an owned to-one relation, new because there was none: its required fields are checked after the validator. */
  readonly isOwnChild: boolean;
  /** The first place of the body that mentions it. */
  readonly pointer: string;
  /** Whether the body writes it in some place, and does not only link it. */
  isWritten: boolean;
  /** By column, what is written. A node stands for the identifier that it will have. */
  readonly assigned: Map<string, Assigned>;
  /** By column, what places say that may only link the record. */
  readonly linked: Map<string, Assigned>;
  /** By relation, the related records of the first place that names them. */
  readonly related: Map<Relation, Related>;
  /** Columns of which the body holds a value that is refused, or two that differ: no check compares them. */
  readonly unusable: Set<string>;
  /** By key, of open types. */
  readonly openKeys: Map<string, OpenKey>;
  /** The stored open keys, once they have been read. */
  storedOpenKeys: RawMembers | undefined;
}

export interface Assigned {
  readonly value: SqlValue | Node;
  readonly pointer: string;
  /** Only because a set left the record out: a link in another part of the body wins. */
  readonly byOmission: boolean;
}

export interface Related {
  readonly nodes: ReadonlySet<Node>;
  readonly pointer: string;
  /** Of two places that contradict each other, the later one is refused. */
  readonly order: number;
}

interface OpenKey {
  /** undefined removes the key. */
  readonly member: RawMember | undefined;
  readonly pointer: string;
  readonly isWritten: boolean;
}

/** Identifiers by table. */
export type RecordSet = Map<string, Set<number>>;

/** Children that a set leaves out: deleted where they are owned, else unlinked. */
export interface Released {
  readonly relation: Relation;
  readonly column: string;
  readonly identifiers: readonly number[];
  readonly pointer: string;
}

export interface JoinPair {
  readonly table: JoinTable;
  readonly left: number | Node;
  readonly right: number | Node;
  readonly pointer: string;
  readonly isStored: boolean;
  /** False if the row is removed. A row that one part of the body wants is not removed by another. */
  readonly isWanted: boolean;
}

/** The position of a record, or of a value, in the body. */
export interface BodyPlace {
  readonly pointer: string;
  /** False below a relation that only links. */
  readonly writable: boolean;
  /** Within a record that does not exist. */
  readonly isLost: boolean;
  /** The relation and the record that led here; undefined at the root. */
  readonly via: { readonly relation: Relation; readonly parent: Node } | undefined;
}

/** A place that only links a record and differs from what is stored: another part of the body must make it so. */
export interface LinkCheck {
  readonly subject: Pick<Node, 'type' | 'identifier'>;
  readonly pointer: string;
  readonly holds: () => boolean;
}

export interface Rules {
  /** RFC 7396 inside values that are stored as JSON, and for open keys. */
  readonly mergePatch: boolean;
  /** Seeds may set read-only fields. */
  readonly readOnlyToo: boolean;
}

export type WriteSession = ReturnType<typeof createSession>;

function unasked(): never {
  throw new Error('This part of a write does not use the database');
}

/** For a session that needs no database. */
export const NO_WRITER: Writer = { get: unasked, all: unasked, value: unasked, column: unasked, run: unasked };

/** A dry run only reads. */
export const onlyReading = (reader: Reader): Writer => ({ ...NO_WRITER, ...reader });

/** Seeds and imports come from operators. */
export const UNLIMITED_ROWS = 1_000_000_000;

interface Given {
  readonly records?: readonly BodyRecord[];
  readonly raw?: RawValues | undefined;
  readonly faults?: readonly Fault[] | undefined;
  readonly writeRows?: number | undefined;
  readonly caller?: Caller | undefined;
  readonly stamp: Stamp;
  readonly rights?: Rights | undefined;
}

export function createSession(
  writer: Writer,
  tables: Tables,
  dialect: DialectName,
  rules: Rules,
  { records = [], raw = NO_RAW_VALUES, faults = [], writeRows = UNLIMITED_ROWS, caller = PATIENT, ...given }: Given,
) {
  const { stamp, rights = ALL_RIGHTS } = given;
  return {
    writer,
    tables,
    dialect,
    rules,
    /** The records that the request writes. "The body" is all of them, and what is nested in them. */
    records,
    /** JSON texts of values that are stored as they were sent. */
    raw,
    /** Faults that the validator found. With one, the body is resolved only to find the others: nothing is written. */
    faults,
    /** Places of values that do not fit their type: these are not resolved. */
    faulty: new Set(faults.flatMap((fault) => ('pointer' in fault ? fault.pointer : []))),
    /** Rows that one write may touch. */
    writeRows,
    caller,
    stamp,
    rights,
    /** Stored records by type and identifier. */
    existing: new Map<RecordType, Map<number, Node>>(),
    /** Records that were looked for and do not exist. */
    absent: new Map<RecordType, Map<number, Node>>(),
    /** New records by the identifiers that the body gives them. */
    given: new Map<RecordType, Map<number, Node>>(),
    made: [] as Node[],
    inserted: new Set<Node>(),
    /** Records that sets leave out, with the pointers of the sets. */
    deleted: new Map<Node, string>(),
    /** All records that the plan deletes. */
    gone: new Map() as RecordSet,
    released: [] as Released[],
    /** Children that a set leaves out and that stay where they are, unless another part of the body moves them. */
    leftOut: [] as (Released & { readonly writable: boolean })[],
    /** Stored records that the body names, with the pointers of their identifiers. */
    named: new Map<Node, string[]>(),
    checks: [] as LinkCheck[],
    /** Rows of join tables that the body adds, keeps or removes. */
    pairs: new Map<string, JoinPair>(),
    /** Of each new record, its links to other new ones: those are inserted before it. */
    awaits: new Map<Node, { readonly parent: Node; readonly pointer: string }[]>(),
    /** Nodes of which the body names related records. */
    relating: [] as Node[],
    /** Places that name related records, so far. */
    places: 0,
    refusals: [] as { readonly code: ProblemCode; readonly fault: Fault }[],
    /** Places that contradict earlier ones: refused where nothing else is wrong with the body. */
    contradictions: [] as Fault[],
  };
}

function noteIn<K, V>(maps: Map<K, Map<number, V>>, key: K, identifier: number, value: V): V {
  const known = maps.get(key) ?? new Map<number, V>();
  maps.set(key, known.set(identifier, value));
  return value;
}

const createNode = (
  table: WriteTable,
  pointer: string,
  { identifier, stored, isLost = false, isOwnChild = false }: Partial<Node>,
): Node => ({
  type: table.type,
  table,
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
  openKeys: new Map(),
  storedOpenKeys: undefined,
});

/** The node of a record that the body names. */
export async function touch(
  session: WriteSession,
  type: RecordType,
  identifier: number,
  pointer: string,
): Promise<Node> {
  const known = session.existing.get(type)?.get(identifier) ?? session.absent.get(type)?.get(identifier);
  if (known) return known;
  const stored = await session.writer.get(session.tables.of(type).load, [identifier]);
  return stored ? rememberRow(session, type, stored, pointer) : rememberAbsent(session, type, identifier, pointer);
}

export const rememberRow = (session: WriteSession, type: RecordType, stored: Row, pointer: string): Node => {
  const identifier = Number(stored[0]);
  const node = createNode(session.tables.of(type), pointer, { identifier, stored });
  return noteIn(session.existing, type, identifier, node);
};

export const rememberAbsent = (session: WriteSession, type: RecordType, identifier: number, pointer: string): Node =>
  noteIn(session.absent, type, identifier, createNode(session.tables.of(type), pointer, { identifier, isLost: true }));

/** The node of a record that is to be made. */
export function make(
  session: WriteSession,
  type: RecordType,
  identifier: number | undefined,
  pointer: string,
  is: Partial<Pick<Node, 'isOwnChild' | 'isLost'>> = {},
): Node {
  const node = createNode(session.tables.of(type), pointer, { identifier, ...is });
  if (node.isLost) return node;
  session.made.push(node);
  return identifier === undefined ? node : noteIn(session.given, type, identifier, node);
}

/** The value that links to a record are compared by: a new record stands for itself, even if the body gives its identifier. */
export const idOf = (node: Node): number | Node => (node.stored ? (node.identifier ?? node) : node);

/** "Owner 7", for messages. */
export const nameOf = ({ type, identifier }: Pick<Node, 'type' | 'identifier'>): string =>
  `${type.name} ${identifier ?? ''}`.trim();

/** The stored value of a column; undefined for a new record. */
export function storedValue({ stored, table }: Node, column: string): SqlValue | undefined {
  return stored?.[table.position.get(column) ?? -1];
}

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

/** Whether the body gives the column, also where it may only link. */
export const isSaid = ({ assigned, linked }: Node, column: string): boolean =>
  assigned.get(column)?.byOmission === false || linked.has(column);

/** Whether a record that may only be linked can be compared with the body: it is there, or another place makes it. */
export const isCompared = ({ stored, isOwnChild, identifier }: Node): boolean =>
  stored !== undefined || isOwnChild || identifier !== undefined;

interface Assignment {
  readonly column: string;
  readonly value: SqlValue | Node;
  readonly pointer: string;
  /** False where the record is only linked: then what is stored must be what the body says. */
  readonly writable: boolean;
  /** Whether the body says the same as is stored, however it is written. */
  readonly same?: boolean;
  /** False inside a record that may only be linked and is not there: that it is missing is all there is to say. */
  readonly compared?: boolean;
}

/** Notes what the body says of a column. */
export function assign(session: WriteSession, node: Node, assignment: Assignment): void {
  const { column, value, pointer, writable, same, compared = true } = assignment;
  const before = node.assigned.get(column) ?? node.linked.get(column);
  if (before && before.value !== value) {
    node.unusable.add(column);
    return contradict(session, pointer, before.pointer);
  }
  const said = { value, pointer, byOmission: false };
  if (!before && isNode(value) && value !== node && !node.stored && !node.isLost && !value.isLost)
    session.awaits.set(node, [...(session.awaits.get(node) ?? []), { parent: value, pointer }]);
  if (writable && !node.assigned.has(column)) node.assigned.set(column, said);
  if (writable) return undefined;
  if (!before) node.linked.set(column, said);
  const isSame = node.stored ? (same ?? storedValue(node, column) === value) : !isCompared(node);
  if (compared && !isSame)
    session.checks.push({ subject: node, pointer, holds: () => willHold(node, column) === value });
  return undefined;
}

export function refuse(session: WriteSession, code: ProblemCode, pointer: string, word: string, message: string): void {
  session.refusals.push({ code, fault: { pointer, code: word, message } });
}

/** Two places of one body give a record different values or related records. */
export function contradict({ contradictions }: WriteSession, pointer: string, other: string): void {
  const message = `${pointer} and ${other} give the same record different values; leave one out, or make them agree`;
  contradictions.push({ pointer, code: 'contradiction', message });
}

/** Throws what was refused for this reason, all of it at once, and with it what was known before. */
export function throwRefused(
  { refusals, records }: WriteSession,
  code: ProblemCode,
  known: readonly Fault[] = [],
): void {
  const refused = refusals.flatMap((refusal) => (refusal.code === code ? [refusal.fault] : []));
  if (refused.length + known.length > 0)
    throw faultyRequest(code, inDocumentOrder([...known, ...refused], documentOf(records)));
}
