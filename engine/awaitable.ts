/** Values that are there, or will be: SQLite answers at once, and what is there goes on at once, without a promise. */
export type Awaitable<T> = T | Promise<T>;

export const andThen = <T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(use) : use(value);
