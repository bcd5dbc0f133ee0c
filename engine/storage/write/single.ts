/**
 * Writes that need no reads first, which PostgreSQL gets without BEGIN. If one does not find what it expects, it changes
 * nothing and returns undefined.
 */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject } from '../../json/json.ts';
import type { Identifier } from '../../model/identifier.ts';
import { identifierIn, namesByValues, relationsIn } from '../../model/model.ts';
import { stampsOf, withFolded } from '../columns.ts';
import type { BoundStatement, Driver, Row } from '../driver.ts';
import { UNCHARGED_CHARS } from '../read/reads.ts';
import type { RecordDeletion, WriteItem, WriteRequest, Written, WrittenRecords } from '../store.ts';
import { ALL_ALLOWED } from './allowed.ts';
import { attributionOf, isRecorded, isViolation } from './apply.ts';
import { trustLinks } from './locks.ts';
import { isNew, numberOf, placeholdersIn, planWrite, type RowChange, type WritePlan } from './plan.ts';
import { encodedAs, resolveBody } from './resolve.ts';
import { createSession, NO_WRITER, type Stamped, type WriteContext, type WriteSession } from './session.ts';
import { rowOf, type WriteTable } from './tables.ts';

async function send({ driver }: WriteContext, ...asked: Parameters<NonNullable<Driver['writeSingle']>>) {
  return driver.writeSingle?.(...asked).catch((error: unknown) => {
    if (isViolation(error)) return undefined;
    throw error;
  });
}

export async function writeSingle(
  context: WriteContext,
  request: Stamped<WriteRequest>,
): Promise<WrittenRecords | undefined> {
  const { items, faults = [], rights } = request;
  const [item, ...others] = items;
  if (!item || others.length > 0 || faults.length > 0 || rights?.checked) return undefined;
  return (item.identifier === undefined ? createSingle : updateSingle)(context, request, item);
}

async function createSingle(
  context: WriteContext,
  request: Stamped<WriteRequest>,
  item: WriteItem,
): Promise<WrittenRecords | undefined> {
  const { type, view, caller } = request;
  // The sequence must move past an identifier that the body gives.
  const isCounted = identifierIn(item.body, type) !== undefined && type.identifier.kind.isCounted;
  if (isCounted || view.relations.some((one) => one.view.relations.length > 0)) return undefined;
  const session = createSession(
    { ...context, tables: context.unlocked, writer: NO_WRITER, isSearched: false },
    request,
  );
  if (namesByValues(type, item.body) || !trustLinks(session, type, item.body)) return undefined;
  const { nodes: roots } = await resolveBody(session, type);
  // Only the database knows whether records that bring their identifiers would be below themselves.
  if ([...session.createdById.keys()].some(({ references }) => references.some(({ acyclic }) => acyclic)))
    return undefined;
  request.precondition?.();
  const plan = await planWrite(session, ALL_ALLOWED, roots);
  const { single } = session.tables.of(type);
  if (!single || plan.rows.length + plan.pairs.length > MAX_STATEMENTS) return undefined;
  const placeholders = placeholdersIn(plan);
  const attribution = attributionOf(session, isRecorded(plan));
  const [row] = plan.rows;
  if (row && relationsIn(type, item.body).length === 0)
    return answered(
      await send(context, single.create(view.key, view), valuesIn(row, placeholders), caller, undefined, attribution),
    );
  if (charsIn(plan) > UNCHARGED_CHARS) return undefined;
  const values = [numberOf(plan.roots[0] ?? 0, placeholders), JSON.stringify(clashes(session, plan))];
  return answered(
    await send(context, single.answerNew(view.key, view), values, caller, undefined, [
      ...attribution,
      ...insertsOf(session, plan, placeholders),
    ]),
  );
}

const answered = (row: Row | undefined): WrittenRecords | undefined =>
  row && { records: [{ identifier: row[0] as Identifier, body: String(row[1]) }] };

