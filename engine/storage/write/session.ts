/** One write while it is resolved: which records it touches, and what each is to become. Nothing is written yet. */
import { type Caller, PATIENT } from '../../edge/caller.ts';
import { inDocumentOrder, escapeStep, type JsonObject } from '../../json/json.ts';
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { type BodyRecord, documentOf } from '../../model/bodies.ts';
import { identifierIn, type JoinTable, type RecordType, type Relation } from '../../model/model.ts';
import { ALL_RIGHTS, type Rights } from '../../model/rights.ts';
import { type Fault, faultyRequest, Problem, type ProblemCode } from '../../problem.ts';
import { NO_RAW_VALUES, type RawMember, type RawMembers, type RawValues } from '../../json/tokenizer.ts';
import type { Reader, Row, Writer } from '../driver.ts';
import type { Stamp } from './stamps.ts';
import type { WriteTable, Tables } from './tables.ts';

/** A record that the write touches: an existing one, or a new one. */
export interface Node {
  readonly type: RecordType;
  readonly table: WriteTable;
  /** undefined until it is inserted, unless the client gave one: then the body may link it by that. */
  identifier: number | undefined;
  /** The row as it is; undefined for a new record. */
  readonly stored: Row | undefined;
  /** The first place of the body that mentions it. */
  pointer: string;
  /** By column, what the body gives. A node stands for the identifier that it will have. */
  readonly assigned: Map<string, Assigned>;
  /** The related records that the body gives each relation: if it gives them twice, both must agree. */
  related: Map<Relation, { readonly nodes: ReadonlySet<Node>; readonly pointer: string }> | undefined;
  /** The one child of its owner, new because there was none: required fields are checked later than by the validator. */
  readonly isOwnChild: boolean;
  /** By column, what the body says where it may only link. */
  linked: Map<string, SqlValue | Node> | undefined;
  /** Columns of which the body holds a value that is refused, or two that differ: no check compares them. */
  unusable: Set<string> | undefined;
  /** Whether a place of the body that may write it speaks of it. */
  isWritten: boolean;
  /** By key, for open types. */
  openKeys: Map<string, OpenKey> | undefined;
  /** The stored open keys, once they have been read. */
  storedOpenKeys: RawMembers | undefined;
}

interface OpenKey {
  /** undefined removes the key. */
  readonly member: RawMember | undefined;
  readonly pointer: string;
}

export interface Assigned {
  readonly value: SqlValue | Node;
  readonly pointer: string;
  /** Only because a set left the record out: a link in another part of the body wins. */
  readonly byOmission: boolean;
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

/**
 * A place where a record is only linked, and where it must be as the body says once all of the body is resolved: it is so
 * already, or another part of the body makes it so.
 */
export type LinkCheck = { readonly subject: Pick<Node, 'type' | 'identifier'>; readonly pointer: string } & (
  | { readonly node: Node; readonly column: string; readonly value: SqlValue | Node }
  | { readonly node: Node; readonly key: string; readonly text: string | undefined }
  | { readonly pair: string; readonly isWanted: boolean }
);

/** Children that a set leaves out and that stay where they are, unless another part of the body moves them. */
export interface LeftOut extends Released {
  readonly writable: boolean;
}

/** The position of a record in the body. */
export interface BodyPlace {
  readonly pointer: string;
  /** False below a relation that only links. */
  readonly writable: boolean;
  /** The relation and the record that led here; undefined at the root. */
  readonly via: { readonly relation: Relation; readonly parent: Node } | undefined;
}

/** A body, or a part of one, that is to be resolved. */
interface BodyItem {
  readonly node: Node;
  readonly body: JsonObject;
  readonly place: BodyPlace;
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

/** A dry run only reads. */
export const onlyReading = (reader: Reader): Writer => ({ ...NO_WRITER, ...reader });

/** Of a session that needs no database. */
export const NO_WRITER: Writer = {
  get: unasked,
  all: unasked,
  value: unasked,
  column: unasked,
  run: unasked,
};

/** Faults of places that hold valid values: what is there is looked at. */
const ABOUT_SEVERAL: ReadonlySet<string> = new Set(['contradiction', 'cycle', 'duplicate']);

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
  const misfits = faults.filter(({ code }) => !ABOUT_SEVERAL.has(code));
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
    faulty: new Set(misfits.flatMap((fault) => ('pointer' in fault ? fault.pointer : []))),
    /** Rows that one write may touch. */
    writeRows,
    /** Rows that are loaded draw from its budget. */
    caller,
    stamp,
    rights,
    /** Stored records by type and identifier: one record has one node, wherever it stands in the body. */
    existing: new Map<RecordType, Map<number, Node>>(),
    /** Identifiers of records that were looked for and do not exist. */
    absent: new Map<RecordType, Set<number>>(),
    /** New records by the identifiers that the body gives them. */
    given: new Map<RecordType, Map<number, Node>>(),
    /** By relation and owner: the child that is stored, null where there is none. */
    ownChildren: new Map<Relation, Map<number, number | null>>(),
    /** Bodies that are still to be resolved. */
    agenda: [] as BodyItem[],
    made: [] as Node[],
    inserted: new Set<Node>(),
    /** Records that sets leave out, with the pointers of the sets. */
    deleted: new Map<Node, string>(),
    /** All records that the plan deletes. */
    gone: new Map() as RecordSet,
    released: [] as Released[],
    leftOut: [] as LeftOut[],
    /** Stored records that the body names, with the pointers of their identifiers. */
    named: new Map<Node, string[]>(),
    checks: [] as LinkCheck[],
    /** Rows of join tables that the body adds, keeps or removes. */
    pairs: new Map<string, JoinPair>(),
    refusals: [] as { readonly code: ProblemCode; readonly fault: Fault }[],
  };
}

