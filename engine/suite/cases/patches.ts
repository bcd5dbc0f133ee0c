/** Merge patches (RFC 7396): inside values of any shape and open keys PATCH merges, where PUT replaces. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field, RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { raw } from '../json-tree.ts';
import { OPEN_KEY } from '../samples.ts';
import { guard, itemPath } from '../addresses.ts';
import { smallBody } from '../obtain.ts';
import { accepted, get, post, put } from '../requests.ts';
import { type Scenario, step } from '../scenario.ts';
import type { Id } from '../reference/world.ts';

const GROUP = 'patches';
const MEDIA_TYPE = 'application/merge-patch+json';

/** What is there, and what is sent: members that go, stay, change, appear, and arrays, which are replaced. */
const BEFORE: JsonValue = { kept: 1, dropped: 2, deep: { kept: 'é', dropped: [1] }, list: [{ a: 1 }, null] };
/** The same with numbers and an order of keys that no parser of JavaScript's keeps. */
const WRITTEN = raw(
  '{"9":1.0,"dropped":2,"deep":{"8":12345678901234567890,"dropped":[1],"7":1e2},"list":[{"a":1.0},null]}',
);
const PATCHES: readonly JsonValue[] = [
  { dropped: null, deep: { dropped: null, added: { x: null, y: 1 } } },
  { list: [null, { b: null }], absent: null },
  { deep: 'text' },
  { deep: { again: true } },
];

function sendPatch(scenario: Scenario, type: RecordType, id: Id, body: JsonObject): void {
  const outcome = accepted(scenario.reference.update(type, id, body, { patch: true }));
  const headers = { ...guard(type).headers, 'content-type': MEDIA_TYPE };
  step(
    scenario,
    { method: 'PATCH', path: itemPath(type, id), body, headers },
    { status: 200, body: outcome.body },
    outcome.changes,
  );
}

function merges(context: Context, key: string, last: readonly JsonValue[]): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `PATCH ${itemPath(type, '…')} inside ${key}`, (scenario) => {
    const id = post(scenario, type, { ...smallBody(scenario, type), [key]: BEFORE });
    for (const patch of [...PATCHES, ...last]) sendPatch(scenario, type, id, { [key]: patch });
    put(scenario, type, id, { [key]: WRITTEN });
    for (const patch of PATCHES) sendPatch(scenario, type, id, { [key]: patch });
    put(scenario, type, id, { [key]: BEFORE });
    put(scenario, type, id, { [key]: { replaced: null } });
    get(scenario, type, id);
  });
}

/** Whether a value of the field may be an object. */
const holdsObjects = (field: Field): boolean =>
  field.type.keepsText === true && !field.type.bad(field).some((value) => isDeepStrictEqual(value, {}));

export function patches(context: Context): readonly Case[] {
  const { type } = context;
  if (!type.operations.has('create') || !type.operations.has('update')) return [];
  const fields = type.defaultVariant.fields.filter((field) => !field.readOnly && holdsObjects(field));
  return [
    ...fields.flatMap((field) => merges(context, field.name, field.nullable ? [null] : [])),
    ...(type.open ? merges(context, OPEN_KEY, [null]) : []),
  ];
}
