/** Rows as JSON shows them: booleans, and related records as objects. */
import type { Customer, Item, Purchase, Warehouse } from '../records.ts';
import type { ItemRow, PurchaseRow } from './statements.ts';

export const showItem = ({ id, code, name, category, quantity, price, active }: ItemRow): Item => ({
  id,
  code,
  name,
  category,
  quantity,
  price,
  active: active === 1,
});

export const showPurchase = (row: PurchaseRow): Purchase => ({
  id: row.id,
  number: row.number,
  status: row.status,
  channel: row.channel,
  note: row.note,
  total: row.total,
  placed: row.placed,
  customer: showCustomer(row),
  warehouse: showWarehouse(row),
});

const showCustomer = (row: PurchaseRow): Customer | null =>
  row.customer_id === null
    ? null
    : {
        id: row.customer_id,
        name: row.customer_name,
        email: row.customer_email,
        phone: row.customer_phone,
        city: row.customer_city,
        credit: row.customer_credit,
        regular: row.customer_regular === 1,
      };

const showWarehouse = (row: PurchaseRow): Warehouse | null =>
  row.warehouse_id === null
    ? null
    : {
        id: row.warehouse_id,
        name: row.warehouse_name,
        street: row.warehouse_street,
        postcode: row.warehouse_postcode,
        city: row.warehouse_city,
        manager: row.warehouse_manager,
        capacity: row.warehouse_capacity,
      };
