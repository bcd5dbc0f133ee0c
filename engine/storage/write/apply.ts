/**
 * Applies a plan: sends its statements, and returns the identifiers of the new records. If the database refuses one, names
 * the record of the body and the field: the plan has refused what the rules of the model forbid, so the rule is of others.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { compareIdentifiers, type Identifier } from '../../model/identifier.ts';
import { escapeStep } from '../../json/json.ts';
import type { RecordType } from '../../model/model.ts';
import { knownMembers } from '../../model/rights.ts';
import { faultyRequest, Problem, reasonOf } from '../../problem.ts';
import { columnOf } from '../columns.ts';
import { type BoundStatement, ConstraintError, type Reader } from '../driver.ts';
import { RefusedByOthers } from '../unavailable.ts';
import { confirm } from './allowed.ts';
import { type Rows, TOO_DEEP } from './cascade.ts';
import { greatestOf, isNew, noteIdentifier, numberOf, type RowChange, type WritePlan } from './plan.ts';
import type { SessionRequest, WriteContext, WriteSession } from './session.ts';
import { MAX_LISTED, rowsJson } from './tables.ts';

export async function apply(session: WriteSession, plan: WritePlan): Promise<readonly Identifier[]> {
  const { writer, tables } = session;
  const { clear } = tables.attribution;
  const [attribution] = attributionOf(session, isRecorded(plan));
  if (!attribution) return carryOut(session, plan);
  // PostgreSQL gets it together with the first change.
  const attributed = writer.run(attribution.statement, attribution.values);
  const [identifiers] = await Promise.all([carryOut(session, plan), attributed]);
  if (clear) await writer.run(clear, []);
  return identifiers;
}

export const isRecorded = ({ rows, pairs }: Pick<WritePlan, 'rows' | 'pairs'>): boolean =>
  rows.some(({ type }) => type.history) ||
  pairs.some(({ table: { left, right } }) => left.type.history || right.type.history);

/** Says who makes the changes that are recorded. */
export const attributionOf = (
  { tables, stamp, caller }: Pick<WriteContext, 'tables'> & Pick<SessionRequest, 'stamp' | 'caller'>,
  hasEntries: boolean,
): readonly BoundStatement[] =>
  hasEntries ? [{ statement: tables.attribution.set, values: [stamp.author, caller?.request ?? null] }] : [];

async function carryOut(session: WriteSession, { rows, pairs, expected }: WritePlan): Promise<readonly Identifier[]> {
  const { writer, tables } = session;
  const identifiers: Identifier[] = [];
  const removed = pairs.filter(({ kind }) => kind === 'remove');
  for (const [table, some] of Map.groupBy(removed, (pair) => pair.table))
    await writer.run(tables.rows(table).remove, [JSON.stringify(some.map(({ left, right }) => [left, right]))]);
  // Reserves identifiers that the body gives.
  const reserved = rows.filter(({ kind, identifier }) => kind === 'insert' && identifier !== undefined);
  for (const [type, some] of Map.groupBy(reserved, (change) => change.type)) {
    for (const change of some) noteIdentifier(identifiers, change, change.identifier ?? 0);
    // A sequence of PostgreSQL would stay moved.
    if (!session.isDry)
      for (const statement of tables.of(type).moveSequence) await writer.run(statement, [greatestOf(some)]);
  }
  for (const group of groupsOf(rows)) {
    const [first] = group;
    if (first?.kind === 'delete') await removeRows(session, group);
    else if (first?.kind === 'insert') await insertRows(session, group, identifiers);
    else
      await runAll(
        session,
        group.map((change) => updateOf(session, change, identifiers)),
        identifiers,
      );
  }
  const added = pairs.filter(({ kind }) => kind === 'add');
  await runAll(
    session,
    added.map(({ table, left, right, at }) => ({
      statement: tables.rows(table).insert,
      values: [numberOf(left, identifiers), numberOf(right, identifiers)],
      rows: 0,
      at,
    })),
    identifiers,
  );
  const final = expected.map(({ record, ...one }) => ({ ...one, record: numberOf(record, identifiers) }));
  await confirm(session, final);
  return identifiers;
}

/** Changes to send together: all deletions, updates, or inserts into one table that do not refer to each other. */
function groupsOf(rows: readonly RowChange[]): readonly (readonly RowChange[])[] {
  const groups: RowChange[][] = [];
  for (const change of rows) {
    const last = groups.at(-1);
    if (last && belongs(change, last)) last.push(change);
    else groups.push([change]);
  }
  return groups;
}

const MAX_ROWS = 1000;

function belongs(change: RowChange, group: readonly RowChange[]): boolean {
  const [first] = group;
  if (first?.kind !== change.kind) return false;
  if (change.kind !== 'insert') return true;
  if (first.type.table !== change.type.table || group.length === MAX_ROWS) return false;
  if ((first.identifier === undefined) !== (change.identifier === undefined)) return false;
  return change.type.references.every(({ column }) => {
    const value = change.set.get(column) ?? null;
    return !isNew(value) || !group.some(({ rows: [row] }) => row === value);
  });
}

