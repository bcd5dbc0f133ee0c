/** The same by hand for PostgreSQL: a pool, and statements that each connection prepares once under their names. */
import { Pool, type PoolClient, types } from 'pg';
import type { ItemBody, PurchaseBody, PurchaseRow } from './statements.ts';

const INT8 = 20;

/** As an extra column, the total costs one statement less. */
const totalOf = (table: string, where = ''): string => `(select count(*) from ${table}${where}) as found`;

const joined = (more = ''): string => `
  select p.id, p.number, p.status, p.channel, p.note, p.total, p.placed,
    c.id as customer_id, c.name as customer_name, c.email as customer_email, c.phone as customer_phone,
    c.city as customer_city, c.credit as customer_credit, c.regular::int as customer_regular,
    w.id as warehouse_id, w.name as warehouse_name, w.street as warehouse_street, w.postcode as warehouse_postcode,
    w.city as warehouse_city, w.manager as warehouse_manager, w.capacity as warehouse_capacity${more}
  from purchases p left join customers c on c.id = p.customer_id left join warehouses w on w.id = p.warehouse_id`;

const statements = {
  item: 'select * from items where id = $1',
  byId: `select *, ${totalOf('items')} from items order by id limit $1 offset $2`,
  // In the order of the index.
  byName: `select *, ${totalOf('items')} from items order by name nulls first, id limit $1 offset $2`,
  byCategory: `select *, ${totalOf('items', ' where category = $3')} from items where category = $3
    order by id limit $1 offset $2`,
  countItems: 'select count(*) as found from items',
  countCategory: 'select count(*) as found from items where category = $1',
  createItem: `insert into items (code, name, category, quantity, price, active)
    values ($1, $2, $3, $4, $5, $6) returning *`,
  updateItem: `update items set code = coalesce($1, code), name = coalesce($2, name), category = coalesce($3, category),
      quantity = coalesce($4, quantity), price = coalesce($5, price), active = coalesce($6, active)
    where id = $7 returning *`,
  deleteItem: 'delete from items where id = $1 returning *',
  purchase: `${joined()} where p.id = $1`,
  purchases: `${joined(`, ${totalOf('purchases')}`)} order by p.number nulls first, p.id limit $1 offset $2`,
  countPurchases: 'select count(*) as found from purchases',
  createCustomer: `insert into customers (name, email, phone, city, credit, regular)
    values ($1, $2, $3, $4, $5, $6) returning id`,
  createPurchase: `insert into purchases (number, status, channel, note, total, placed, customer_id, warehouse_id)
    values ($1, $2, $3, $4, $5, $6, $7, $8) returning id`,
} as const;

/** PostgreSQL has booleans. */
export type PostgresItem = Omit<ItemBody, 'active'> & { readonly active: boolean | null };

const DEFAULTS: PostgresItem = { code: '', name: '', category: '', quantity: 0, price: '0', active: true };
const NOTHING: PostgresItem = {
  code: null,
  name: null,
  category: null,
  quantity: null,
  price: null,
  active: null,
};

interface Found {
  readonly found: number;
}

/** The records still hold the total: a schema decides what is sent. */
export interface HandPage<T> {
  readonly records: readonly T[];
  readonly total: number;
}

export interface PostgresRecords {
  item(id: number): Promise<object | undefined>;
  items(
    offset: number,
    limit: number,
    orderBy: string | undefined,
    category: string | undefined,
  ): Promise<HandPage<object>>;
  createItem(body: Partial<PostgresItem>): Promise<{ readonly id: number } | undefined>;
  updateItem(id: number, body: Partial<PostgresItem>): Promise<object | undefined>;
  deleteItem(id: number): Promise<object | undefined>;
  purchase(id: number): Promise<PurchaseRow | undefined>;
  purchases(offset: number, limit: number): Promise<HandPage<PurchaseRow>>;
  createPurchase(body: PurchaseBody): Promise<PurchaseRow | undefined>;
}

const valuesOf = ({ code, name, category, quantity, price, active }: PostgresItem): readonly unknown[] => [
  code,
  name,
  category,
  quantity,
  price,
  active,
];

export function openPostgres(url: string): PostgresRecords {
  types.setTypeParser(INT8, Number);
  const max = Number(new URL(url).searchParams.get('pool') ?? 10);
  const pool = new Pool({ connectionString: url, max });

  async function rows<T extends object>(
    name: keyof typeof statements,
    values: readonly unknown[],
    client: Pool | PoolClient = pool,
  ): Promise<readonly T[]> {
    const found = await client.query<T>({ name, text: statements[name], values: [...values] });
    return found.rows;
  }

  /** Only an empty page does not tell the total. */
  async function page<T extends object>(
    name: keyof typeof statements,
    count: keyof typeof statements,
    values: readonly unknown[],
  ): Promise<HandPage<T>> {
    const records = await rows<T & Found>(name, values);
    const [first] = records.length > 0 ? records : await rows<Found>(count, values.slice(2));
    return { records, total: first?.found ?? 0 };
  }

  async function createPurchase({ customer, warehouse, ...body }: PurchaseBody): Promise<PurchaseRow | undefined> {
    const client = await pool.connect();
    const { name, email, phone, city, credit, regular } = customer;
    const { number, status, channel, note, total, placed } = body;
    try {
      await client.query('begin');
      const person = [name, email, phone, city, credit, regular === 1];
      const [made] = await rows<{ id: number }>('createCustomer', person, client);
      const values = [number, status, channel, note, total, placed, made?.id, warehouse];
      const [bought] = await rows<{ id: number }>('createPurchase', values, client);
      const [row] = await rows<PurchaseRow>('purchase', [bought?.id], client);
      await client.query('commit');
      return row;
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  }

  return {
    item: async (id) => (await rows('item', [id]))[0],
    items: (offset, limit, orderBy, category) => {
      if (category !== undefined) return page('byCategory', 'countCategory', [limit, offset, category]);
      return page(orderBy === 'name' ? 'byName' : 'byId', 'countItems', [limit, offset]);
    },
    createItem: async (body) => (await rows<{ id: number }>('createItem', valuesOf({ ...DEFAULTS, ...body })))[0],
    updateItem: async (id, body) => (await rows('updateItem', [...valuesOf({ ...NOTHING, ...body }), id]))[0],
    deleteItem: async (id) => (await rows('deleteItem', [id]))[0],
    purchase: async (id) => (await rows<PurchaseRow>('purchase', [id]))[0],
    purchases: (offset, limit) => page('purchases', 'countPurchases', [limit, offset]),
    createPurchase,
  };
}
