/** The steps of a table's foreign keys. Each is told by the relation that shows it, on whichever side that is. */
import type { Reference } from '../../model/model.ts';
import { appliedReference, type AppliedReference, otherSide } from '../applied-model.ts';
import { everyRow, rowsAlike, rowsWhere } from './checks.ts';
import { draft, type DraftStep, type ReferenceChange, type TypeChange } from './draft.ts';

/** Names of types now, by what they were, and back. */
export interface TypeNames {
  readonly now: ReadonlyMap<string, string>;
  readonly former: ReadonlyMap<string, string>;
}

export interface MatchedReferences {
  readonly all: readonly { readonly after: AppliedReference; readonly before: AppliedReference | undefined }[];
  readonly dropped: readonly AppliedReference[];
}

/** Wanted foreign keys, each with the one that it was: the same relation of either side, to the same type. */
export function matchReferences({ type, before }: TypeChange, names: TypeNames): MatchedReferences {
  const left = new Set(before.references);
  const pairs = new Map<Reference, AppliedReference>();
  const wanted = type.references.map((reference) => ({ reference, after: appliedReference(reference) }));
  const claim = (
    side: 'belongsTo' | 'has',
    nameOf: (one: (typeof wanted)[number]) => string | null | undefined,
  ): void => {
    for (const one of wanted) {
      const name = nameOf(one) ?? null;
      if (name === null || pairs.has(one.reference)) continue;
      const target = names.former.get(one.after.target);
      const found = [...left].find((old) => old[side] === name && old.target === target);
      if (found && left.delete(found)) pairs.set(one.reference, found);
    }
  };
  claim('belongsTo', ({ after }) => after.belongsTo);
  claim('belongsTo', ({ reference }) => reference.relation?.renamedFrom);
  claim('has', ({ after }) => after.has);
  claim('has', ({ reference }) => otherSide(reference)?.renamedFrom);
  return { all: wanted.map(({ reference, after }) => ({ after, before: pairs.get(reference) })), dropped: [...left] };
}

interface Owner {
  readonly type: string;
  readonly name: string;
}

/** The relation that people know the foreign key by. */
const ownerOf = (table: string, { belongsTo, has, target, column }: AppliedReference): Owner =>
  belongsTo !== null ? { type: table, name: belongsTo } : { type: target, name: has ?? column };

const label = ({ type, name }: Owner): string => `relation "${name}" of ${type}`;

export const referenceSteps = (change: TypeChange, references: readonly ReferenceChange[]): readonly DraftStep[] =>
  references.flatMap((one) => (one.before ? keptSteps(change, one, one.before) : addedSteps(change, one)));

function keptSteps(change: TypeChange, one: ReferenceChange, before: AppliedReference): readonly DraftStep[] {
  const { after, column, value } = one;
  const { quote } = change.dialect;
  const owner = ownerOf(change.type.name, after);
  const was = quote(before.column);
  const edits = [{ kind: 'changeColumn', column, value, isLimited: false }] as const;
  const steps: readonly (readonly [boolean, () => DraftStep])[] = [
    [
      before.column !== after.column,
      () =>
        draft('rename-relation', owner.type, renaming(change, before, after), {
          name: owner.name,
          edits: [{ kind: 'renameColumn', from: before.column, to: after.column }],
        }),
    ],
    [
      before.required && !after.required,
      () => draft('relax-relation', owner.type, `Let ${label(owner)} be null`, { name: owner.name, edits }),
    ],
    [
      !before.required && after.required,
      () =>
        draft('require-relation', owner.type, `Let ${label(owner)} no longer be null`, {
          name: owner.name,
          edits,
          checks: [
            rowsWhere(change, `${was} is null`, { effect: 'fail', says: `there is no "${owner.name}"; link one` }),
          ],
        }),
    ],
    [
      before.unique && !after.unique,
      () =>
        draft('share-relation', owner.type, `Let several ${change.type.name} share ${label(owner)}`, {
          name: owner.name,
        }),
    ],
    [
      !before.unique && after.unique,
      () =>
        draft('unshare-relation', owner.type, `Let no two ${change.type.name} share ${label(owner)}`, {
          name: owner.name,
          checks: [rowsAlike(change, [was], `another one has the same "${owner.name}"`)],
        }),
    ],
    [
      before.onDelete !== after.onDelete,
      () =>
        draft(
          'change-deletion',
          owner.type,
          `On deletion, ${label(owner)}: ${after.onDelete}, not ${before.onDelete}`,
          {
            name: owner.name,
            edits,
          },
        ),
    ],
  ];
  return steps.flatMap(([applies, step]) => (applies ? [step()] : []));
}

function renaming(change: TypeChange, before: AppliedReference, after: AppliedReference): string {
  const [was, is] = [ownerOf(change.type.name, before), ownerOf(change.type.name, after)];
  const columns = `in column ${after.column}, not ${before.column}`;
  return was.name === is.name ? `Keep ${label(is)} ${columns}` : `Rename ${label(was)} to "${is.name}", ${columns}`;
}

function addedSteps(change: TypeChange, { after, column }: ReferenceChange): readonly DraftStep[] {
  const owner = ownerOf(change.type.name, after);
  const effect = { effect: 'fail', says: `there would be no "${owner.name}"; do not require it yet` } as const;
  return [
    draft(after.required ? 'add-required-relation' : 'add-relation', owner.type, `Add ${label(owner)}`, {
      name: owner.name,
      edits: [{ kind: 'addColumn', column }],
      checks: after.required ? [everyRow(change, effect)] : [],
    }),
  ];
}

export const droppedReferenceSteps = (change: TypeChange, dropped: readonly AppliedReference[]): readonly DraftStep[] =>
  dropped.map((before) => {
    const owner = ownerOf(change.former, before);
    const isThere = `${change.dialect.quote(before.column)} is not null`;
    return draft('drop-relation', owner.type, `Drop ${label(owner)}`, {
      name: owner.name,
      edits: [{ kind: 'dropColumn', name: before.column, isReference: true }],
      checks: [rowsWhere(change, isThere, { effect: 'lose', says: `the connection "${owner.name}" is lost` })],
    });
  });
