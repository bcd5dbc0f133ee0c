/**
 * Plans the return of a deleted record with what the deletion took: its parts, and the links from and to it, of which the
 * log has entries by the same write.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, parsedJson } from '../../json/json.ts';
import { membersOf } from '../../json/raw.ts';
import type { RawMember } from '../../json/tokenizer.ts';
import { memoized } from '../../memo.ts';
import { type Identifier, linkedIn } from '../../model/identifier.ts';
import { OPEN_COLUMN, type RecordType, type Reference } from '../../model/model.ts';
import { namesRecords, seesMember } from '../../model/rights.ts';
import { type Fault, faultyRequest, Problem } from '../../problem.ts';
import { type Column, encode, hasDefault, stampFor } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Statement } from '../driver.ts';
import type { RecordRestoration } from '../store.ts';
import { ALL_ALLOWED } from '../write/allowed.ts';
import { frozen, planWrite, type RowChange, type WritePlan } from '../write/plan.ts';
import { holdToChecks } from '../write/resolve.ts';
import {
  make,
  nameOf,
  type Node,
  refuse,
  remember,
  storedValue,
  throwRefused,
  type WriteSession,
} from '../write/session.ts';
import type { Strength } from '../write/tables.ts';
import { identifierIn, valueOf } from './entries.ts';
import { partsFor } from './history.ts';
import { LOG_TABLE } from './recording.ts';

export const noDeletion = ({ type, identifier }: Pick<RecordRestoration, 'type' | 'identifier'>): Problem =>
  new Problem('record-not-found', `The history has no deletion of ${type.name} ${identifier} that could be undone`);

function tooManyRestored(most: number): Problem {
  const message = `The deletion took or unlinked more than ${most} records, which is more than one step can bring back`;
  return faultyRequest('too-many-rows', [{ pointer: '', code: 'too-many-rows', message }]);
}

const createStatements = memoized(({ oneOf, log, locks }: Dialect) => {
  const from = `select record, "old", "new", source, owner, tx, position from ${LOG_TABLE} where`;
  const inRange = 'position between ? and ? and tx = ?';
  // PostgreSQL has an index for the rest.
  const inWrite = `${from} ${locks ? '+' : ''}${inRange}`;
  const newest = 'order by position desc';
  return {
    /** Bound: table, identifier as text. */
    last: { sql: `${from} operation = 'delete' and source = ? and record = ? ${newest} limit 1` },
    /** Bound: positions of the write, its number, owners. */
    parts: { sql: `${inWrite} and operation = 'delete' and ${oneOf('owner', 'text')} and "old" is not null ${newest}` },
    /** Bound: positions of the write, its number, table of links, identifiers as texts. */
    links: { sql: `${inWrite} and operation = 'unlink' and source = ? and ${oneOf('record', 'text')} ${newest}` },
    /** Bound: positions of the write, its number, table, what the JSON of old values must contain. */
    cut: {
      sql: `${from} ${inRange} and operation = 'update' and source = ? and replace("old", ?, '') <> "old" ${newest}`,
    },
    /** The next entry of another write. Bound: number of the write, position. */
    next: { sql: `select position from ${LOG_TABLE} where tx <> ? and position > ? order by position limit 1` },
    /** Bound: pairs of table and identifier, position, what the JSON of new values must contain. */
    later: { sql: `${from} ${log.own} and +position > ? and replace("new", ?, '') <> "new"` },
  } satisfies Readonly<Record<string, Statement>>;
});

interface Restoring {
  readonly session: WriteSession;
  readonly statements: ReturnType<typeof createStatements>;
  /** Of the write that deleted the record: between which positions its entries are, and its number. */
  readonly write: readonly [first: number, last: number, tx: number];
  /** The position of the deletion. */
  readonly position: number;
  /** By table and identifier, the last deleted first. */
  readonly restored: Map<string, Restored>;
}

interface Restored {
  readonly node: Node;
  readonly identifier: Identifier;
  readonly old: Map<string, RawMember>;
}

const placeOf = ({ table }: RecordType, identifier: Identifier): string => `${table}/${identifier}`;

/** The place of what the client may not read; no name begins like this. */
const UNSEEN = '/$';

/** Says nothing of what the client may not read. */
export const restoreFault = (fault: Fault): Fault =>
  'pointer' in fault && fault.pointer.startsWith(UNSEEN)
    ? { pointer: '', code: fault.code, message: 'Something that you may not read stands in the way' }
    : fault;

