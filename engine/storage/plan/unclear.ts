/** What vanished beside something new that looks the same: most likely a new name, and no reason to drop anything. */
import { isDeepStrictEqual } from 'node:util';
import type { RecordType } from '../../model/model.ts';
import type { AppliedModel, AppliedType } from '../applied-model.ts';
import type { ColumnChanges } from './columns.ts';
import { draft, type DraftStep, type TypeChange } from './draft.ts';
import type { MatchedJoins } from './joins.ts';
import { relationAt } from './joins.ts';

function question(
  type: string,
  name: string | undefined,
  old: string,
  candidates: readonly string[],
): readonly DraftStep[] {
  if (candidates.length === 0) return [];
  const news = candidates.map((one) => `"${one}"`).join(' or ');
  const says = `"${old}" is gone, and ${news} is new and looks the same. If it is the same, write "renamedFrom: ${old}" there; this step says that it is not`;
  return [draft('not-renamed', type, says, name === undefined ? {} : { name })];
}

export function unclearFields({ type, before }: TypeChange, { fields }: ColumnChanges): readonly DraftStep[] {
  return fields.dropped.flatMap((name) => {
    const old = before.fields[name];
    const alike = fields.all.filter(
      (one) =>
        !one.before && old?.type === one.field.type.name && isDeepStrictEqual(old.constraints, one.field.constraints),
    );
    return question(
      type.name,
      name,
      name,
      alike.map(({ field }) => field.name),
    );
  });
}

export function unclearReferences({ type }: TypeChange, { references }: ColumnChanges): readonly DraftStep[] {
  return references.dropped.flatMap((old) => {
    const alike = references.all.filter(({ after, before }) => !before && after.target === old.target);
    const [owner, name] = old.belongsTo === null ? [old.target, old.has ?? old.column] : [type.name, old.belongsTo];
    return question(
      owner,
      name,
      name,
      alike.map(({ after }) => after.belongsTo ?? after.has ?? after.column),
    );
  });
}

export function unclearJoins({ dropped, added }: MatchedJoins): readonly DraftStep[] {
  return dropped.flatMap(({ left, right, table }) => {
    const types = [left.type, right.type].toSorted();
    const alike = added.filter((one) => isDeepStrictEqual([one.left.type.name, one.right.type.name].toSorted(), types));
    const [type, name] = left.relation === null ? [right.type, right.relation ?? table] : [left.type, left.relation];
    const names = alike.map(
      (one) => (relationAt(one, one.left.column) ?? relationAt(one, one.right.column))?.name ?? one.name,
    );
    return question(type, name, name, names);
  });
}

/** Types with the same fields of the same kinds. */
export function unclearTypes(
  applied: AppliedModel,
  dropped: readonly string[],
  added: readonly RecordType[],
): readonly DraftStep[] {
  return dropped.flatMap((name) => {
    const old = applied.types[name];
    const alike = added.filter((type) => old && sameFields(old, type));
    return question(
      name,
      undefined,
      name,
      alike.map((type) => type.name),
    );
  });
}

function sameFields(old: AppliedType, type: RecordType): boolean {
  const before = Object.entries(old.fields).map(([name, field]) => [name, field.type]);
  const after = [...type.fields.values()].map((field) => [field.name, field.type.name]);
  return isDeepStrictEqual(before.toSorted(), after.toSorted());
}
