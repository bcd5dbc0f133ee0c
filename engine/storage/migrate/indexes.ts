/** The steps of a type's indexes: unique ones hold records to something, others only make lists fast. */
import { columnType } from '../columns.ts';
import type { Index } from '../../model/model.ts';
import type { AppliedIndex } from './applied.ts';
import { indexesOf } from '../define.ts';
import { rowsAlike } from './assess.ts';
import { draft, type DraftStep, type FieldChange, type ReferenceChange, type TypeChange } from './step.ts';

interface ChangedMembers {
  readonly fields: readonly FieldChange[];
  readonly references: readonly ReferenceChange[];
}

interface IndexSteps {
  /** Before columns go. */
  readonly dropped: readonly DraftStep[];
  /** After columns are there. */
  readonly added: readonly DraftStep[];
}

const keyOf = ({ unique, members }: AppliedIndex): string => JSON.stringify([unique, ...members]);
const shown = (members: readonly string[]): string => members.join('+');

export function indexSteps(change: TypeChange, members: ChangedMembers): IndexSteps {
  const { type, before } = change;
  const now = currentNames(members);
  const old = Object.entries(before.indexes).map(([name, { unique, members: names }]) => {
    const renamed = names.map((one) => now.get(one) ?? one);
    return { name, unique, members: renamed, lives: names.every((one) => now.has(one)) };
  });
  const oldKeys = new Set(old.map(keyOf));
  const wanted = type.indexes.map((index) => ({
    index,
    unique: index.unique,
    members: index.members.map(({ name }) => name),
  }));
  const wantedKeys = new Set(wanted.map(keyOf));
  return {
    // One whose field is gone goes with it.
    dropped: old
      .filter((one) => one.lives && !wantedKeys.has(keyOf(one)))
      .map((one) =>
        draft(one.unique ? 'drop-unique' : 'drop-index', type.name, `Drop the ${nounOf(one)} of ${type.name}`, {
          name: shown(one.members),
          edits: [{ kind: 'dropIndex', name: one.name }],
        }),
      ),
    added: wanted.filter((one) => !oldKeys.has(keyOf(one))).map((one) => added(change, members, one.index)),
  };
}

const nounOf = ({ unique, members }: AppliedIndex): string =>
  `${unique ? 'unique index' : 'index'} over ${members.map((name) => `"${name}"`).join(', ')}`;

/** What fields and belongsTo relations are called now, by what they were. */
function currentNames({ fields, references }: ChangedMembers): ReadonlyMap<string, string> {
  const ofFields = fields.flatMap(({ field, former }) => (former === undefined ? [] : [[former, field.name] as const]));
  const ofReferences = references.flatMap(({ after, before }) =>
    before?.belongsTo && after.belongsTo ? [[before.belongsTo, after.belongsTo] as const] : [],
  );
  return new Map([...ofFields, ...ofReferences]);
}

function added(change: TypeChange, members: ChangedMembers, index: Index): DraftStep {
  const { type } = change;
  const names = index.members.map(({ name }) => name);
  const shape = { unique: index.unique, members: names };
  return draft(index.unique ? 'add-unique' : 'add-index', type.name, `Add a ${nounOf(shape)} of ${type.name}`, {
    name: shown(names),
    edits: [{ kind: 'createIndex', name: index.name, sql: sqlOf(change, index) }],
    checks: index.unique ? [duplicates(change, members, index)] : [],
  });
}

const sqlOf = ({ type, dialect }: TypeChange, index: Index): string =>
  indexesOf(type, dialect).find(({ name }) => name === index.name)?.sql ?? '';

/** Rows that would have the same values afterwards. */
export function duplicates(
  { dialect, ...change }: TypeChange,
  { fields, references }: ChangedMembers,
  { members }: Index,
) {
  const values = members.flatMap((member) => {
    const field = fields.find((one) => one.field === member);
    if (field) return columnType(field.field, dialect.name).comparable(`(${field.value})`);
    return references.find(({ after }) => after.belongsTo === member.name)?.value ?? [];
  });
  const names = members.map(({ name }) => `"${name}"`).join(', ');
  return rowsAlike({ dialect, ...change }, values, `another one would have the same ${names}`);
}
