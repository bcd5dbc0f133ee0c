/** Adds all of `more`. `push(...more)` would pass them on the stack, which has room for about a hundred thousand. */
export function append<T>(all: T[], more: Iterable<T>): void {
  for (const one of more) all.push(one);
}
