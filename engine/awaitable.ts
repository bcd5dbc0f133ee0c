/** Values or promises of values: SQLite returns results synchronously, which are then used without a promise. */
export type Awaitable<T> = T | Promise<T>;

export const andThen = <T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(use) : use(value);

type AwaitableParts<T extends readonly unknown[]> = { readonly [K in keyof T]: Awaitable<T[K]> };

/** Like Promise.all, but synchronous if no value is a promise. */
export function together<T extends readonly unknown[]>(values: AwaitableParts<T>): Awaitable<T> {
  // Without a promise among them, the values are the result.
  return values.some((value) => value instanceof Promise)
    ? (Promise.all(values) as Promise<T>)
    : (values as unknown as T);
}

/** The result of `ask`, or of `instead` if it fails. */
export function orElse<T>(ask: () => Awaitable<T>, instead: (error: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = ask();
    return value instanceof Promise ? value.catch(instead) : value;
  } catch (error) {
    return instead(error);
  }
}
