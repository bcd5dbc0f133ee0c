/**
 * How pages are read: at once if they are short, else as a scan; each statement with a snapshot of its own if that is
 * enough. What turned out to be wrong for a list is remembered.
 */
import { andThen, type Awaitable, orElse } from '../../awaitable.ts';
import type { Caller } from '../../caller.ts';
import { isPageTooLong } from '../../problem.ts';
import { type Driver, type ListWork, NeedsSnapshot, type Reader } from '../driver.ts';

/** How a page is to be read this time. */
export interface PageAttempt {
  /** Bytes that it may have. */
  readonly most: number;
  /** Whether each statement may have a snapshot of its own. */
  readonly single: boolean;
  /** Its bytes when it was last read, if it was long. */
  readonly expected: number | undefined;
  /** To be told its bytes if it is long. */
  readonly onLong: (bytes: number) => void;
}

interface Attempted<T> {
  readonly work: () => ListWork;
  /** Whether one statement reads it, as long as nothing in it is too long. */
  readonly isSingle: boolean;
  read(reader: Reader, attempt: PageAttempt): Awaitable<T>;
  /** What comes before a scan. */
  readonly refuse?: ((reader: Reader) => Awaitable<void>) | undefined;
}

/** `list`: what is remembered. */
export type ReadPages = <T>(list: object, attempted: Attempted<T>, caller: Caller) => Awaitable<T>;

export function createReadPages(driver: Driver): ReadPages {
  /** Lists whose page is long: its bytes when it was last read, Infinity while they are unknown. */
  const long = new WeakMap<object, number>();
  /** Lists for which one statement was not enough. */
  const inSnapshot = new WeakSet<object>();

  function attempt<T>(list: object, { work, isSingle, read, refuse }: Attempted<T>, caller: Caller): Awaitable<T> {
    const single = isSingle && !inSnapshot.has(list);
    const readWithin = (reader: Reader, most: number): Awaitable<T> => {
      const bytes = long.get(list);
      const expected = bytes === Infinity ? undefined : bytes;
      const onLong = (found: number): void => void long.set(list, found);
      return orElse(
        () => read(reader, { most, single, expected, onLong }),
        (error) => {
          if (isPageTooLong(error)) long.set(list, Infinity);
          throw error;
        },
      );
    };
    const isLong = (): boolean => (long.get(list) ?? 0) > driver.pageAtOnce;
    const whole = (reader: Reader): Awaitable<T> => readWithin(reader, caller.most);
    const scan = (): Awaitable<T> =>
      driver.scan(refuse ? (reader) => andThen(refuse(reader), () => whole(reader)) : whole, caller, single, isLong());
    if (isLong() || driver.isHeavy(work())) return scan();
    const most = Math.min(caller.most, driver.pageAtOnce);
    return orElse(
      () => driver.read((reader) => readWithin(reader, most), caller, single),
      (error) => {
        if (!isPageTooLong(error) || most === caller.most) throw error;
        return scan();
      },
    );
  }

  return (list, attempted, caller) =>
    orElse(
      () => attempt(list, attempted, caller),
      (error) => {
        if (!(error instanceof NeedsSnapshot)) throw error;
        inSnapshot.add(list);
        return attempt(list, attempted, caller);
      },
    );
}
