/** Record types that differ in nothing but their names, the same records in all of them, and the work on them. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { itemOf } from '../records.ts';
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

/** One type after the other is asked, and in each one row after the other. */
const typeOf = (n: number, { types = 1 }: World): number => 1 + (n % types);
const rowWithin = (n: number, { types = 1, rows }: World): number => rowOf(Math.floor(n / types), rows);

const shown = (type: number, id: number): JsonValue =>
  json(type === 1 ? itemOf(id) : { ...itemOf(id), previous: itemOf(id) });

function made(n: number, world: World): JsonObject {
  const { id: _, ...fields } = itemOf(n + 1);
  return typeOf(n, world) === 1 ? fields : { ...fields, previous: { id: rowWithin(n, world) } };
}

export const typesWork: readonly Work[] = [
  {
    ...plain,
    name: 'get of each type',
    request: (_, n, world) => ({ method: 'GET', path: `/api/${pathOf(typeOf(n, world))}/${rowWithin(n, world)}` }),
    expected: (n, world) => shown(typeOf(n, world), rowWithin(n, world)),
  },
  {
    ...plain,
    name: 'first page of each type',
    request: (_, n, world) => ({
      method: 'GET',
      path: `/api/${pathOf(typeOf(n, world))}?_cnd[limit]=0&_cnd[limit]=${LIMIT}`,
    }),
    expected: (n, world) => Array.from({ length: LIMIT }, (_, index) => shown(typeOf(n, world), index + 1)),
  },
  {
    ...plain,
    name: 'create of each type',
    status: [201],
    request: (_, n, world) => ({ method: 'POST', path: `/api/${pathOf(typeOf(n, world))}`, body: made(n, world) }),
    expected: (n, world) => {
      const body = made(n, world);
      return typeOf(n, world) === 1 ? body : { ...body, previous: json(itemOf(rowWithin(n, world))) };
    },
  },
];
