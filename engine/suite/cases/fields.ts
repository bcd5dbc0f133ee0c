/** Each field: values at the edges, values that are refused, null, leaving it out, fields that only the service sets. */
import { escapeStep, type JsonObject, type JsonValue } from '../../json.ts';
import type { Field, RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context, representative } from '../context.ts';
import { raw } from '../json-tree.ts';
import { freshValue } from '../samples.ts';
import { collectionPath, guard, itemPath, MISSING_ID } from '../addresses.ts';
import { smallBody } from '../obtain.ts';
import { get, post, put } from '../requests.ts';
import { refused, type Scenario } from '../scenario.ts';

const GROUP = 'fields';

const place = (field: Field): string => `/${escapeStep(field.name)}`;

/** Values that every record may have, whatever other records there are. */
const accepted = (field: Field, { seeds }: Context): readonly JsonValue[] => [
  ...(field.unique ? [] : field.type.edges(field)),
  ...(field.type.texts?.(field) ?? []).map(raw),
  freshValue(field, seeds),
  ...(field.nullable ? [null] : []),
];

const refusedValues = (field: Field): readonly JsonValue[] => [
  ...field.type.bad(field),
  ...(field.nullable ? [] : [null]),
];

function creates(context: Context, field: Field): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `POST ${collectionPath(type)} ${field.name}: accepted values`, (scenario) => {
    for (const value of accepted(field, context)) {
      const id = post(scenario, type, { ...smallBody(scenario, type), [field.name]: value });
      get(scenario, type, id);
    }
  });
}

function updates(context: Context, field: Field): Case[] {
  const { type } = context;
  return ['PUT', 'PATCH'].flatMap((method) =>
    caseOf(context, GROUP, `${method} ${itemPath(type, '…')} ${field.name}: accepted values`, (scenario) => {
      const id = post(scenario, type, smallBody(scenario, type));
      for (const value of accepted(field, context)) put(scenario, type, id, { [field.name]: value }, {}, method);
      get(scenario, type, id);
    }),
  );
}

function refusedCreates(context: Context, field: Field): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `POST ${collectionPath(type)} ${field.name}: refused values`, (scenario) => {
    const good = smallBody(scenario, type);
    for (const value of refusedValues(field))
      refuse(scenario, 'POST', collectionPath(type), { ...good, [field.name]: value }, field);
  });
}

/** The record that is not there matters less than the body that does not fit. */
function refusedUpdates(context: Context, field: Field): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `PUT ${itemPath(type, MISSING_ID)} ${field.name}: refused values`, (scenario) => {
    for (const value of refusedValues(field)) {
      refuse(scenario, 'PUT', itemPath(type, MISSING_ID), { [field.name]: value }, field, guard(type));
      refuse(scenario, 'PATCH', itemPath(type, MISSING_ID), { [field.name]: value }, field, guard(type));
    }
  });
}

function refuse(scenario: Scenario, method: string, path: string, body: JsonObject, field: Field, headers = {}): void {
  refused(scenario, { method, path, body, ...headers }, 422, { code: 'invalid-body', pointers: [place(field)] });
}

function required(context: Context, field: Field): Case[] {
  const { type } = context;
  if (!field.required || !type.operations.has('create')) return [];
  return caseOf(context, GROUP, `POST ${collectionPath(type)} without ${field.name}`, (scenario) => {
    const { [field.name]: _, ...body } = smallBody(scenario, type);
    refuse(scenario, 'POST', collectionPath(type), body, field);
  });
}

/** What only the service sets may stand in a body as it is. */
function readOnly(context: Context, field: Field): Case[] {
  const { type } = context;
  if (!type.operations.has('create') || !type.operations.has('update')) return [];
  return caseOf(context, GROUP, `PUT ${itemPath(type, '…')} ${field.name}, which is read-only`, (scenario) => {
    const stored = field.default ?? null;
    const id = post(scenario, type, smallBody(scenario, type));
    if (stored !== null || field.nullable) put(scenario, type, id, { [field.name]: stored });
    const other = [1, 2, 3, 4]
      .map((seed) => field.type.good(field, seed))
      .find((value) => stored === null || !field.type.equal(value, stored));
    if (other === undefined) return;
    const body = { [field.name]: other };
    refused(scenario, { method: 'PUT', path: itemPath(type, id), body, ...guard(type) }, 422, {
      pointers: [place(field)],
    });
    get(scenario, type, id);
  });
}

const writable = (type: RecordType, field: Field): boolean =>
  !field.readOnly && type.defaultVariant.fields.includes(field);

function casesOf(context: Context, field: Field): Case[] {
  const { operations } = context.type;
  if (!writable(context.type, field)) return field.readOnly ? readOnly(context, field) : [];
  const creatable = operations.has('create');
  const updatable = operations.has('update');
  return [
    ...(creatable ? [...creates(context, field), ...refusedCreates(context, field)] : []),
    ...(creatable && updatable ? updates(context, field) : []),
    ...(updatable ? refusedUpdates(context, field) : []),
    ...required(context, field),
  ];
}

export const fields = (context: Context): readonly Case[] =>
  representative([...context.type.fields.values()]).flatMap((field) => casesOf(context, field));
