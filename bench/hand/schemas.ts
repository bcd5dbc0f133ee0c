/** What Fastify is told of parameters, bodies and answers, on either database. */
import type { PurchaseBody } from './statements.ts';

const text = { type: 'string' } as const;
const integer = { type: 'integer' } as const;
const boolean = { type: 'boolean' } as const;
const money = { type: 'string', pattern: '^-?\\d{1,12}(\\.\\d{1,2})?$' } as const;

const writable = {
  code: { ...text, maxLength: 32 },
  name: { ...text, maxLength: 255 },
  category: { ...text, maxLength: 64 },
  quantity: integer,
  price: money,
  active: boolean,
};
/** Its serializer writes SQLite's 0 and 1 as booleans. */
export const item = { type: 'object', properties: { id: integer, ...writable } };
export const itemBody = { type: 'object', additionalProperties: false, properties: writable };
const customerFields = { name: text, email: text, phone: text, city: text, credit: money, regular: boolean };
const customer = { type: 'object', nullable: true, properties: { id: integer, ...customerFields } };
const address = { street: text, postcode: text, city: text };
const warehouseFields = { name: text, ...address, manager: text, capacity: integer };
const warehouse = { type: 'object', nullable: true, properties: { id: integer, ...warehouseFields } };
const purchaseFields = { number: text, status: text, channel: text, note: text, total: money, placed: integer };
export const purchase = { type: 'object', properties: { id: integer, ...purchaseFields, customer, warehouse } };
export const purchaseBody = {
  type: 'object',
  additionalProperties: false,
  required: [...Object.keys(purchaseFields), 'customer', 'warehouse'],
  properties: {
    ...purchaseFields,
    customer: { type: 'object', required: Object.keys(customerFields), properties: customerFields },
    warehouse: { type: 'object', required: ['id'], properties: { id: integer } },
  },
};
export const params = { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } };
export const querystring = {
  type: 'object',
  properties: {
    offset: { type: 'integer', minimum: 0, default: 0 },
    limit: { type: 'integer', minimum: 0, maximum: 1000, default: 20 },
    orderBy: text,
    category: text,
  },
};
export const list = (items: object): object => ({ type: 'array', items });
export const NOT_FOUND = { message: 'not found' };

export interface Id {
  Params: { id: number };
}
export interface Query {
  Querystring: { offset: number; limit: number; orderBy?: string; category?: string };
}
export interface ItemInput {
  Body: {
    code?: string;
    name?: string;
    category?: string;
    quantity?: number;
    price?: string;
    active?: boolean;
  };
}
export interface PurchaseInput {
  Body: Omit<PurchaseBody, 'customer' | 'warehouse'> & {
    customer: Omit<PurchaseBody['customer'], 'regular'> & { regular: boolean };
    warehouse: { id: number };
  };
}
