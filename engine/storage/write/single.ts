/**
 * Writes that need no reads first, which PostgreSQL gets without BEGIN. If one does not find what it expects, it changes
 * nothing and returns undefined.
 */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject } from '../../json/json.ts';
import { type Identifier, nextOf } from '../../model/identifier.ts';
import { identifierIn, relationsIn } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import { stampValues, withFolded } from '../columns.ts';
import type { BoundStatement, Driver, Row } from '../driver.ts';
import { UNCHARGED_CHARS } from '../read/reads.ts';
import type { CreateRequest, RecordDeletion, WriteRequest, Written, WrittenRecords } from '../store.ts';
import { trustLinks } from './locks.ts';
import { boundTo, isNew, newValue, planWrite, type WritePlan } from './plan.ts';
import { isViolation } from './refused.ts';
import { checkBody, resolveBody } from './resolve.ts';
import { isNode, NO_WRITER, type Node, type WriteSession, sessionOf, type WriteContext } from './session.ts';
import { rowOf, type WriteTable } from './tables.ts';
import { encodedAs } from './values.ts';
import type { Stamped } from './verb.ts';

async function send({ driver }: WriteContext, ...asked: Parameters<NonNullable<Driver['writeSingle']>>) {
  return driver.writeSingle?.(...asked).catch((error: unknown) => {
    if (isViolation(error)) return undefined;
    throw error;
  });
}

export async function createSingle(
  context: WriteContext,
  request: Stamped<CreateRequest>,
): Promise<WrittenRecords | undefined> {
  const { type, items: records, faults = [], view, caller } = request;
  const [item] = records;
  if (faults.length > 0 || !item || records.length > 1) return undefined;
  const given = identifierIn(item.body, type);
  // The sequence must move past an identifier that the body gives.
  if ((given !== undefined && type.identifier.kind.isCounted) || isDeep(view)) return undefined;
  const session = sessionOf(context, NO_WRITER, { ...request, records });
  if (!trustLinks(session, type, item.body)) return undefined;
  const [node] = await resolveBody(session, type);
  checkBody(session);
  request.precondition?.();
  if (!node || session.made.length + session.pairs.size > MOST_ALONE) return undefined;
  const { table } = node;
  const { single } = table;
  if (!single) return undefined;
  const isFlat = relationsIn(type, item.body).length === 0;
  if (!isFlat && charsOf(session) > UNCHARGED_CHARS) return undefined;
  if (isFlat) {
    const values = table.names.map((name) => unlinked(newValue(node, name)));
    const identifier = given ?? nextOf(type.identifier) ?? -1;
    return answered(await send(context, single.create(view.key, view), [identifier, ...values], caller));
  }
  const plan = await planWrite(session, [node]);
  const [root = 0] = plan.roots;
  const values = [boundTo(root, placeholdersOf(plan)), JSON.stringify(clashes(session, plan))];
  return answered(
    await send(context, single.answerNew(view.key, view), values, caller, undefined, insertsOf(session, plan)),
  );
}

/** A flat body has no links. */
const unlinked = (value: SqlValue | Node): SqlValue => (isNode(value) ? null : value);

const answered = (row: Row | undefined): WrittenRecords | undefined =>
  row && { records: [{ identifier: row[0] as Identifier, body: String(row[1]) }] };

export async function updateSingle(
  context: WriteContext,
  request: Stamped<WriteRequest>,
): Promise<WrittenRecords | undefined> {
  const { type, view, items, stamp } = request;
  const [item] = items;
  if (item?.identifier === undefined || items.length > 1) return undefined;
  if (view.relations.length > 0 || item.precondition) return undefined;
  const { identifier, body } = item;
  const {
    tables,
    driver: { dialect },
  } = context;
  const table = tables.of(type);
  if (!table.single) return undefined;
  const given = valuesIn(request, body, table, dialect.name);
  if (!given) return undefined;
  const columns = given.map(([column]) => column);
  const statement = table.single.update(`${view.key}|${columns.join()}`, [view, columns]);
  const stamps = stampValues({ stamp, dialect: dialect.name }, table.filled);
  const values = [identifier, ...given.map(([, value]) => value), ...stamps];
  const row = await send(context, statement, values, request.caller, rowOf(view.type, identifier));
  return row && { records: [{ identifier, body: String(row[0]) }] };
}

export async function deleteSingle(context: WriteContext, request: RecordDeletion): Promise<Written | undefined> {
  const { tables } = context;
  const { type, view, identifier, precondition } = request;
  if (view.relations.length > 0 || precondition) return undefined;
  // The DELETE must not delete or unlink other records.
  if (type.referrers.some(({ reference }) => reference.onDelete !== 'restrict')) return undefined;
  if (tables.joinsOf(type).length > 0) return undefined;
  const statement = tables.of(type).single?.remove(view.key, view);
  const row = statement && (await send(context, statement, [identifier], request.caller, rowOf(type, identifier)));
  return row && { identifier, body: String(row[0]) };
}

/** What stands for new records: their identifiers, or negative numbers. */
const placeholdersOf = ({ rows }: WritePlan): readonly Identifier[] =>
  rows.flatMap(({ rows: [row = 0], identifier }) => (isNew(row) ? (identifier ?? -1 - row.created) : []));

/** The statements of a plan that only inserts. */
function insertsOf({ tables }: WriteSession, plan: WritePlan): readonly BoundStatement[] {
  const made = placeholdersOf(plan);
  const inserts = plan.rows.flatMap(({ type, rows: [row = 0], set }) => {
    const { single, names } = tables.of(type);
    const values = [row, ...names.map((name) => set.get(name) ?? null)].map((value) => boundTo(value, made));
    return single ? { statement: single.insertNew, values } : [];
  });
  const pairs = plan.pairs.flatMap(({ table, left, right }) => {
    const { insertNew } = tables.rows(table);
    return insertNew ? { statement: insertNew, values: [left, right].map((side) => boundTo(side, made)) } : [];
  });
  return [...inserts, ...pairs];
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

/** Of the new records. If their JSON were too long to be free, the statements would use up identifiers in vain. */
const charsOf = ({ made }: WriteSession): number =>
  made
    .flatMap(({ assigned }) => [...assigned.values()])
    .reduce((sum, { value }) => (typeof value === 'string' ? sum + value.length : sum), 0);

/** Above this, one statement per type is cheaper. */
const MOST_ALONE = 8;

const isDeep = ({ relations }: View): boolean => relations.some(({ view }) => view.relations.length > 0);

/** Columns to set, with values; undefined if stored values are needed, as for checks. */
function valuesIn(
  { type, raw, faults = [], mergePatch }: WriteRequest,
  body: JsonObject,
  table: WriteTable,
  dialect: DialectName,
): readonly (readonly [column: string, value: SqlValue])[] | undefined {
  if (faults.length > 0) return undefined;
  if (type.checks.some(({ fields }) => fields.some(({ name: key }) => Object.hasOwn(body, key)))) return undefined;
  const given: (readonly [column: string, value: SqlValue])[] = [];
  let keys = type.identifier.inRecord && Object.hasOwn(body, type.identifier.name) ? 1 : 0;
  for (const [key, field] of type.fields) {
    if (!Object.hasOwn(body, key)) continue;
    keys += 1;
    const { keepsText } = field.type;
    if (field.generated !== undefined) continue;
    if (field.readOnly || (keepsText && mergePatch)) return undefined;
    const value = body[key] ?? null;
    given.push([field.column, encodedAs(field, dialect, raw?.get(body), value)]);
  }
  return given.length === 0 || keys < Object.keys(body).length ? undefined : withFolded(table, given);
}
