/** The values of a record, from the body or the service, and the checks of its type. */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, type JsonObject, type JsonValue } from '../../json/json.ts';
import { membersOf, mergePatch, sameValue } from '../../json/raw.ts';
import type { RawMember, RawMembers } from '../../json/tokenizer.ts';
import { type Check, type Field, OPEN_COLUMN } from '../../model/model.ts';
import { shortened } from '../../names.ts';
import { meets } from '../../query/operators.ts';
import { columnType, encode, encodedDefault, stampFor } from '../columns.ts';
import {
  assign,
  type Mention,
  contradict,
  isCompared,
  isNode,
  isInBody,
  keptNodes,
  type Node,
  refuse,
  storedValue,
  finalValue,
  type WriteSession,
} from './session.ts';

/** Restores the document order of open keys, since JavaScript puts integer-like keys first. */
export function keysOf(body: JsonObject, raw: RawMembers | undefined): readonly string[] {
  const keys = Object.keys(body);
  if (raw === undefined || !/^\d/.test(keys[0] ?? '')) return keys;
  return [...keys.filter((key) => !raw.has(key)), ...raw.keys()];
}

/** Host applications may parse bodies, so that `raw` is missing. */
const memberOf = (raw: RawMembers | undefined, key: string, value: JsonValue): RawMember =>
  raw?.get(key) ?? { name: JSON.stringify(key), text: JSON.stringify(value) };

export function encodedAs(field: Field, dialect: DialectName, raw: RawMembers | undefined, value: JsonValue): SqlValue {
  if (!field.type.keepsText) return encode(field, dialect, value);
  return value === null ? null : memberOf(raw, field.name, value).text;
}

export function resolveValue(session: WriteSession, node: Node, body: JsonObject, key: string, mention: Mention): void {
  const { type } = node;
  const field = type.fields.get(key);
  if (session.faulty.has(mention.pointer)) {
    if (field) node.unusable.add(field.column);
    return;
  }
  const raw = session.raw.get(body);
  const value = body[key] ?? null;
  if (!field) {
    if (!type.identifier.inRecord || key !== type.identifier.name)
      resolveOpenKey(session, node, key, memberOf(raw, key, value), mention);
  } else if (field.generated === undefined || session.readOnlyToo)
    resolveField(session, node, field, encodedAs(field, session.dialect, raw, value), mention);
}

function resolveField(session: WriteSession, node: Node, field: Field, given: SqlValue, mention: Mention): void {
  const { mergePatch: isPatch, readOnlyToo, dialect } = session;
  const { pointer, writable, isLost } = mention;
  const { column, name, sensitive } = field;
  const stored = storedValue(node, column) ?? null;
  const isMerged = field.type.keepsText && isPatch && given !== null;
  const value = isMerged ? mergePatch(stored === null ? undefined : String(stored), String(given)) : given;
  // A copy of a stored value is no change, although the patch would remove its nulls.
  const isSame = (other: SqlValue): boolean =>
    isSameValue(session, field, other, value) || (isMerged === true && isSameValue(session, field, other, given));
  if (field.readOnly && !readOnlyToo) {
    const fixed = node.stored ? stored : encodedDefault(field, dialect);
    if (isLost || isSame(fixed)) return;
    const text = field.type.keepsText ? String(fixed) : JSON.stringify(decoded(session, field, fixed));
    const message = `"${name}" is read-only and holds ${sensitive ? 'another value' : shortened(text)}: leave it out`;
    refuse(session, 'invalid-body', pointer, 'read-only', message);
    return;
  }
  // A deep comparison costs more than a write.
  assign(session, node, column, value, { pointer, writable, same: !writable && isSame(stored) });
}

function isSameValue(session: WriteSession, field: Field, one: SqlValue, other: SqlValue): boolean {
  if (one === other || one === null || other === null) return one === other;
  if (field.type.keepsText) return sameValue(String(one), String(other));
  const [a, b] = [decoded(session, field, one), decoded(session, field, other)];
  return a !== null && b !== null && field.type.equal(a, b);
}

