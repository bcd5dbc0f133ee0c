/** The steps of a type's indexes: unique ones constrain records, others only make lists fast. */
import type { Index, RecordType } from '../../model/model.ts';
import { columnType } from '../columns.ts';
import { indexesOf } from '../tables.ts';
import { rowsAlike, rowsWhere, type TypeChange } from './change.ts';
import { columnsBefore, memberAt, type NamedIndex } from './compare.ts';
import type { Edit } from './driver.ts';
import { checkOf, type MigrationStep, type StepCheck } from './steps.ts';

/** Before columns go. An index whose column is gone goes with it. */
export const droppedIndexSteps = (change: TypeChange): readonly MigrationStep[] =>
  change.indexes.dropped
    .filter(({ members }) => columnsBefore(change.before, members).every((column) => memberAt(change.type, column)))
    .map((index) => droppedIndexStep(change, index));

/** `type`: that whose members the index has now. */
export function droppedIndexStep(
  { before, step, type: own }: TypeChange,
  { name, unique, members }: NamedIndex,
  type: RecordType = own,
): MigrationStep {
  const names = columnsBefore(before, members).map((column) => memberAt(type, column)?.name ?? column);
  return step(unique ? 'drop-unique' : 'drop-index', {
    name: names.join('+'),
    detail: names.map((one) => `"${one}"`).join(', '),
    edits: [{ kind: 'dropIndex', name, unique }],
  });
}

/** After columns are there. */
export const addedIndexSteps = (change: TypeChange): readonly MigrationStep[] => [
  ...change.indexes.added.map((index) => addedStep(change, index)),
  // If case counts again, fewer values are equal, so the index is rebuilt like any whose SQL changes.
  ...change.indexes.kept
    .filter(({ after, before }) => after.name !== before.name && after.members.some(isFolded))
    .map(({ after, before }) => addedStep(change, after, before)),
];

type Member = Index['members'][number];

const isFolded = (member: Member): boolean => !('link' in member) && member.folded !== undefined;

const described = ({ members }: Index): string =>
  members.map((member) => `"${member.name}"${isFolded(member) ? ' (whatever its case)' : ''}`).join(', ');

/** `replaced`: over the same fields, of which case begins to be ignored. */
function addedStep(change: TypeChange, index: Index, replaced?: NamedIndex): MigrationStep {
  const { type, dialect, step, fields, references } = change;
  const { name, unique, members } = index;
  const made = indexesOf(type, dialect).filter((one) => one.name === name);
  const dropped: readonly Edit[] = replaced ? [{ kind: 'dropIndex', name: replaced.name, unique }] : [];
  const added = step(unique ? 'add-unique' : 'add-index', {
    name: members.map((member) => member.name).join('+'),
    detail: described(index),
    edits: [...dropped, ...made.map((one): Edit => ({ kind: 'createIndex', index: one }))],
    checks: [...(unique ? [duplicates(change, index)] : []), ...longEntries(change, index)],
  });
  const fresh = new Set<object | undefined>([...fields.added, ...references.added.map(({ relation }) => relation)]);
  // Nobody has relied on a new field taking equal values.
  return members.some((member) => fresh.has(member)) ? { ...added, risk: 'safe' } : added;
}

/** Rows with values that are too long for an index. Folded and converted, a value is about as long. */
function longEntries(change: TypeChange, index: Index): readonly StepCheck[] {
  const { isLongEntry, quote } = change.dialect;
  const stored = change.fields.kept.filter(({ after }) => index.members.includes(after));
  if (!isLongEntry || stored.length === 0) return [];
  const rows = rowsWhere(change, isLongEntry(stored.map(({ before }) => quote(before.column))));
  const says = `the values of ${described(index)} are too long for an index of this database; shorten them`;
  return [{ ...rows, effect: 'fail', says }];
}

/** Rows that would have the same values afterwards. */
export function duplicates(change: TypeChange, index: Index): StepCheck {
  const values = index.members.flatMap((member) => {
    const one = change.fieldChanges.find(({ field }) => field === member);
    if (one) return one.folded?.value ?? columnType(one.field, change.dialect.name).comparable(`(${one.value})`);
    return change.referenceChanges.find(({ after }) => after.belongsTo === member.name)?.value ?? [];
  });
  return checkOf('add-unique', { detail: described(index) }, rowsAlike(change, values));
}
