/** Products and their shelves, worked out from their identifiers. */
export const SHELVES = 499;
export const CATEGORIES = 100;

export const productOf = (id: number) => ({
  id,
  code: `P-${id}`,
  category: `category ${id % CATEGORIES}`,
  stock: id % 1000,
  price: `${id % 300}.${String(10 + (id % 90))}`,
  active: id % 3 === 0,
});

export type Product = ReturnType<typeof productOf>;

export const shelfIdOf = (id: number): number => 1 + (id % SHELVES);
export const shelfOf = (id: number) => ({ id, name: `Shelf ${id}` });

/** Each group of products that a request deletes at once. */
export const GROUP = 10;
export const groupName = (group: number): string => `gone ${group}`;
