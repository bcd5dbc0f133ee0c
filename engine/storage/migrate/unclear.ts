/** What vanished while something that looks the same is new: most likely renamed, and no reason to drop anything. */
import { isDeepStrictEqual } from 'node:util';
import type { RecordType } from '../../model/model.ts';
import type { AppliedModel, AppliedType } from './applied.ts';
import type { ColumnChanges, MatchedJoins, TypeChange } from './match.ts';
import { joinOwner, joinOwnerBefore, referenceOwner } from './relations.ts';
import { createStep, type MigrationStep } from './steps.ts';

interface Vanished {
  readonly type: string;
  /** Undefined for a type. */
  readonly name?: string;
  readonly rowsIn: string | undefined;
}

function question({ type, name, rowsIn }: Vanished, alike: readonly string[]): readonly MigrationStep[] {
  if (alike.length === 0) return [];
  const now = alike.map((one) => `"${one}"`).join(' or ');
  const named = name === undefined ? {} : { name };
  return [createStep('not-renamed', type, { ...named, was: name ?? type, now, rowsIn })];
}

/** Types with the same fields of the same kinds. */
export function unclearTypes(
  dropped: readonly { readonly name: string; readonly type: AppliedType }[],
  added: readonly RecordType[],
): readonly MigrationStep[] {
  return dropped.flatMap(({ name: type, type: old }) => {
    const alike = added.filter((one) => sameFields(old, one));
    return question(
      { type, rowsIn: old.table },
      alike.map(({ name }) => name),
    );
  });
}

function sameFields(old: AppliedType, type: RecordType): boolean {
  const before = Object.entries(old.fields).map(([name, field]) => [name, field.type]);
  const after = [...type.fields.values()].map((field) => [field.name, field.type.name]);
  return isDeepStrictEqual(before.toSorted(), after.toSorted());
}

export function unclearFields({ type, before }: TypeChange, columns: ColumnChanges): readonly MigrationStep[] {
  const added = columns.fields.filter((one) => !one.before).map(({ field }) => field);
  return columns.droppedFields.flatMap((name) => {
    const old = before.fields[name];
    const alike = added.filter(
      (field) => old?.type === field.type.name && isDeepStrictEqual(old.constraints, field.constraints),
    );
    return question(
      { type: type.name, name, rowsIn: before.table },
      alike.map((field) => field.name),
    );
  });
}

export function unclearReferences({ type, before }: TypeChange, columns: ColumnChanges): readonly MigrationStep[] {
  const added = columns.references.filter((one) => !one.before).map(({ after }) => after);
  return columns.droppedReferences.flatMap((old) => {
    const alike = added.filter(({ target }) => target === old.target);
    return question(
      { ...referenceOwner(type.name, old), rowsIn: before.table },
      alike.map((one) => referenceOwner(type.name, one).name),
    );
  });
}

export function unclearJoins({ types }: AppliedModel, { dropped, added }: MatchedJoins): readonly MigrationStep[] {
  return dropped.flatMap((old) => {
    const sides = [old.left.type, old.right.type].toSorted();
    const alike = added.filter((one) => isDeepStrictEqual([one.left.type.name, one.right.type.name].toSorted(), sides));
    const owner = joinOwnerBefore(old);
    return question(
      { ...owner, rowsIn: types[owner.type]?.table },
      alike.map((one) => joinOwner(one).name),
    );
  });
}