const decoded = ({ dialect }: WriteSession, field: Field, value: unknown): JsonValue =>
  (value ?? null) === null ? null : columnType(field, dialect).decode(value as string | number);

function resolveOpenKey(session: WriteSession, node: Node, key: string, given: RawMember, mention: Mention): void {
  const { pointer, writable } = mention;
  const before = openKeysOf(node).get(key);
  const member = session.mergePatch ? patched(before, given) : given;
  const known = node.openKeys.get(key);
  if (known && known.member?.text !== member?.text) return contradict(session, pointer, known.pointer);
  if (!known?.isWritten) node.openKeys.set(key, { member, pointer, isWritten: writable });
  if (!writable && isCompared(node) && !isSameMember(before, member) && !isSameMember(before, given))
    session.checks.push({ subject: node, pointer, expected: { node, openKey: key } });
  return undefined;
}

const patched = (before: RawMember | undefined, { name, text }: RawMember): RawMember | undefined =>
  text === 'null' ? undefined : { name, text: mergePatch(before?.text, text) };

const isSameMember = (a: RawMember | undefined, b: RawMember | undefined): boolean =>
  a === undefined || b === undefined ? a === b : sameValue(a.text, b.text);

export const openKeysOf = (node: Node): RawMembers =>
  (node.storedOpenKeys ??= node.stored ? membersOf(String(storedValue(node, OPEN_COLUMN))) : new Map());

/** Checks stored records only if a field of the check changes. */
export function holdToChecks(session: WriteSession): void {
  for (const node of [...session.made, ...keptNodes(session)]) {
    if (!node.isWritten) continue;
    for (const check of node.type.checks) {
      const concerns = !node.stored || check.fields.some((field) => isChanged(session, node, field));
      if (!concerns || check.fields.some((field) => isUnusable(node, field))) continue;
      if (!meets(check, (field) => decoded(session, field, finalValue(node, field.column))))
        refuse(session, 'invalid-body', pointerOf(node, check), 'check', check.message);
    }
  }
}

/** Whether the value was refused or is missing, which is already a fault. */
function isUnusable({ unusable, stored, assigned, table }: Node, { column, nullable }: Field): boolean {
  if (unusable.has(column)) return true;
  return !nullable && !stored && !assigned.has(column) && (table.defaults.get(column) ?? null) === null;
}

function isChanged(session: WriteSession, node: Node, field: Field): boolean {
  const value = node.assigned.get(field.column)?.value;
  return (
    value !== undefined &&
    !isNode(value) &&
    !isSameValue(session, field, storedValue(node, field.column) ?? null, value)
  );
}

/** Faults of a check point to its field, beside other fields that the body gives. */
function pointerOf({ assigned, pointer }: Node, { at, fields }: Check): string {
  const own = assigned.get(at.column)?.pointer;
  if (own !== undefined) return own;
  const sibling = fields.flatMap(({ column }) => assigned.get(column)?.pointer ?? [])[0];
  const record = sibling === undefined ? pointer : sibling.slice(0, sibling.lastIndexOf('/'));
  return `${record}/${escapeStep(at.name)}`;
}

export function fillNew(session: WriteSession): void {
  for (const node of session.made)
    for (const field of node.table.filled.made) if (!isInBody(node, field.column)) fill(session, node, field);
}

export function stampChanged(session: WriteSession, changed: readonly Node[]): void {
  for (const node of changed)
    for (const { stamp, isFolded } of node.table.filled.stamped) if (!isFolded) fill(session, node, stamp);
}

function fill(session: WriteSession, node: Node, field: Field): void {
  const pointer = `${node.pointer}/${escapeStep(field.name)}`;
  node.assigned.set(field.column, { value: stampFor(session, field), pointer, byOmission: false });
}
