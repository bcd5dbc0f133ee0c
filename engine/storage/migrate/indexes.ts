/** The steps of a type's indexes: unique ones constrain records, others only make lists fast. */
import type { Index, RecordType } from '../../model/model.ts';
import { columnType } from '../columns.ts';
import { indexesOf } from '../tables.ts';
import type { Edit } from './driver.ts';
import type { AppliedIndex } from './applied.ts';
import { rowsAlike, rowsWhere } from './assess.ts';
import type { ColumnChanges, TypeChange } from './match.ts';
import { checkOf, createStep, type MigrationStep, type StepCheck } from './steps.ts';

interface IndexSteps {
  /** Before columns go. */
  readonly dropped: readonly MigrationStep[];
  /** After columns are there. */
  readonly added: readonly MigrationStep[];
}

export function indexSteps(change: TypeChange, columns: ColumnChanges): IndexSteps {
  const old = oldIndexes(change, columns);
  const oldTerms = new Set(old.map(({ terms }) => terms));
  const added = change.type.indexes.filter((one) => !oldTerms.has(termsOf(one.unique, one.members.map(termOf))));
  return {
    dropped: old.filter((one) => !isWanted(one, change.type)).map((one) => droppedStep(change, one)),
    added: added.flatMap((index) => addedSteps(change, columns, index, oldOver(old, index))),
  };
}

interface OldIndex extends AppliedIndex {
  readonly name: string;
  /** The same text for an index over the same, compared in the same way. */
  readonly terms: string;
}

/** Those that were there, with what their members are called now. One whose field is gone goes with it. */
function oldIndexes({ before }: TypeChange, columns: ColumnChanges): readonly OldIndex[] {
  const now = currentNames(columns);
  const current = (one: string): string => now.get(one) ?? one;
  return Object.entries(before.indexes).flatMap(([name, { unique, members }]) => {
    if (!members.every((one) => now.has(one))) return [];
    const terms = members.map((one) => termNamed(current(one), before.fields[one]?.folded));
    return [{ name, unique, members: members.map(current), terms: termsOf(unique, terms) }];
  });
}

const termsOf = (unique: boolean, terms: readonly string[]): string => JSON.stringify([unique, ...terms]);
const termNamed = (name: string, folded: string | undefined): string =>
  folded === undefined ? name : `${name} folded`;
const termOf = (member: Index['members'][number]): string => termNamed(member.name, foldedOf(member));
const foldedOf = (member: Index['members'][number]): string | undefined =>
  'link' in member ? undefined : member.folded;

/** One over the same fields, of which case begins or ceases to count: the new one takes its place. */
const oldOver = (old: readonly OldIndex[], index: Index): OldIndex | undefined =>
  old.find((one) => keyOf(one) === keyOf(named(index)));

const named = (index: Index): AppliedIndex => ({ unique: index.unique, members: namesOf(index) });

const isWanted = (old: OldIndex, { indexes }: RecordType): boolean =>
  indexes.some((index) => keyOf(named(index)) === keyOf(old));

/** Those that the type does not name, each with the step that would drop it. */
export const unnamedIndexes = (
  change: TypeChange,
  columns: ColumnChanges,
): readonly (readonly [index: OldIndex, step: MigrationStep])[] =>
  oldIndexes(change, columns)
    .filter((one) => !isWanted(one, change.type))
    .map((one) => [one, droppedStep(change, one)]);

const keyOf = ({ unique, members }: AppliedIndex): string => JSON.stringify([unique, ...members]);
const namesOf = ({ members }: Index): readonly string[] => members.map(({ name }) => name);
const shown = (members: readonly string[]): string => members.join('+');
const quoted = (members: readonly string[]): string => members.map((name) => `"${name}"`).join(', ');

const described = ({ members }: Index): string =>
  members.map((member) => `"${member.name}"${foldedOf(member) === undefined ? '' : ' (whatever its case)'}`).join(', ');

/** Current names of fields and belongsTo relations, by their former names. */
function currentNames({ fields, references }: ColumnChanges): ReadonlyMap<string, string> {
  const ofFields = fields.flatMap(({ field, former }) => (former === undefined ? [] : [[former, field.name] as const]));
  const ofReferences = references.flatMap(({ after, before }) =>
    before?.belongsTo && after.belongsTo ? [[before.belongsTo, after.belongsTo] as const] : [],
  );
  return new Map([...ofFields, ...ofReferences]);
}

function droppedStep({ type, before }: TypeChange, index: OldIndex): MigrationStep {
  return createStep(index.unique ? 'drop-unique' : 'drop-index', type.name, {
    name: shown(index.members),
    detail: quoted(index.members),
    edits: [{ kind: 'dropIndex', name: index.name, unique: index.unique }],
    rowsIn: before.table,
  });
}

function addedSteps(
  change: TypeChange,
  columns: ColumnChanges,
  index: Index,
  replaced: OldIndex | undefined,
): readonly MigrationStep[] {
  const { type, before, dialect } = change;
  // If case counts again, fewer values are equal, so the index is rebuilt like any whose SQL changes.
  if (replaced && index.members.every((member) => foldedOf(member) === undefined)) return [];
  const dropped: readonly Edit[] = replaced
    ? [{ kind: 'dropIndex', name: replaced.name, unique: replaced.unique }]
    : [];
  const made = indexesOf(type, dialect).filter(({ name }) => name === index.name);
  const edits: readonly Edit[] = [...dropped, ...made.map((one): Edit => ({ kind: 'createIndex', index: one }))];
  const step = createStep(index.unique ? 'add-unique' : 'add-index', type.name, {
    name: shown(namesOf(index)),
    detail: described(index),
    edits,
    checks: [...(index.unique ? [duplicates(change, columns, index)] : []), ...longEntries(change, columns, index)],
    rowsIn: before.table,
  });
  // Nobody has relied on a new field taking equal values.
  return [hasNewMember(columns, index) ? { ...step, risk: 'safe' } : step];
}

/** Rows with values that are too long for an index. Folded and converted, a value is about as long. */
function longEntries(change: TypeChange, { fields }: ColumnChanges, index: Index): readonly StepCheck[] {
  const { isLongEntry, quote } = change.dialect;
  const stored = fields.filter(({ field }) => index.members.includes(field));
  const columns = stored.flatMap(({ before }) => (before ? quote(before.column) : []));
  if (!isLongEntry || columns.length === 0) return [];
  const says = `the values of ${described(index)} are too long for an index of this database; shorten them`;
  return [{ ...rowsWhere(change, isLongEntry(columns)), effect: 'fail', says }];
}

const hasNewMember = ({ fields, references }: ColumnChanges, { members }: Index): boolean =>
  members.some(
    (member) =>
      fields.some(({ field, before }) => field === member && !before) ||
      references.some(({ after, before }) => after.belongsTo === member.name && !before),
  );

/** Rows that would have the same values afterwards. */
export function duplicates(change: TypeChange, { fields, references }: ColumnChanges, index: Index): StepCheck {
  const values = index.members.flatMap((member) => {
    const one = fields.find(({ field }) => field === member);
    if (one) return one.folded?.value ?? columnType(one.field, change.dialect.name).comparable(`(${one.value})`);
    return references.find(({ after }) => after.belongsTo === member.name)?.value ?? [];
  });
  return checkOf('add-unique', { type: change.type.name, detail: described(index) }, rowsAlike(change, values));
}
