/** What a programmer writes by hand for these tables: SQL prepared once, rows in, rows out. The three servers by hand share it. */
import Database from 'better-sqlite3';
import type { Customer, Item, Purchase } from '../records.ts';

/** SQLite has no booleans. */
export type ItemRow = Omit<Item, 'active'> & { readonly active: number };

export interface PurchaseRow extends Omit<Purchase, 'customer' | 'warehouse'> {
  readonly customer_id: number | null;
  readonly customer_name: string;
  readonly customer_email: string;
  readonly customer_phone: string;
  readonly customer_city: string;
  readonly customer_credit: string;
  readonly customer_regular: number;
  readonly warehouse_id: number | null;
  readonly warehouse_name: string;
  readonly warehouse_street: string;
  readonly warehouse_postcode: string;
  readonly warehouse_city: string;
  readonly warehouse_manager: string;
  readonly warehouse_capacity: number;
}

/** Nulls stand for what a client has left out. */
export type ItemBody = { readonly [Name in Exclude<keyof ItemRow, 'id'>]: ItemRow[Name] | null };

export interface PurchaseBody extends Omit<Purchase, 'id' | 'customer' | 'warehouse'> {
  readonly customer: Omit<Customer, 'id' | 'regular'> & { readonly regular: number };
  readonly warehouse: number;
}

const JOINED = `
  select p.id, p.number, p.status, p.channel, p.note, p.total, p.placed,
    c.id as customer_id, c.name as customer_name, c.email as customer_email, c.phone as customer_phone,
    c.city as customer_city, c.credit as customer_credit, c.regular as customer_regular,
    w.id as warehouse_id, w.name as warehouse_name, w.street as warehouse_street, w.postcode as warehouse_postcode,
    w.city as warehouse_city, w.manager as warehouse_manager, w.capacity as warehouse_capacity
  from purchases p left join customers c on c.id = p.customer_id left join warehouses w on w.id = p.warehouse_id`;

const DEFAULTS = { code: '', name: '', category: '', quantity: 0, price: '0', active: 1 };

export interface Records {
  item(id: number): ItemRow | undefined;
  items(offset: number, limit: number, orderBy: string | undefined, category: string | undefined): readonly ItemRow[];
  createItem(body: Partial<ItemBody>): ItemRow;
  updateItem(id: number, body: Partial<ItemBody>): ItemRow | undefined;
  deleteItem(id: number): ItemRow | undefined;
  purchase(id: number): PurchaseRow | undefined;
  purchases(offset: number, limit: number): readonly PurchaseRow[];
  createPurchase(body: PurchaseBody): PurchaseRow;
}

export function openRecords(file: string): Records {
  const database = new Database(file);
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');

  const item = database.prepare<[number], ItemRow>('select * from items where id = ?');
  const byId = database.prepare<[number, number], ItemRow>('select * from items order by id limit ? offset ?');
  const byName = database.prepare<[number, number], ItemRow>('select * from items order by name, id limit ? offset ?');
  const byCategory = database.prepare<[string, number, number], ItemRow>(
    'select * from items where category = ? order by id limit ? offset ?',
  );
  const createItem = database.prepare<[ItemBody], ItemRow>(
    `insert into items (code, name, category, quantity, price, active)
     values (@code, @name, @category, @quantity, @price, @active) returning *`,
  );
  const updateItem = database.prepare<[ItemBody & { readonly id: number }], ItemRow>(
    `update items set code = coalesce(@code, code), name = coalesce(@name, name), category = coalesce(@category, category),
       quantity = coalesce(@quantity, quantity), price = coalesce(@price, price), active = coalesce(@active, active)
     where id = @id returning *`,
  );
  const deleteItem = database.prepare<[number], ItemRow>('delete from items where id = ? returning *');
  const purchase = database.prepare<[number], PurchaseRow>(`${JOINED} where p.id = ?`);
  const purchases = database.prepare<[number, number], PurchaseRow>(
    `${JOINED} order by p.number, p.id limit ? offset ?`,
  );
  const createCustomer = database
    .prepare<[PurchaseBody['customer']], number>(
      `insert into customers (name, email, phone, city, credit, regular)
       values (@name, @email, @phone, @city, @credit, @regular) returning id`,
    )
    .pluck();
  const createPurchase = database
    .prepare<[Omit<PurchaseBody, 'customer'> & { readonly customer: number }], number>(
      `insert into purchases (number, status, channel, note, total, placed, customer_id, warehouse_id)
       values (@number, @status, @channel, @note, @total, @placed, @customer, @warehouse) returning id`,
    )
    .pluck();
  const nothing = { code: null, name: null, category: null, quantity: null, price: null, active: null };

  return {
    item: (id) => item.get(id),
    items: (offset, limit, orderBy, category) => {
      if (category !== undefined) return byCategory.all(category, limit, offset);
      return orderBy === 'name' ? byName.all(limit, offset) : byId.all(limit, offset);
    },
    createItem: (body) => found(createItem.get({ ...DEFAULTS, ...body })),
    updateItem: (id, body) => updateItem.get({ ...nothing, ...body, id }),
    deleteItem: (id) => deleteItem.get(id),
    purchase: (id) => purchase.get(id),
    purchases: (offset, limit) => purchases.all(limit, offset),
    createPurchase: database.transaction((body: PurchaseBody) => {
      const customer = found(createCustomer.get(body.customer));
      return found(purchase.get(found(createPurchase.get({ ...body, customer }))));
    }),
  };
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('the row that was just written is not there');
  return row;
}
