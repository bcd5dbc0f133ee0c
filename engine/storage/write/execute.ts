/** Carries a session out: delete and unlink, update, create. Only columns whose values change are written. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { OPEN_COLUMN } from '../../model/model.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { uniqueConflict, restrictConflict } from './conflicts.ts';
import { rawObject } from '../../raw-json.ts';
import { ConstraintError } from '../driver.ts';
import { openKeysOf } from './resolve-record.ts';
import { type Node, type Pair, refuse, type Session, storedValue, throwRefusals } from './session.ts';

type Change = readonly [column: string, value: SqlValue | Node];

export async function execute(session: Session): Promise<void> {
  for (const node of session.made) checkComplete(session, node);
  for (const node of session.deleted.keys()) checkUnnamed(session, node);
  throwRefusals(session);
  const existing = [...session.existing.values()]
    .flatMap((nodes) => [...nodes.values()])
    .filter((node) => !session.deleted.has(node));
  const changes = existing.map((node) => [node, changesOf(node)] as const).filter(([, changed]) => changed.length > 0);

  for (const [key, unwanted] of session.unpaired)
    if (!session.kept.has(key) && !session.paired.has(key)) await runPair(session, unwanted, 'remove');
  for (const [node, pointer] of session.deleted) await remove(session, node, pointer);
  for (const [node, changed] of changes)
    await update(
      session,
      node,
      changed.filter((change) => isUnlink(node, change)),
    );
  for (const [node, changed] of changes)
    await update(
      session,
      node,
      changed.filter((change) => !isUnlink(node, change) && !isNode(change[1])),
    );
  for (const node of session.made) await insert(session, node);
  for (const [node, changed] of changes)
    await update(
      session,
      node,
      changed.filter(([, value]) => isNode(value)),
    );
  for (const wanted of session.paired.values()) await runPair(session, wanted, 'insert');
}

const isNode = (value: SqlValue | Node): value is Node => typeof value === 'object' && value !== null;

const isUnlink = ({ type }: Node, [column, value]: Change): boolean =>
  value === null && type.references.some((reference) => reference.column === column);

/** What the validator cannot see: that a record which is made below another has all that it must have. */
function checkComplete(session: Session, node: Node): void {
  const pointer = (name: string): string => `${node.pointer}/${name}`;
  for (const { name, nullable, default: value, field, reference } of node.table.columns) {
    if (nullable || value !== null || node.assigned.has(name) || name === OPEN_COLUMN) continue;
    const key = field?.name ?? reference?.relation?.name ?? name;
    if (isRefused(session, pointer(key))) continue;
    refuse(session, 'invalid-body', pointer(key), 'required', `"${key}" is required`);
  }
}

/** What was said and could not be used is not missing. */
const isRefused = ({ refusals }: Session, pointer: string): boolean =>
  refusals.some(({ fault }) => 'pointer' in fault && `${fault.pointer}/`.startsWith(`${pointer}/`));

/** A body cannot link in one place what it deletes in another. */
function checkUnnamed(session: Session, node: Node): void {
  const pointer = session.named.get(node);
  if (pointer === undefined) return;
  refuse(
    session,
    'invalid-reference',
    pointer,
    'deleted',
    `${nameOf(node)} is deleted by this same body, which leaves it out of its owner`,
  );
}

const nameOf = ({ type, identifier }: Node): string => `${type.name} ${identifier ?? ''}`.trim();

function changesOf(node: Node): readonly Change[] {
  const changes = [...node.assigned].flatMap(([column, { value }]): Change[] =>
    valueOf(value) === storedValue(node, column) ? [] : [[column, value]],
  );
  const openKeys = openColumn(node);
  return openKeys === undefined || openKeys === storedValue(node, OPEN_COLUMN)
    ? changes
    : [...changes, [OPEN_COLUMN, openKeys]];
}

const valueOf = (value: SqlValue | Node): SqlValue | undefined => (isNode(value) ? value.identifier : value);

/** The text of the open keys as they will be; undefined where the body says nothing of them. */
function openColumn(node: Node): string | undefined {
  if (node.openKeys.size === 0) return undefined;
  const members = new Map(openKeysOf(node));
  for (const [key, { member }] of node.openKeys) {
    if (member === undefined) members.delete(key);
    else members.set(key, { name: members.get(key)?.name ?? member.name, text: member.text });
  }
  return rawObject(members.values());
}

async function update(session: Session, node: Node, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0 || node.identifier === undefined) return;
  const statement = node.table.update(changes.map(([column]) => column));
  const values = changes.map(([, value]) => valueOf(value) ?? null);
  const run = async (): Promise<{ readonly changes: number }> =>
    session.writer.run(statement, [...values, node.identifier ?? null]);
  const { changes: written } = await explained(session, node, run);
  if (written === 0) throw gone(node);
}

/** Records that it belongs to come first. */
async function insert(session: Session, node: Node): Promise<void> {
  if (session.inserted.has(node)) return;
  session.inserted.add(node);
  for (const { value } of node.assigned.values()) if (isNode(value)) await insert(session, value);
  const given = node.identifier;
  const { statement, columns } = given === undefined ? node.table.insert : node.table.insertGiven;
  const values = columns.map((name): SqlValue => {
    if (name === node.type.identifier.column) return given ?? null;
    if (name === OPEN_COLUMN) return openColumn(node) ?? '{}';
    const assigned = node.assigned.get(name);
    return (assigned ? valueOf(assigned.value) : node.table.defaults.get(name)) ?? null;
  });
  const { identifier } = await explained(session, node, async () => session.writer.run(statement, values));
  node.identifier = identifier;
}

async function remove(session: Session, node: Node, pointer: string): Promise<void> {
  try {
    await session.writer.run(node.table.remove, [node.identifier ?? null]);
  } catch (error) {
    if (error instanceof ConstraintError) throw await restrictConflict(session, node, pointer);
    throw error;
  }
}

async function runPair(
  session: Session,
  { table, left, right, pointer }: Pair,
  what: 'insert' | 'remove',
): Promise<void> {
  const side = (value: number | Node): SqlValue => (typeof value === 'number' ? value : (value.identifier ?? null));
  try {
    await session.writer.run(session.tables.rows(table)[what], [side(left), side(right)]);
  } catch (error) {
    throw error instanceof ConstraintError ? goneAt(pointer) : error;
  }
}

/** What the body deletes takes along what it owns: a record that goes with it cannot be written or linked. */
const goneAt = (pointer: string): Problem => {
  const message = 'This record, or one that it is linked to, is deleted by this same body';
  return faultyRequest('invalid-reference', [{ pointer, code: 'deleted', message }]);
};
const gone = ({ pointer }: Node): Problem => goneAt(pointer);

async function explained<T>(session: Session, node: Node, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw error.kind === 'unique' ? await uniqueConflict(session, node) : gone(node);
  }
}