export async function planRestore(
  session: WriteSession,
  dialect: Dialect,
  { type, identifier }: Pick<RecordRestoration, 'type' | 'identifier'>,
): Promise<WritePlan> {
  const statements = createStatements(dialect);
  const deletion = (await session.writer.get(statements.last, [type.table, String(identifier)])) ?? [];
  const [, old = null, , , , tx = 0, position = 0] = deletion;
  if (old === null) throw noDeletion({ type, identifier });
  const node = make(session, type, identifier, '');
  const restored = new Map([[placeOf(type, identifier), { node, identifier, old: new Map(membersOf(String(old))) }]]);
  // On SQLite, no other write comes in between.
  const next = dialect.locks ? undefined : await session.writer.value(statements.next, [tx, position]);
  const write = [Math.abs(Number(tx)), Number(next ?? Number.MAX_SAFE_INTEGER), Number(tx)] as const;
  const restoring = { session, statements, write, position: Number(position), restored };
  for (let places = [...restored.keys()]; places.length > 0;) places = await restoreParts(restoring, places);
  for (const [target, some] of Map.groupBy(restored.values(), (one) => one.node.type)) {
    await relinkPairs(restoring, target, some);
    await relinkCut(restoring, target);
  }
  for (const one of restored.values()) await fill(restoring, one);
  holdToChecks(session);
  throwRefused(session, 'invalid-reference');
  throwRefused(session, 'invalid-body');
  const plan = await planWrite(session, ALL_ALLOWED, [node]);
  return session.isDry && !session.rights.checked ? plan : frozen({ ...plan, rows: linkedLater(plan.rows, restoring) });
}

/** Links to records that are made later are set at the end, one by one, as they may lead round in circles. */
function linkedLater(rows: readonly RowChange[], { restored }: Restoring): readonly RowChange[] {
  const missing = new Set(restored.keys());
  const later: RowChange[] = [];
  const made = rows.map((row) => {
    missing.delete(placeOf(row.type, row.identifier ?? 0));
    const links = [...row.set].filter(([column, to]) => {
      const { target } = row.type.references.find((one) => one.column === column) ?? {};
      return target && missing.has(`${target.table}/${String(to)}`);
    });
    for (const link of links) later.push({ ...row, kind: 'update', before: [], set: new Map([link]), isHidden: true });
    return { ...row, set: new Map([...row.set, ...links.map(([column]) => [column, null] as const)]) };
  });
  return [...made, ...later];
}

/** Records that the same write deleted with their owners. Returns their places. */
async function restoreParts({ session, statements, write, restored }: Restoring, owners: readonly string[]) {
  const { writer, writeRows, rights } = session;
  const found: string[] = [];
  let rows = restored.size;
  const limit = (): void => {
    if ((rows += 1) > writeRows) throw tooManyRestored(writeRows);
  };
  const bound = [...write, JSON.stringify(owners)];
  for (const [record, old, , source, owner] of await writer.all(statements.parts, bound, limit)) {
    const { type, pointer = '' } = restored.get(String(owner))?.node ?? {};
    const relation = [...(type?.relations.values() ?? [])].find((one) => one.owned && one.target.table === source);
    if (!relation) continue;
    const identifier = identifierIn(relation.target, String(record));
    const place = placeOf(relation.target, identifier);
    if (restored.has(place)) continue;
    const isSeen = partsFor(rights, relation.source).includes(relation);
    const at = isSeen ? `${pointer}/${relation.name}/${escapeStep(String(identifier))}` : UNSEEN;
    const node = make(session, relation.target, identifier, at);
    restored.set(place, { node, identifier, old: new Map(membersOf(String(old))) });
    found.push(place);
  }
  return found;
}

/** The record as it is now; undefined if it is gone. */
async function present(session: WriteSession, type: RecordType, identifier: Identifier, strength: Strength) {
  const known = session.existing.get(type)?.get(identifier);
  if (known) return known;
  const { load } = session.tables.of(type).locking(strength);
  const [row] = await session.writer.all(load, [JSON.stringify([identifier])]);
  return row && remember(session, type, identifier, namesRecords(session.rights, type) ? '' : UNSEEN, row);
}

/** The identifier in the JSON of a link; null if its record is gone, also where identifiers were of another kind. */
async function linkIn({ session, restored }: Restoring, target: RecordType, json: string): Promise<Identifier | null> {
  const identifier = linkedIn(target.identifier, parsedJson(json)) ?? null;
  if (identifier === null || restored.has(placeOf(target, identifier))) return identifier;
  return (await present(session, target, identifier, 'key share')) ? identifier : null;
}

function valueIn(session: WriteSession, { field, nullable, name }: Column, json: string): SqlValue {
  if (!field) return name === OPEN_COLUMN && json.startsWith('{') ? json : null;
  const text = valueOf(field, json) ?? 'null';
  if (text !== 'null') return field.type.keepsText ? text : encode(field, session.dialect, JSON.parse(text));
  return !nullable && (field.generated ?? field.isNowByDefault) ? stampFor(session, field) : null;
}

