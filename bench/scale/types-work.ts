/** Record types that differ in nothing but their names, the same records in all of them, and the work on them. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { identifiers, itemOf } from '../records.ts';
import { json, plain, rowOf, type Work, type World } from '../work.ts';

const LIMIT = 20;

export const pathOf = (type: number): string => `kind-${type}`;
export const tableOf = (type: number): string => `kind_${type}`;

/** Each refers to the one before. */
export const descriptorOf = (type: number): string => `type: Kind${type}
description: A record of six fields, kind ${type}.
path: ${pathOf(type)}
table: ${tableOf(type)}
operations: [list, get, create, update, delete]
identifier: { name: id, description: Unique ID of the record }
order: [id]
fields:
  code: { type: string, maxLength: 32, nullable: false, default: '', description: Its code }
  name: { type: string, maxLength: 255, nullable: false, default: '', index: true, description: Its name }
  category: { type: string, maxLength: 64, nullable: false, default: '', index: true, description: Its category }
  quantity: { type: integer, default: 0, description: How many there are }
  price: { type: decimal, precision: 14, scale: 2, default: '0', description: The price of one }
  active: { type: boolean, default: true, description: Whether it is in use }
${type === 1 ? '' : relation(type - 1)}`;

const relation = (before: number): string => `relations:
  previous: { kind: belongsTo, type: Kind${before}, description: The record of the kind before it }
`;

/** Which types are asked, one after the other; in each of them one row after the other. */
interface Choice {
  readonly name: string;
  /** How many types of so many. */
  readonly asked: (types: number) => number;
}

/** As many as there are types at least. */
const SAME = 8;
const choices: readonly Choice[] = [
  { name: 'the same types', asked: (types) => Math.min(SAME, types) },
  { name: 'all types in turn', asked: (types) => types },
];

interface Place {
  readonly type: number;
  readonly row: number;
}

const shown = ({ type, row }: Place): JsonValue =>
  json(type === 1 ? itemOf(row) : { ...itemOf(row), previous: itemOf(row) });

const firstRows = (type: number): JsonValue => identifiers(LIMIT).map((row) => shown({ type, row }));

/** What is sent, and what comes back for it. */
function made(n: number, { type, row }: Place): { readonly body: JsonObject; readonly answer: JsonObject } {
  const { id: _, ...fields } = itemOf(n + 1);
  if (type === 1) return { body: fields, answer: fields };
  return {
    body: { ...fields, previous: { id: row } },
    answer: { ...fields, previous: json(itemOf(row)) },
  };
}

function workOf({ name, asked }: Choice): readonly Work[] {
  const placeOf = (n: number, { types = 1, rows }: World): Place => {
    const count = asked(types);
    return { type: 1 + (n % count), row: rowOf(Math.floor(n / count), rows) };
  };
  const path = ({ type }: Place): string => `/api/${pathOf(type)}`;
  return [
    {
      ...plain,
      name: `get, ${name}`,
      request: (_, n, world) => {
        const place = placeOf(n, world);
        return { method: 'GET', path: `${path(place)}/${place.row}` };
      },
      expected: (n, world) => shown(placeOf(n, world)),
    },
    {
      ...plain,
      name: `first page, ${name}`,
      request: (_, n, world) => ({
        method: 'GET',
        path: `${path(placeOf(n, world))}?_cnd[limit]=0&_cnd[limit]=${LIMIT}`,
      }),
      expected: (n, world) => firstRows(placeOf(n, world).type),
    },
    {
      ...plain,
      name: `create, ${name}`,
      status: [201],
      request: (_, n, world) => {
        const place = placeOf(n, world);
        return { method: 'POST', path: path(place), body: made(n, place).body };
      },
      expected: (n, world) => made(n, placeOf(n, world)).answer,
    },
  ];
}

export const typesWork: readonly Work[] = choices.flatMap(workOf);