interface Sent extends BoundStatement {
  readonly change?: RowChange;
  /** How many it must change; a pair may be there already. */
  readonly rows: number;
  readonly at: string;
}

/** Sends all statements at once, and waits for all before it throws: none must run after the transaction. */
async function runAll(session: WriteSession, all: readonly Sent[], identifiers: Identifier[]): Promise<void> {
  if (all.length === 0) return;
  const ended = await Promise.allSettled(
    all.map(async ({ statement, values, change, rows }) => {
      const { changes, identifier } = await session.writer.run(statement, values);
      if (changes < rows) throw new RefusedByOthers(LEFT_OUT, undefined);
      if (change) noteIdentifier(identifiers, change, identifier);
    }),
  );
  for (const [index, one] of ended.entries())
    if (one.status === 'rejected') {
      const { change, at = '' } = all[index] ?? {};
      throw explained(session, one.reason, change ? [change] : [], at);
    }
}

/** A change of rows that were not read only cuts a link. */
function updateOf({ tables }: WriteSession, change: RowChange, identifiers: readonly Identifier[]): Sent {
  const { type, rows, set, before, at } = change;
  const table = tables.of(type);
  const columns = [...set.keys()];
  const values = [...set.values()].map((value) => numberOf(value, identifiers));
  const [row = 0] = rows;
  if (before) {
    const bound = [...values, numberOf(row, identifiers)];
    return { statement: table.update(columns.join(), columns), values: bound, change, rows: 1, at };
  }
  const [link = ''] = columns;
  const bound = [...values.slice(1), JSON.stringify(rows)];
  return { statement: table.linksIn(link).cut, values: bound, rows: rows.length, at };
}

async function insertRows(session: WriteSession, changes: readonly RowChange[], identifiers: Identifier[]) {
  const [first] = changes;
  if (!first) return;
  const { tables, isSearched, writer } = session;
  const { statement, columns, many } = tables.of(first.type).insert[
    first.identifier === undefined ? 'generated' : 'explicit'
  ];
  const valuesOf = ({ set, identifier }: RowChange): readonly SqlValue[] =>
    columns.map((name) => (set.has(name) ? numberOf(set.get(name) ?? null, identifiers) : (identifier ?? null)));
  // A statement for several rows would not say which one a rule refuses.
  if (!many || changes.length === 1 || isSearched) {
    const sent = changes.map((change) => ({ statement, values: valuesOf(change), change, rows: 1, at: change.at }));
    return runAll(session, sent, identifiers);
  }
  try {
    const { rows = [] } = await writer.run(many, [rowsJson(changes.map(valuesOf))]);
    if (rows.length < changes.length) throw new RefusedByOthers(LEFT_OUT, undefined);
    const ascending = rows.map(([identifier]) => identifier as Identifier).toSorted(compareIdentifiers);
    for (const [index, change] of changes.entries()) noteIdentifier(identifiers, change, ascending[index] ?? 0);
    return undefined;
  } catch (error) {
    throw explained(session, error, changes, first.at);
  }
}

/** Deletes levels of rows, the lowest first. */
async function removeRows(session: Deleting, deletions: readonly RowChange[]): Promise<void> {
  const levels = deletions.map(({ type, rows, at }) => ({
    type,
    identifiers: rows as readonly Identifier[],
    pointer: at,
  }));
  const deleted = byType(levels.toReversed());
  for (const level of levels)
    try {
      await unlinkWithin(session, level, deleted);
      await removeLevel(session, level);
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      const { pointer } = level;
      if (error.kind === 'reference') {
        const { type, identifiers } = levels.findLast((one) => one.pointer === pointer) ?? level;
        const known = `${type.name} ${identifiers.slice(0, MAX_LISTED).join(', ')}`;
        const whose = 'records of newer ones, links that were kept, or rows of others';
        throw new Problem('restrict-conflict', `What these descriptors do not name refers to ${known}: ${whose}`);
      }
      throw faultyRequest('too-many-rows', [{ pointer, code: 'too-many-rows', message: TOO_DEEP }]);
    }
}

type Deleting = Pick<WriteSession, 'writer' | 'tables' | 'writeRows'>;

export async function removeLevel({ writer, tables }: Deleting, { type, identifiers }: Rows) {
  if (identifiers.length === 0) return { changes: 0 };
  const { remove, locking } = tables.of(type);
  const removed = await writer.run(remove, [JSON.stringify(identifiers)]);
  // Foreign keys of others may have deleted rows together with earlier ones.
  const isShort = removed.changes < identifiers.length;
  const left = isShort ? await writer.column(locking('update').lock, [JSON.stringify(identifiers)]) : [];
  if (left.length > 0) throw new RefusedByOthers(LEFT_OUT, undefined);
  return removed;
}