/** Gives the record its values, and its links to records that are there. It comes after the restored ones that it must link. */
async function fill(restoring: Restoring, { node, old }: Restored): Promise<void> {
  const { session, restored } = restoring;
  node.isWritten = true;
  for (const column of node.table.columns) {
    const { name, field, reference, folds, nullable } = column;
    if (folds) continue;
    const json = old.get(name)?.text ?? 'null';
    const value = reference ? await linkIn(restoring, reference.target, json) : valueIn(session, column, json);
    const to = reference && !nullable ? restored.get(`${reference.target.table}/${value}`)?.node : undefined;
    const member = field ?? reference?.relation;
    const isNamed = !reference || namesRecords(session.rights, reference.target);
    const isSeen = member && isNamed && seesMember(session.rights, node.type, member);
    const pointer = isSeen ? `${node.pointer}/${escapeStep(member.name)}` : UNSEEN;
    if (value !== null || nullable) node.assigned.set(name, { value: to ?? value, pointer, byOmission: false });
    else if (!hasDefault(column) && name !== OPEN_COLUMN) {
      const isGone = reference && json !== 'null';
      const why = isGone
        ? `links ${reference.target.name} ${JSON.parse(json)}, which is gone; bring that back first`
        : 'is required, and the history has no value that it can have today; create a new record instead';
      refuse(session, 'invalid-reference', pointer, 'required', `"${member?.name}" of ${nameOf(node)} ${why}`);
    }
  }
}

/** The many-to-many links of restored records of a type. */
async function relinkPairs(restoring: Restoring, type: RecordType, some: readonly Restored[]): Promise<void> {
  const { session, statements, write, restored } = restoring;
  const { writer, tables, pairs, rights } = session;
  const records = JSON.stringify(some.map(({ identifier }) => String(identifier)));
  for (const [table, column] of tables.joinsOf(type)) {
    const isLeft = column === table.left.column;
    const other = isLeft ? table.right : table.left;
    for (const [record, was] of await writer.all(statements.links, [...write, table.name, records])) {
      const { node, identifier } = restored.get(placeOf(type, String(record))) ?? {};
      const linked = await linkIn(restoring, other.type, membersOf(String(was)).get(other.column)?.text ?? 'null');
      if (!node || identifier === undefined || linked === null) continue;
      const [left, right] = isLeft ? [identifier, linked] : [linked, identifier];
      const pointer = namesRecords(rights, other.type) ? node.pointer : UNSEEN;
      const pair = { table, left, right, pointer, isStored: false, isWanted: true, holder: node };
      pairs.set(`${table.name} ${left} ${right}`, pair);
    }
  }
}

/** Links to the restored records of a type that the write cut and nobody has set since. */
async function relinkCut(restoring: Restoring, target: RecordType): Promise<void> {
  const { session, statements, position, restored } = restoring;
  const { writer, writeRows } = session;
  const [first, last, tx] = restoring.write;
  for (const { type, reference } of target.referrers) {
    const unlinked = new Map<Identifier, Node>();
    // Cascades of other programs may change links after the deletion.
    const bound = [first, tx < 0 ? last : position, tx, type.table, `"${reference.column}":`];
    for (const [record, was, is] of await writer.all(statements.cut, bound)) {
      const [before = new Map(), after] = [was, is].map((text) => membersOf(String(text)));
      const linked = JSON.parse(before.get(reference.column)?.text ?? 'null') as Identifier | null;
      const to = linked === null ? undefined : restored.get(placeOf(target, linked));
      if (!to) continue;
      const child = identifierIn(type, String(record));
      const { node, old } = restored.get(placeOf(type, child)) ?? {};
      for (const [name, member] of before)
        if (name === reference.column || node?.table.columnOf.get(name)?.field?.generated) old?.set(name, member);
      if (!node && after?.get(reference.column)?.text === 'null') unlinked.set(child, to.node);
    }
    if (unlinked.size > writeRows) throw tooManyRestored(writeRows);
    await linkAgain(restoring, type, reference, unlinked);
  }
}

/** Links the records again, by identifier, unless somebody has set their links since. */
async function linkAgain(
  { session, statements, position }: Restoring,
  type: RecordType,
  { column }: Reference,
  unlinked: ReadonlyMap<Identifier, Node>,
): Promise<void> {
  const children = new Map<string, readonly [child: Node, to: Node]>();
  for (const [identifier, to] of unlinked) {
    const child = await present(session, type, identifier, 'update');
    if (child && storedValue(child, column) === null) children.set(String(identifier), [child, to]);
  }
  const places = [...children.keys()].map((record) => [type.table, record]);
  const bound = [JSON.stringify(places), position, `"${column}":`];
  for (const [record, , is] of await session.writer.all(statements.later, bound))
    if ((membersOf(String(is)).get(column)?.text ?? 'null') !== 'null') children.delete(String(record));
  for (const [child, to] of children.values())
    child.assigned.set(column, { value: to, pointer: to.pointer, byOmission: false });
}
