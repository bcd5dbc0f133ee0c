/** The checks of bodies that a programmer writes by hand, for servers that bring none. */
import type { ItemBody, PurchaseBody } from './statements.ts';

type Body = Readonly<Record<string, unknown>>;

const isBody = (value: unknown): value is Body => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isMoney = (value: unknown): value is string => isText(value) && /^-?\d{1,12}(\.\d{1,2})?$/.test(value);

const ITEM_FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  code: (value) => isText(value) && value.length <= 32,
  name: (value) => isText(value) && value.length <= 255,
  category: (value) => isText(value) && value.length <= 64,
  quantity: isInteger,
  price: isMoney,
  active: (value) => typeof value === 'boolean',
};

/** undefined where the body is refused. */
export function readItem(body: unknown): Partial<ItemBody> | undefined {
  if (!isBody(body)) return undefined;
  for (const [name, value] of Object.entries(body)) if (!ITEM_FIELDS[name]?.(value)) return undefined;
  return 'active' in body ? { ...body, active: body['active'] === true ? 1 : 0 } : body;
}

export function readPurchase(body: unknown): PurchaseBody | undefined {
  if (!isBody(body)) return undefined;
  const { number, status, channel, note, total, placed, customer, warehouse } = body;
  if (!isText(number) || !isText(status) || !isText(channel) || !isText(note)) return undefined;
  if (!isMoney(total) || !isInteger(placed)) return undefined;
  if (!isBody(customer) || !isBody(warehouse) || !isInteger(warehouse['id'])) return undefined;
  const { name, email, phone, city, credit, regular } = customer;
  if (!isText(name) || !isText(email) || !isText(phone) || !isText(city)) return undefined;
  if (!isMoney(credit) || typeof regular !== 'boolean') return undefined;
  const made = { name, email, phone, city, credit, regular: regular ? 1 : 0 };
  return { number, status, channel, note, total, placed, customer: made, warehouse: warehouse['id'] };
}
