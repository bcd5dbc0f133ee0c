/** What a body may reach: the records that it holds and writes, and those that go with what it deletes. */
import type { RecordType, Relation } from '../model/model.ts';

/** Everything that leads on from the first ones, each once. */
function closure(
  first: readonly RecordType[],
  next: (type: RecordType) => readonly RecordType[],
): readonly RecordType[] {
  const found = [...new Set(first)];
  for (const type of found) for (const other of next(type)) if (!found.includes(other)) found.push(other);
  return found;
}

const relationsOf = ({ relations }: RecordType): readonly Relation[] => [...relations.values()];

/** Types of the records that a body of this type may write. */
const writtenWith = (type: RecordType): readonly RecordType[] =>
  closure([type], (one) => relationsOf(one).flatMap(({ nested, target }) => (nested === 'write' ? [target] : [])));

/** Every relation that a body of this type may hold, at any depth. */
export const relationsWithin = (type: RecordType): readonly Relation[] => writtenWith(type).flatMap(relationsOf);

/** Whether a body of this type may hold a value, or a link, that must be unique. */
export const writesUnique = (type: RecordType): boolean =>
  writtenWith(type).some(
    ({ indexes, references }) => indexes.some(({ unique }) => unique) || references.some(({ unique }) => unique),
  );

/** Whether records may be in the way of deleting one of these, or of what goes with it. */
const isRefused = (types: readonly RecordType[]): boolean =>
  closure(types, ({ referrers }) =>
    referrers.flatMap(({ type, reference }) => (reference.onDelete === 'cascade' ? [type] : [])),
  ).some(({ referrers }) => referrers.some(({ reference }) => reference.onDelete === 'restrict'));

export const restrictsDeletion = (type: RecordType): boolean => isRefused([type]);

/** A body deletes owned records that it leaves out. */
export const restrictsWrites = (type: RecordType): boolean =>
  isRefused(relationsWithin(type).flatMap(({ owned, target }) => (owned ? [target] : [])));