type RowsByType = ReadonlyMap<RecordType, ReadonlySet<Identifier>>;

export const byType = (levels: readonly Rows[]): RowsByType =>
  new Map(
    [...Map.groupBy(levels, ({ type }) => type)].map(([type, some]) => [
      type,
      new Set(some.flatMap(({ identifiers }) => identifiers)),
    ]),
  );

/** Cuts links to a level from records deleted later: to null, or if required, to the record deleted last. */
export async function unlinkWithin({ writer, tables, writeRows }: Deleting, level: Rows, deleted: RowsByType) {
  const [first = null] = deleted.get(level.type) ?? [];
  for (const { type, reference } of level.type.referrers) {
    if (reference.onDelete === 'setNull' || !deleted.has(type)) continue;
    const { children, set } = tables.of(type).linksIn(reference.column);
    const found = await writer.column(children, [JSON.stringify(level.identifiers), writeRows]);
    const within = found.filter((identifier) => deleted.get(type)?.has(identifier as Identifier));
    if (within.length > 0) await writer.run(set, [reference.required ? first : null, JSON.stringify(within)]);
  }
}

/** A rule of others refuses this row. `change`: undefined for a row of a join table. */
export class RefusedRow extends RefusedByOthers {
  readonly change: RowChange | undefined;

  constructor({ message, cause, place, code }: RefusedByOthers, change: RowChange | undefined, pointer: string) {
    super(message, cause, place, code, [{ pointer, code: 'refused', message }]);
    this.change = change;
  }
}

export const isViolation = (error: unknown): boolean =>
  error instanceof ConstraintError || error instanceof RefusedByOthers;

/** A trigger can skip a row without an error: it returns null, or raises `ignore`. */
const LEFT_OUT = 'A trigger or rule of the database left the record out';
const NOT_UNIQUE = 'Another record has a value that must be unique';

/** The plan has refused what the rules of the model forbid. What the database refuses all the same is up to others. */
export function explained(
  session: Pick<WriteSession, 'isSearched'>,
  error: unknown,
  changes: readonly RowChange[],
  pointer: string,
): unknown {
  if (error instanceof ConstraintError && error.kind === 'too-long')
    return tooLongForIndex(changes, error.place.constraint);
  const refused = refusalOf(session, error);
  return refused && changes.length < 2 ? new RefusedRow(refused, changes[0], pointer) : (refused ?? error);
}

/** Reports the longest value of the index, or of all indexes if its name is unknown. */
function tooLongForIndex(changes: readonly RowChange[], name: string | undefined): Problem {
  const values = changes.flatMap(({ type, set, at }) => {
    const named = type.indexes.filter((index) => index.name === name);
    const members = (named.length > 0 ? named : type.indexes).flatMap((index) => index.members);
    return members.map((member) => {
      const value = set.get(columnOf(member));
      return { pointer: `${at}/${escapeStep(member.name)}`, length: typeof value === 'string' ? value.length : 0 };
    });
  });
  const longest = values.toSorted((a, b) => b.length - a.length)[0];
  const message =
    'The value is too long for an index of the database, which holds about 2,700 bytes; send a shorter one';
  return longest
    ? faultyRequest('invalid-body', [{ pointer: longest.pointer, code: 'too-long', message }])
    : new Problem('invalid-body', message);
}

function refusalOf({ isSearched }: Pick<WriteSession, 'isSearched'>, error: unknown): RefusedByOthers | undefined {
  if (error instanceof RefusedByOthers) return error;
  if (!(error instanceof ConstraintError)) return undefined;
  const { kind, cause, place } = error;
  if (kind === 'reference') return new RefusedByOthers(reasonOf(cause), cause, place);
  return kind === 'unique' && isSearched ? new RefusedByOthers(NOT_UNIQUE, cause, place, 'unique-conflict') : undefined;
}

/** Names the field, if the rule is about the column of one that the client knows. */
export async function located(
  refused: RefusedRow,
  { tables, rights }: Pick<WriteSession, 'tables' | 'rights'>,
  reader: Reader,
): Promise<Problem> {
  const { change, place, message, code, cause } = refused;
  if (!change) return refused;
  const columns =
    place.column === undefined && place.constraint !== undefined
      ? await reader.column(tables.constrained, [change.type.table, place.constraint])
      : [place.column ?? null];
  const column = columns.length === 1 ? tables.of(change.type).columnOf.get(String(columns[0])) : undefined;
  const member = column?.field ?? column?.reference?.relation;
  const { fields, relations } = knownMembers(rights, change.type);
  if (!member || (!fields.has(member.name) && !relations.has(member.name))) return refused;
  const pointer = `${change.at}/${escapeStep(member.name)}`;
  return faultyRequest(code, [{ pointer, code: 'refused', message }], { cause });
}