/** The node of a record that is there, or undefined where there is none. */
export async function touch(
  session: WriteSession,
  type: RecordType,
  identifier: number,
  pointer: string,
): Promise<Node | undefined> {
  const found = session.existing.get(type)?.get(identifier);
  if (found || session.absent.get(type)?.has(identifier) === true) return found;
  const stored = await session.writer.get(session.tables.of(type).load, [identifier]);
  return stored && rememberRow(session, type, stored, pointer);
}

/** The node of a row that was loaded: before the body is worked out, or when it first names the record. */
export function rememberRow(session: WriteSession, type: RecordType, stored: Row, pointer: string): Node {
  const known = session.existing.get(type) ?? new Map<number, Node>();
  session.existing.set(type, known);
  const identifier = Number(stored[0]);
  const node = blank(session.tables.of(type), pointer, identifier, stored);
  known.set(identifier, node);
  return node;
}

/** The node of a record that is to be made. */
export function make(
  session: WriteSession,
  type: RecordType,
  identifier: number | undefined,
  pointer: string,
  isOwnChild = false,
): Node {
  const node = blank(session.tables.of(type), pointer, identifier, undefined, isOwnChild);
  session.made.push(node);
  if (identifier !== undefined)
    session.given.set(type, (session.given.get(type) ?? new Map<number, Node>()).set(identifier, node));
  return node;
}

const blank = (
  table: WriteTable,
  pointer: string,
  identifier: number | undefined,
  stored: Row | undefined,
  isOwnChild = false,
): Node => ({
  type: table.type,
  table,
  identifier,
  stored,
  pointer,
  assigned: new Map(),
  isOwnChild,
  isWritten: false,
  // Most records need none of these.
  related: undefined,
  linked: undefined,
  unusable: undefined,
  openKeys: undefined,
  storedOpenKeys: undefined,
});

/** The value that links to a record are compared by: a new record stands for itself, even if the body gives its identifier. */
export const idOf = (node: Node): number | Node => (node.stored ? (node.identifier ?? node) : node);

/** The stored value of a column; undefined for a new record. */
export function storedValue({ stored, table }: Node, column: string): SqlValue | undefined {
  return stored?.[table.position.get(column) ?? -1];
}

export function refuse(session: WriteSession, code: ProblemCode, pointer: string, word: string, message: string): void {
  session.refusals.push({ code, fault: { pointer, code: word, message } });
}

/** Takes back what was refused in this word: all of it is told in another way. */
export function withdraw(session: WriteSession, word: string): void {
  session.refusals = session.refusals.filter(({ fault }) => fault.code !== word);
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

/** The nodes of the records that the request writes; undefined where there is none, or where it is refused as a duplicate. */
export async function rootsOf(session: WriteSession, type: RecordType): Promise<readonly (Node | undefined)[]> {
  const roots: (Node | undefined)[] = [];
  const seen = new Set<number>();
  for (const { body, identifier, pointer } of session.records) {
    const given = identifier ?? identifierIn(body, type);
    if (given !== undefined && seen.has(given)) roots.push(undefined);
    else if (identifier === undefined) roots.push(make(session, type, given, pointer));
    else roots.push(session.existing.get(type)?.get(identifier) ?? (await touch(session, type, identifier, pointer)));
    if (given !== undefined) seen.add(given);
  }
  return roots;
}

/** Also notes where they stand: the body cannot delete one of them in another place. */
export function requireFound(session: WriteSession, type: RecordType, roots: readonly (Node | undefined)[]): void {
  const missing: Fault[] = [];
  for (const [index, { identifier, pointer }] of session.records.entries()) {
    const node = roots[index];
    if (node && !node.stored) continue;
    // One that the path names is not named by the body.
    const place = pointer === '' ? '' : `${pointer}/${escapeStep(type.identifier.name)}`;
    const message = `There is no ${type.name} ${identifier ?? ''}`;
    if (!node) missing.push({ pointer: place, code: 'not-found', message });
    else session.named.set(node, [place, ...(session.named.get(node) ?? [])]);
  }
  const [first] = missing;
  if (!first) return;
  throw session.records[0]?.pointer === ''
    ? new Problem('record-not-found', first.message)
    : faultyRequest('record-not-found', missing);
}
