/**
 * Writes that need no reads first, which PostgreSQL gets without BEGIN. If one does not find what it expects, it changes
 * nothing and returns undefined.
 */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject } from '../../json/json.ts';
import { identifierIn, relationsIn } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import { stampValues, withFolded } from '../columns.ts';
import type { BoundStatement, Driver, Row } from '../driver.ts';
import { UNCHARGED_CHARS } from '../read/reads.ts';
import type { CreateRequest, RecordDeletion, WriteRequest, Written, WrittenRecords } from '../store.ts';
import { trustLinks } from './locks.ts';
import { isNew, type RowId, type WritePlan } from './plan.ts';
import { newValue, planWrite } from './plan.ts';
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
  if (identifierIn(item.body, type) !== undefined || isDeep(view)) return undefined;
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
    return answered(await send(context, single.create(view.key, view), [-1, ...values], caller));
  }
  const plan = await planWrite(session, [node]);
  const [root = 0] = plan.roots;
  const values = [placeholderOf(root), JSON.stringify(clashes(session, plan))];
  return answered(
    await send(context, single.answerNew(view.key, view), values, caller, undefined, insertsOf(session, plan)),
  );
}

/** A flat body has no links. */
const unlinked = (value: SqlValue | Node): SqlValue => (isNode(value) ? null : value);

const answered = (row: Row | undefined): WrittenRecords | undefined =>
  row && { records: [{ identifier: Number(row[0]), body: String(row[1]) }] };

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

/** The negative number of a new record. */
const placeholderOf = (row: RowId): number => (isNew(row) ? -1 - row.created : row);

/** The statements of a plan that only inserts. */
const insertsOf = ({ tables }: WriteSession, { rows, pairs }: WritePlan): readonly BoundStatement[] => [
  ...rows.flatMap(({ type, rows: [row = 0], set }) => {
    const { single, names } = tables.of(type);
    const values = names
      .map((name) => set.get(name) ?? null)
      .map((value) => (isNew(value) ? placeholderOf(value) : value));
    return single ? { statement: single.insertNew, values: [placeholderOf(row), ...values] } : [];
  }),
  ...pairs.flatMap(({ table, left, right }) => {
    const { insertNew } = tables.rows(table);
    return insertNew ? { statement: insertNew, values: [placeholderOf(left), placeholderOf(right)] } : [];
  }),
];

/** Pairs of a new record's number and a linked identifier of its type. Foreign keys accept links to new records. */
const clashes = (
  { existing }: WriteSession,
  { rows }: WritePlan,
): readonly (readonly [number: number, linked: number])[] =>
  rows.flatMap(({ type, rows: [row = 0] }) =>
    [...(existing.get(type)?.keys() ?? [])].map((linked) => [-placeholderOf(row), linked] as const),
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
