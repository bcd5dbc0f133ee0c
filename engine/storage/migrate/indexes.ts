/** The steps of a type's indexes: unique ones constrain records, others only make lists fast. */
import type { Index, RecordType } from '../../model/model.ts';
import { columnType } from '../columns.ts';
import { indexesOf } from '../define.ts';
import type { AppliedIndex } from './applied.ts';
import { rowsAlike } from './assess.ts';
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
  const oldKeys = new Set(old.map(keyOf));
  const added = change.type.indexes.filter((one) => !oldKeys.has(keyOf(named(one))));
  return {
    dropped: old.filter((one) => !isWanted(one, change.type)).map((one) => droppedStep(change, one)),
    added: added.map((index) => addedStep(change, columns, index)),
  };
}

interface OldIndex extends AppliedIndex {
  readonly name: string;
}

/** Those that were there, with what their members are called now. One whose field is gone goes with it. */
function oldIndexes({ before }: TypeChange, columns: ColumnChanges): readonly OldIndex[] {
  const now = currentNames(columns);
  return Object.entries(before.indexes).flatMap(([name, { unique, members }]) =>
    members.every((one) => now.has(one)) ? [{ name, unique, members: members.map((one) => now.get(one) ?? one) }] : [],
  );
}

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

/** What fields and belongsTo relations are called now, by what they were. */
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

function addedStep(change: TypeChange, columns: ColumnChanges, index: Index): MigrationStep {
  const { type, before, dialect } = change;
  const sql = indexesOf(type, dialect).find(({ name }) => name === index.name)?.sql ?? '';
  return createStep(index.unique ? 'add-unique' : 'add-index', type.name, {
    name: shown(namesOf(index)),
    detail: quoted(namesOf(index)),
    edits: [{ kind: 'createIndex', name: index.name, sql }],
    checks: index.unique ? [duplicates(change, columns, index)] : [],
    rowsIn: before.table,
  });
}

/** Rows that would have the same values afterwards. */
export function duplicates(change: TypeChange, { fields, references }: ColumnChanges, index: Index): StepCheck {
  const values = index.members.flatMap((member) => {
    const one = fields.find(({ field }) => field === member);
    if (one) return columnType(one.field, change.dialect.name).comparable(`(${one.value})`);
    return references.find(({ after }) => after.belongsTo === member.name)?.value ?? [];
  });
  return checkOf('add-unique', { type: change.type.name, detail: quoted(namesOf(index)) }, rowsAlike(change, values));
}
