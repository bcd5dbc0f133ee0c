/** A body -> what its record's columns are to hold: fields, identifier and open keys. Relations stand in a file of their own. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { type Field, OPEN_COLUMN } from '../../model/model.ts';
import { columnType, encode } from '../columns.ts';
import { assign, contradiction, linkedOnly } from './assign.ts';
import { mergePatch } from './merge-patch.ts';
import { resolveRelation } from './resolve-relation.ts';
import { type Node, type Place, refuse, type Session, storedValue } from './session.ts';

/** Works a whole body out, level by level: relations put the records nested in them on the agenda. */
export async function resolveBody(session: Session, root: Node, body: JsonObject): Promise<void> {
  session.agenda.push({ node: root, body, place: { pointer: '', writable: true, via: undefined } });
  for (const { node, body: nested, place } of session.agenda) await resolveRecord(session, node, nested, place);
}

async function resolveRecord(session: Session, node: Node, body: JsonObject, place: Place): Promise<void> {
  const { type } = node;
  for (const key of Object.keys(body)) {
    const value = body[key] ?? null;
    const pointer = `${place.pointer}/${escapeStep(key)}`;
    const field = type.fields.get(key);
    const relation = type.relations.get(key);
    if (field) resolveField(session, node, field, value, { ...place, pointer });
    else if (relation) await resolveRelation(session, node, relation, value, { ...place, pointer });
    else if (type.identifier.inRecord && key === type.identifier.name) checkIdentifier(session, node, value, pointer);
    else resolveOpenKey(session, node, key, value, { ...place, pointer });
  }
}

function resolveField(
  session: Session,
  node: Node,
  field: Field,
  given: JsonValue,
  { pointer, writable }: Place,
): void {
  const before = decoded(session, node, field);
  const value = session.rules.mergePatch && isObject(given) ? mergePatch(before, given) : given;
  const same =
    before !== undefined &&
    (before === value || (before !== null && value !== null && field.type.equal(before, value)));
  const fixed = node.stored ? before : (field.default ?? null);
  if (
    field.readOnly &&
    !session.rules.readOnlyToo &&
    fixed !== undefined &&
    !(fixed === value || field.type.equal(fixed, value))
  ) {
    refuse(
      session,
      'invalid-body',
      pointer,
      'read-only',
      `"${field.name}" is read-only and holds ${JSON.stringify(fixed)}`,
    );
    return;
  }
  assign(session, node, {
    column: field.column,
    value: encode(field, session.dialect, value),
    pointer,
    writable,
    same,
  });
}

/** The value that is stored; undefined for a record that is to be made. */
function decoded({ dialect }: Session, node: Node, field: Field): JsonValue | undefined {
  const stored = storedValue(node, field.column);
  return stored === undefined || stored === null ? stored : columnType(field, dialect).decode(stored);
}

/** A record keeps its identifier. Null counts as absent where one is to be made. */
function checkIdentifier(session: Session, node: Node, value: JsonValue, pointer: string): void {
  if (value === node.identifier || (value === null && !node.stored)) return;
  refuse(
    session,
    'invalid-body',
    pointer,
    'read-only',
    `The identifier of this record is ${node.identifier} and cannot be changed`,
  );
}

function resolveOpenKey(
  session: Session,
  node: Node,
  key: string,
  given: JsonValue,
  { pointer, writable }: Place,
): void {
  const before = openKeysOf(node).get(key);
  const merged = session.rules.mergePatch ? mergePatch(before, given) : given;
  const value = session.rules.mergePatch && given === null ? undefined : merged;
  const known = node.openKeys.get(key);
  if (known && JSON.stringify(known.value) !== JSON.stringify(value))
    return contradiction(session, pointer, known.pointer);
  if (!writable && node.stored && JSON.stringify(before) !== JSON.stringify(value))
    return linkedOnly(session, node, pointer);
  if (!known && writable) node.openKeys.set(key, { value, pointer });
}

/** The open keys of a record as they are stored. */
export function openKeysOf(node: Node): Map<string, JsonValue> {
  const stored = storedValue(node, OPEN_COLUMN);
  return new Map(typeof stored === 'string' ? Object.entries(JSON.parse(stored) as JsonObject) : []);
}
