/** The records that every contender holds: the same ones, worked out from their identifiers. */
export interface Item {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly category: string;
  readonly quantity: number;
  readonly price: string;
  readonly active: boolean;
}

export interface Customer {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly phone: string;
  readonly city: string;
  readonly credit: string;
  readonly regular: boolean;
}

export interface Warehouse {
  readonly id: number;
  readonly name: string;
  readonly street: string;
  readonly postcode: string;
  readonly city: string;
  readonly manager: string;
  readonly capacity: number;
}

export interface Purchase {
  readonly id: number;
  readonly number: string;
  readonly status: string;
  readonly channel: string;
  readonly note: string;
  readonly total: string;
  readonly placed: number;
  readonly customer: Customer | null;
  readonly warehouse: Warehouse | null;
}

export const CATEGORIES = 100;
export const CUSTOMERS = 1000;
export const WAREHOUSES = 20;

/** A prime above the number of rows: multiplied by it, identifiers stand in no order, and none comes twice. */
const PRIME = 1_000_003;
const FACTOR = 7919;
const INVERSE = 658_671;
const scattered = (id: number): number => (id * FACTOR) % PRIME;
const gathered = (place: number): number => (place * INVERSE) % PRIME;

const CITIES = ['Aarhus', 'Berlin', 'Córdoba', 'Dublin', 'Espoo', 'Firenze', 'Gdańsk'] as const;
const CHANNELS = ['shop', 'web', 'phone'] as const;
const STATUSES = ['open', 'paid', 'sent', 'returned'] as const;
const oneOf = <T>(values: readonly [T, ...T[]], index: number): T => values[index % values.length] ?? values[0];

const money = (id: number): string => `${(id % 900) + 1}.${String((id * 37) % 100).padStart(2, '0')}`;

export const itemOf = (id: number): Item => ({
  id,
  code: `C-${scattered(id).toString(36).toUpperCase()}`,
  name: `Item ${String(scattered(id)).padStart(7, '0')} of the catalogue`,
  category: categoryOf(id),
  quantity: id % 500,
  price: money(id),
  active: id % 3 > 0,
});

export const categoryOf = (id: number): string => `category ${id % CATEGORIES}`;

export const customerOf = (id: number): Customer => ({
  id,
  name: `Customer ${id}`,
  email: `customer-${id}@example.org`,
  phone: `+49 30 ${1_000_000 + id}`,
  city: oneOf(CITIES, id),
  credit: money(id * 7),
  regular: id % 2 === 0,
});

export const warehouseOf = (id: number): Warehouse => ({
  id,
  name: `Warehouse ${id}`,
  street: `${id} Harbour Road`,
  postcode: String(10_000 + id),
  city: oneOf(CITIES, id * 3),
  manager: `Manager ${id}`,
  capacity: id * 100,
});

export const purchaseOf = (id: number): Purchase => ({
  id,
  number: `P-${String(scattered(id)).padStart(7, '0')}`,
  status: oneOf(STATUSES, id),
  channel: oneOf(CHANNELS, id),
  note: `to be delivered by door ${id % 9}`,
  total: money(id * 11),
  placed: 1_700_000_000 + id * 60,
  customer: customerOf(1 + ((id * 31) % CUSTOMERS)),
  warehouse: warehouseOf(1 + (id % WAREHOUSES)),
});

/** As its table holds it. */
export const purchaseRow = ({ customer, warehouse, ...fields }: Purchase): object => ({
  ...fields,
  customer_id: customer?.id ?? null,
  warehouse_id: warehouse?.id ?? null,
});

/** The first `rows` identifiers. */
export const identifiers = (rows: number): readonly number[] => Array.from({ length: rows }, (_, index) => index + 1);

/** The first identifiers in the order of the items' names, and of the purchases' numbers; or the last, from the end. */
export function firstByName(rows: number, count: number, fromEnd = false): readonly number[] {
  const found: number[] = [];
  for (let step = 1; step < PRIME && found.length < count; step += 1) {
    const id = gathered(fromEnd ? PRIME - step : step);
    if (id <= rows) found.push(id);
  }
  return found;
}
