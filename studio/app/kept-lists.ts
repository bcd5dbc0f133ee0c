/** How each list was left: its address, and the records that it showed. In this tab, and until it is closed. */
import { isValueList, isValueObject, type Value } from '../data/json.ts';
import { identifierOf, type TypeInfo } from '../data/model.ts';

const searches = new Map<string, string>();

export const keepList = (path: string, search: string): void => void searches.set(path, search);

/** The address of a list as it was left. */
export const listAddress = (path: string): string => `/${path}${searches.get(path) ?? ''}`;

/** The records of a list, as far as they were seen. */
interface Seen {
  /** The place of the first of them. */
  readonly from: number;
  readonly ids: readonly string[];
  /** The request of the one at a place. */
  readonly targetAt: (place: number) => string;
}

const lists = new Map<string, Seen>();

export const keepSeen = (path: string, seen: Seen): void => void lists.set(path, seen);

export interface Neighbour {
  readonly place: number;
  readonly id: string | undefined;
}

/** The places before and after a record; undefined where there is none, or the record was not found by a list. */
export function neighboursOf(path: string, id: string): { readonly before?: Neighbour; readonly after?: Neighbour } {
  const seen = lists.get(path);
  const index = seen?.ids.indexOf(id) ?? -1;
  if (seen === undefined || index === -1) return {};
  const { ids, from } = seen;
  const place = from + index;
  return {
    ...(place === 0 ? {} : { before: { place: place - 1, id: ids[index - 1] } }),
    after: { place: place + 1, id: ids[index + 1] },
  };
}

/** Asks the service for a neighbour on another page. Undefined after the last record. */
export async function neighbourAt(
  type: TypeInfo,
  { place, id }: Neighbour,
  read: (target: string) => Promise<Value>,
): Promise<string | undefined> {
  const seen = lists.get(type.path);
  if (id !== undefined || seen === undefined) return id;
  const body = await read(seen.targetAt(place));
  const [found = null] = isValueList(body) ? body : [];
  if (!isValueObject(found)) return undefined;
  const next = identifierOf(type, found);
  const isBefore = place < seen.from;
  lists.set(type.path, {
    ...seen,
    from: isBefore ? place : seen.from,
    ids: isBefore ? [next, ...seen.ids] : [...seen.ids, next],
  });
  return next;
}
