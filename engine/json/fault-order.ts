/** The order of faults in a body. */
import { memoized } from '../memo.ts';
import type { Fault } from '../problem.ts';
import { type JsonValue, unescapedSteps } from './json.ts';

/** Sorts faults as in the body, missing keys last, one per location and all unmet checks. `at`: the body's pointer. */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue, at = ''): readonly Fault[] {
  if (faults.length < 2) return faults;
  /** A sort key for the location: it sorts before locations inside it. */
  const orderOf = (location: string): string => {
    let value: unknown = body;
    const indexes = unescapedSteps(location.slice(at.length)).map((step) => {
      const index = typeof value === 'object' && value !== null ? indexesOf(value).get(step) : undefined;
      value = index === undefined ? undefined : Reflect.get(value as object, step);
      return index === undefined ? '~' : String(index).padStart(8, '0');
    });
    return indexes.join('');
  };
  const located = [...Map.groupBy(faults, pointerOf)].map(([location, all]) => ({ order: orderOf(location), all }));
  return located
    .toSorted((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)))
    .flatMap(({ all }) => (all[0]?.code === 'check' ? all.filter(({ code }) => code === 'check') : all.slice(0, 1)));
}

const indexesOf = memoized((value: object) => new Map(Object.keys(value).map((key, index) => [key, index])));

const pointerOf = (fault: Fault): string => ('pointer' in fault ? fault.pointer : '');

export const onePerLocation = (faults: readonly Fault[]): readonly Fault[] =>
  [...Map.groupBy(faults, pointerOf).values()].flatMap((all) => all.slice(0, 1));