async function updateSingle(
  context: WriteContext,
  request: Stamped<WriteRequest>,
  { identifier = 0, body, precondition }: WriteItem,
): Promise<WrittenRecords | undefined> {
  const { type, view, stamp } = request;
  if (view.relations.length > 0 || precondition) return undefined;
  const { tables, driver } = context;
  const table = tables.of(type);
  if (!table.single) return undefined;
  const changes = changesIn(request, body, table, driver.dialect.name);
  if (!changes) return undefined;
  const columns = changes.map(([column]) => column);
  const statement = table.single.update(`${view.key}|${columns.join()}`, [view, columns]);
  const stamps = stampsOf({ stamp, dialect: driver.dialect.name }, table.filled);
  const values = [identifier, ...[...changes, ...stamps].map(([, value]) => value)];
  const attribution = attributionOf({ ...request, tables }, type.history);
  const row = await send(context, statement, values, request.caller, rowOf(view.type, identifier), attribution);
  return row && { records: [{ identifier, body: String(row[0]) }] };
}

export async function deleteSingle(
  context: WriteContext,
  request: Stamped<RecordDeletion>,
): Promise<Written | undefined> {
  const { tables } = context;
  const { type, view, identifier, precondition, rights } = request;
  if (rights?.checked) return undefined;
  if (view.relations.length > 0 || precondition) return undefined;
  // The DELETE must not delete or unlink other records.
  if (type.referrers.some(({ reference }) => reference.onDelete !== 'restrict')) return undefined;
  if (tables.joinsOf(type).length > 0) return undefined;
  const statement = tables.of(type).single?.remove(view.key, view);
  const attribution = attributionOf({ ...request, tables }, type.history);
  const row =
    statement && (await send(context, statement, [identifier], request.caller, rowOf(type, identifier), attribution));
  return row && { identifier, body: String(row[0]) };
}

/** The identifier and columns of a new record, in the order of its table. */
const valuesIn = ({ rows: [row = 0], set }: RowChange, placeholders: readonly Identifier[]): readonly SqlValue[] =>
  [row, ...set.values()].map((value) => numberOf(value, placeholders));

/** The statements of a plan that only inserts. */
function insertsOf({ tables }: WriteSession, plan: WritePlan, placeholders: readonly Identifier[]) {
  const rows = plan.rows.flatMap((change): readonly BoundStatement[] => {
    const { single } = tables.of(change.type);
    return single ? [{ statement: single.insertNew, values: valuesIn(change, placeholders) }] : [];
  });
  const pairs = plan.pairs.flatMap(({ table, left, right }) => {
    const { insertNew } = tables.rows(table);
    return insertNew ? { statement: insertNew, values: [left, right].map((side) => numberOf(side, placeholders)) } : [];
  });
  return [...rows, ...pairs];
}

/** Pairs of a new record's number and a linked identifier of its type. Foreign keys accept links to new records. */
const clashes = (
  { existing }: WriteSession,
  { rows }: WritePlan,
): readonly (readonly [number: number, linked: Identifier])[] =>
  rows.flatMap(({ type, rows: [row = 0] }) =>
    [...(existing.get(type)?.keys() ?? [])].flatMap((linked) =>
      isNew(row) && type.identifier.kind.isCounted ? [[1 + row.created, linked] as const] : [],
    ),
  );

/** If the JSON of the new records were too long to be free, the statements would use up identifiers in vain. */
const charsIn = ({ rows }: WritePlan): number =>
  rows
    .flatMap(({ set }) => [...set.values()])
    .reduce<number>((sum, value) => (typeof value === 'string' ? sum + value.length : sum), 0);

/** Above this, one statement per type is cheaper. */
const MAX_STATEMENTS = 8;

/** Columns to set, with values; undefined if stored values are needed, as for checks. */
function changesIn(
  { type, raw, mergePatch }: WriteRequest,
  body: JsonObject,
  table: WriteTable,
  dialect: DialectName,
): readonly (readonly [column: string, value: SqlValue])[] | undefined {
  if (type.checks.some(({ fields }) => fields.some(({ name: key }) => Object.hasOwn(body, key)))) return undefined;
  const changes: (readonly [column: string, value: SqlValue])[] = [];
  let keys = type.identifier.inRecord && Object.hasOwn(body, type.identifier.name) ? 1 : 0;
  for (const [key, field] of type.fields) {
    if (!Object.hasOwn(body, key)) continue;
    keys += 1;
    const { keepsText } = field.type;
    if (field.generated !== undefined) continue;
    if (field.readOnly || (keepsText && mergePatch)) return undefined;
    const value = body[key] ?? null;
    changes.push([field.column, encodedAs(field, dialect, raw?.get(body), value)]);
  }
  return changes.length === 0 || keys < Object.keys(body).length ? undefined : withFolded(table, changes);
}
