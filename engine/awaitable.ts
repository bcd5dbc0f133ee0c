/** Values that are there, or will be: SQLite answers at once, and what is there goes on at once, without a promise. */
export type Awaitable<T> = T | Promise<T>;

export const andThen = <T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(use) : use(value);

type AwaitableParts<T extends readonly unknown[]> = { readonly [K in keyof T]: Awaitable<T[K]> };

/** Several of them. */
export function together<T extends readonly unknown[]>(values: AwaitableParts<T>): Awaitable<T> {
  // Each is there, as none is a promise.
  return values.some((value) => value instanceof Promise)
    ? (Promise.all(values) as Promise<T>)
    : (values as unknown as T);
}

/** What `ask` answers, or else what `instead` makes of its error. */
export function orElse<T>(ask: () => Awaitable<T>, instead: (error: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = ask();
    return value instanceof Promise ? value.catch(instead) : value;
  } catch (error) {
    return instead(error);
  }
}
