/** Values or promises of values: SQLite returns results synchronously, which are then used without a promise. */
export type Awaitable<T> = T | Promise<T>;

export const andThen = <T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(use) : use(value);
