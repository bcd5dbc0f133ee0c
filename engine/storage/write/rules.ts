/** Faults of a body that depend on stored records: missing keys, checks, contradictions. */
import { escapeStep, enclosing, isObject, type JsonObject, type JsonValue } from '../../json/json.ts';
import { type Check, type Field, identifierIn, type RecordType, type Relation } from '../../model/model.ts';
import { canFollow } from '../../model/rights.ts';
import type { Fault } from '../../problem.ts';
import { meets } from '../../query/operators.ts';
import { columnType } from '../columns.ts';
import type { WriteRequest } from '../store.ts';
import { isSaid } from './members.ts';
import { type Node, refuse, storedValue, throwRefused, withdraw, type WriteSession } from './session.ts';
import { fillNew } from './stamps.ts';

/** Refuses what is wrong with the body itself, before it is asked what it refers to, or what it is to replace. */
export async function checkBody(session: WriteSession, asked: Asked): Promise<void> {
  fillNew(session);
  const refused = refusedPlaces(session);
  for (const node of session.made) checkComplete(session, node, refused);
  holdToChecks(session);
  throwRefused(session, 'forbidden');
  const contradictions = await findDisagreements(session, asked);
  const known = contradictions
    ? [...session.faults.filter(({ code }) => code !== 'contradiction'), ...contradictions]
    : session.faults;
  if (known.some(({ code }) => code === 'contradiction')) withdraw(session, 'contradiction');
  throwRefused(session, 'invalid-body', known);
}

/** The validator cannot know whether an owned to-one child exists; if it is new, its required keys are checked here. */
function checkComplete(session: WriteSession, node: Node, refused: ReadonlySet<string>): void {
  const { type, table } = node;
  for (const { name, key } of table.needed) {
    if (isSaid(node, name)) continue;
    const relation = type.relations.get(key);
    if (relation && !canFollow(session.rights, relation)) {
      const message = `This token may not create a ${type.name}; link an existing one by its "${type.identifier.name}"`;
      return refuse(session, 'forbidden', node.pointer, 'forbidden', message);
    }
    const pointer = `${node.pointer}/${escapeStep(key)}`;
    if (session.faults.length > 0 && !node.isOwnChild) return undefined;
    if (refused.has(pointer)) continue;
    refuse(session, 'invalid-body', pointer, 'required', `"${key}" is required`);
  }
  return undefined;
}

/** A key whose value was refused is not missing: the pointers of all faults, and of what encloses them. */
function refusedPlaces({ refusals, faulty }: WriteSession): ReadonlySet<string> {
  const told = refusals.flatMap(({ fault }) => ('pointer' in fault ? fault.pointer : []));
  return new Set([...told, ...faulty].flatMap(enclosing));
}

// Which child an owner has, where the body does not name it: noted while the body is resolved, or read from the database.

/** `current`: the identifiers of the children that the owner has. */
export function noteOwnChild(
  session: WriteSession,
  { identifier, stored }: Node,
  relation: Relation,
  value: JsonValue,
  [current]: readonly number[],
): void {
  if (!relation.owned || relation.toMany || !stored || identifier === undefined) return;
  if (isObject(value) && identifierIn(value, relation.target) === undefined)
    ownChildrenOf(session, relation).set(identifier, current ?? null);
}

function ownChildrenOf({ ownChildren }: WriteSession, relation: Relation): Map<number, number | null> {
  const children = ownChildren.get(relation) ?? new Map<number, number | null>();
  ownChildren.set(relation, children);
  return children;
}

/** The body's own part of a write. `roots`: undefined in place of a record that is not there. */
export type Asked = Pick<WriteRequest, 'type' | 'disagreements'> & { readonly roots: readonly (Node | undefined)[] };

/** All places where the body contradicts itself; undefined if what is stored does not tell more than the body. */
export async function findDisagreements(
  session: WriteSession,
  { type, disagreements, roots }: Asked,
): Promise<readonly Fault[] | undefined> {
  // A body without a fault was resolved completely: every child that it does not name is noted.
  const isResolved = session.faults.length === 0 && roots.every((root) => root !== undefined);
  if (!disagreements || (session.ownChildren.size === 0 && isResolved)) return undefined;
  for (const { body, identifier } of session.records) await askIn(session, type, identifier, body);
  return session.ownChildren.size === 0
    ? undefined
    : disagreements((relation, owner) => session.ownChildren.get(relation)?.get(owner));
}

/** Reads the children in places that were not resolved because they, or places around them, are faulty. */
async function askIn(
  session: WriteSession,
  type: RecordType,
  identifier: number | undefined,
  body: JsonObject,
): Promise<void> {
  for (const [key, value] of Object.entries(body)) {
    const relation = type.relations.get(key);
    if (!relation) continue;
    for (const item of Array.isArray(value) ? value : [value]) {
      if (!isObject(item)) continue;
      const named = identifierIn(item, relation.target);
      const own = named ?? (await ownChild(session, relation, identifier));
      await askIn(session, relation.target, own, item);
    }
  }
}

async function ownChild(
  session: WriteSession,
  relation: Relation,
  owner: number | undefined,
): Promise<number | undefined> {
  const { owned, toMany, link, target } = relation;
  if (owner === undefined || !owned || toMany || link.at !== 'target') return undefined;
  const asked = ownChildrenOf(session, relation);
  const found = asked.get(owner);
  if (found !== undefined) return found ?? undefined;
  const { children } = session.tables.of(target);
  const [child] = (await session.writer.column(children(link.reference.column), [owner, 1])) as readonly number[];
  asked.set(owner, child ?? null);
  return child;
}

// Each record that is made or changed, held against the checks of its type as it will be.

/** Whether a check compares a field of the body, perhaps with one that is only stored. */
export const namesChecked = ({ checks }: RecordType, body: JsonObject): boolean =>
  checks.some(({ fields }) => fields.some(({ name }) => Object.hasOwn(body, name)));

/** Refuses new records that do not meet a check, and others of which a field changes that it names. */
export function holdToChecks(session: WriteSession): void {
  for (const node of session.made) holdNode(session, node);
  for (const nodes of session.existing.values()) for (const node of nodes.values()) holdNode(session, node);
}

function holdNode(session: WriteSession, node: Node): void {
  const { checks } = node.type;
  if (checks.length === 0 || !node.isWritten) return;
  for (const check of checks) {
    const concerns = !node.stored || check.fields.some((field) => isChanged(session, node, field));
    if (!concerns || check.fields.some((field) => isUnsaid(node, field))) continue;
    if (!meets(check, (field) => valueOf(session, node, field)))
      refuse(session, 'invalid-body', pointerOf(node, check), 'check', check.message);
  }
}

/** A value that was refused, or is missing: there is nothing to compare with, and a fault already. */
function isUnsaid({ unusable, stored, assigned, table }: Node, { column, nullable }: Field): boolean {
  if (unusable?.has(column) === true) return true;
  return !nullable && !stored && !assigned.has(column) && (table.defaults.get(column) ?? null) === null;
}

/** Whether the record gets another value, however that is written. */
function isChanged(session: WriteSession, node: Node, field: Field): boolean {
  if (!node.assigned.has(field.column)) return false;
  const [before, after] = [decoded(session, field, storedValue(node, field.column)), valueOf(session, node, field)];
  return before === null || after === null ? before !== after : !field.type.equal(before, after);
}

function valueOf(session: WriteSession, node: Node, field: Field): JsonValue {
  const { column } = field;
  const assigned = node.assigned.get(column);
  const stored = node.stored ? storedValue(node, column) : node.table.defaults.get(column);
  return decoded(session, field, assigned ? assigned.value : stored);
}

function decoded({ dialect }: WriteSession, field: Field, value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  return columnType(field, dialect).decode(value as string | number);
}

/** Beside what the body says of the record: it may stand in several places. */
function pointerOf({ assigned, pointer }: Node, { at, fields }: Check): string {
  const own = assigned.get(at.column)?.pointer;
  if (own !== undefined) return own;
  const said = fields.flatMap(({ column }) => assigned.get(column)?.pointer ?? [])[0];
  const record = said === undefined ? pointer : said.slice(0, said.lastIndexOf('/'));
  return `${record}/${escapeStep(at.name)}`;
}
