/**
 * What somebody has to answer before a plan is made: whether a part that vanished is one that is new, and whether data may
 * stay behind although a descriptor names it. To allow the step is to say yes to the latter, and no to the former.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Field, Model, Relation } from '../../model/model.ts';
import { didYouMean, nearest } from '../../names.ts';
import { columnOf } from '../columns.ts';
import { type AppliedModel, appliedReference, type AppliedReference, nameKey, otherSide } from './applied.ts';
import { type Comparison, joinOwner, joinOwnerBefore, referenceOwner, relationAt, type TypePair } from './compare.ts';
import { createStep, type MigrationStep, stepId } from './steps.ts';

// A part that vanished while a new one looks the same was most likely renamed.

export function renameQuestions({ types, added, dropped, joins }: Comparison): readonly MigrationStep[] {
  return [
    ...dropped.flatMap((old) => {
      const kinds = Object.values(old.fields).map((field) => field.type);
      const shape = Object.keys(old.fields).map((name, at) => [name, kinds[at]]);
      const alike = added.filter(({ fields }) =>
        isDeepStrictEqual(shape.toSorted(), [...fields.values()].map(({ name, type }) => [name, type.name]).toSorted()),
      );
      return question(old.name, undefined, old.table, alike);
    }),
    ...joins.dropped.flatMap((old) => {
      const sides = [old.left.type, old.right.type].toSorted();
      const alike = joins.added.filter((one) =>
        isDeepStrictEqual([one.left.type.name, one.right.type.name].toSorted(), sides),
      );
      const { type, name } = joinOwnerBefore(old);
      return question(type, name, old.table, alike.map(joinOwner));
    }),
    ...types.flatMap(({ type, before: { table }, fields, references }) => [
      ...fields.dropped.flatMap((old) => {
        const alike = fields.added.filter(
          (field) => old.type === field.type.name && isDeepStrictEqual(old.constraints, field.constraints),
        );
        return question(type.name, old.name, table, alike);
      }),
      ...references.dropped.flatMap((old) => {
        const alike = references.added.filter(({ target }) => target.name === old.target);
        const owner = referenceOwner(type.name, old);
        const names = alike.map((one) => referenceOwner(type.name, appliedReference(one)));
        return question(owner.type, owner.name, table, names);
      }),
    ]),
  ];
}

function question(
  type: string,
  name: string | undefined,
  rowsIn: string,
  alike: readonly { readonly name: string }[],
): readonly MigrationStep[] {
  if (alike.length === 0) return [];
  const now = alike.map((one) => `"${one.name}"`).join(' or ');
  return [createStep('not-renamed', type, { name, was: name ?? type, now, rowsIn })];
}

// Data that stays behind: a former name that the tables do not know or that comes too late, and a name that means something else.

interface LeftBehind {
  readonly step: MigrationStep;
  /** Whether the data, and the former name that the descriptor gives it, are still there afterwards. */
  readonly lasts: boolean;
}

type Member = Field | Relation;

/** A part of a type that no descriptor names any more. */
interface Past {
  readonly name: string;
  /** For people: `a belongsTo relation to Author`. */
  readonly kind: string;
  readonly stays: string;
}

/** `model`: with the names of tables and columns that the descriptors give. */
export function leftBehind(applied: AppliedModel, asked: Comparison, model: Model): readonly LeftBehind[] {
  const kept = keptMembers(asked);
  const named = [
    ...typesLeftBehind(applied, asked),
    ...asked.types.flatMap((pair) => membersLeftBehind(pair, pastsOf(pair, asked), kept)),
  ];
  const known = new Set(named.map(({ step }) => stepId(step)));
  const places = placesLeftBehind(asked, model).filter((step) => !known.has(stepId(step)));
  return [...named, ...places.map((step) => ({ step, lasts: false }))];
}

/** New types, fields and relations that ask for a table or column which holds what no descriptor names any more. */
function placesLeftBehind({ types, added, dropped }: Comparison, model: Model): readonly MigrationStep[] {
  const holding = (place: string, owner: string): string =>
    `${place} holds the data of ${owner}, which no descriptor names any more, so it gets another name and begins empty. Write "renamedFrom" if it is the same, or allow this step`;
  const isSame = (one: string | undefined, other: string): boolean =>
    one !== undefined && nameKey(one) === nameKey(other);
  return [
    ...added.flatMap(({ name: type }) => {
      const past = dropped.find(({ table }) => isSame(model.types.get(type)?.table, table));
      if (!past) return [];
      const detail = `The table of type ${type}: ${holding(past.table, `type ${past.name}`)}`;
      return [createStep('not-moved', type, { detail, rowsIn: past.table })];
    }),
    ...types.flatMap(({ type, before, fields, references }) => {
      const left = [
        ...fields.dropped.map(({ name, column }) => ({ column, owner: `field "${name}"` })),
        ...references.dropped.map(({ belongsTo, has, column }) => ({
          column,
          owner: `relation "${belongsTo ?? has ?? column}"`,
        })),
      ];
      const asked = model.types.get(type.name);
      return [...fields.added, ...references.added.flatMap(({ relation }) => relation ?? [])].flatMap(({ name }) => {
        const member = asked?.fields.get(name) ?? asked?.relations.get(name);
        const past = left.find(({ column }) => member && isSame(columnOf(member), column));
        if (!past) return [];
        const detail = `The column of "${name}" of ${type.name}: ${holding(past.column, past.owner)}`;
        return [createStep('not-moved', type.name, { name, detail, rowsIn: before.table })];
      });
    }),
  ];
}

function typesLeftBehind({ types }: AppliedModel, asked: Comparison): readonly LeftBehind[] {
  if (Object.keys(types).length === 0) return [];
  const dropped = asked.dropped.map(({ name }) => name);
  const isNew = new Set(asked.added);
  return [...asked.added, ...asked.types.map(({ type }) => type)].flatMap((type): readonly LeftBehind[] => {
    const { name, renamedFrom: former } = type;
    if (former === undefined) return [];
    const subject = `type ${name}`;
    const rowsIn = types[nearest(former, dropped) ?? dropped[0] ?? '']?.table;
    if (isNew.has(type))
      return [{ step: unknownFormer(name, undefined, former, subject, dropped, rowsIn), lasts: false }];
    if (!dropped.includes(former)) return [];
    const detail = tooLate(former, subject, `the records of ${former}`);
    return [{ step: createStep('not-moved', name, { detail, rowsIn: types[former]?.table }), lasts: true }];
  });
}

function keptMembers({ types, joins }: Comparison): ReadonlySet<Member | undefined> {
  return new Set([
    ...types.flatMap(({ fields }) => fields.kept.map(({ after }) => after)),
    ...types.flatMap(({ references }) =>
      references.kept.flatMap(({ after, before }) => [
        before.belongsTo === null ? undefined : after.relation,
        before.has === null ? undefined : otherSide(after),
      ]),
    ),
    ...joins.kept.flatMap(({ after, before }) =>
      [before.left, before.right].map(({ relation, column }) =>
        relation === null ? undefined : relationAt(after, column),
      ),
    ),
  ]);
}

function pastsOf({ before, fields, references }: TypePair, asked: Comparison): readonly Past[] {
  const links = (name: string | null, kind: string): readonly Past[] =>
    name === null ? [] : [{ name, kind, stays: `the links of "${name}"` }];
  const inverse = (type: string, all: readonly AppliedReference[]): readonly Past[] =>
    all.flatMap(({ target, has, unique }) =>
      target === before.name ? links(has, `a ${unique ? 'hasOne' : 'hasMany'} relation to ${type}`) : [],
    );
  return [
    ...fields.dropped.map(({ name }) => ({ name, kind: 'a field', stays: `the values of "${name}"` })),
    ...references.dropped.flatMap(({ belongsTo, target }) => links(belongsTo, `a belongsTo relation to ${target}`)),
    ...asked.types.flatMap((pair) => inverse(pair.before.name, pair.references.dropped)),
    ...asked.dropped.flatMap((type) => inverse(type.name, type.references)),
    ...asked.joins.dropped.flatMap(({ left, right }) =>
      [[left, right] as const, [right, left] as const].flatMap(([own, other]) =>
        own.type === before.name ? links(own.relation, `a manyToMany relation to ${other.type}`) : [],
      ),
    ),
  ];
}

function membersLeftBehind(
  { type: { name: type, fields, relations }, before: { table: rowsIn } }: TypePair,
  pasts: readonly Past[],
  kept: ReadonlySet<Member | undefined>,
): readonly LeftBehind[] {
  const names = pasts.map((past) => past.name);
  return [...fields.values(), ...relations.values()].flatMap((member): readonly LeftBehind[] => {
    const { name, renamedFrom: former } = member;
    const [subject, kind] =
      'link' in member
        ? [`relation "${name}" of ${type}`, `a ${member.kind} relation to ${member.target.name}`]
        : [`field "${name}" of ${type}`, 'a field'];
    const isNew = !kept.has(member);
    const past = pasts.find((one) => one.name === former);
    const other = isNew ? (pasts.find((one) => one.name === name) ?? past) : undefined;
    const detail = other
      ? `"${other.name}" of ${type} was ${other.kind}, which cannot become ${kind}: ${other.stays} stay where they are, and ${subject} begins empty. Use another name and copy them, or allow this step to leave them`
      : past && tooLate(past.name, subject, past.stays);
    if (detail !== undefined)
      return [{ step: createStep('not-moved', type, { name, detail, rowsIn }), lasts: past !== undefined }];
    if (former === undefined || !isNew) return [];
    return [{ step: unknownFormer(type, name, former, subject, names, rowsIn), lasts: false }];
  });
}

const tooLate = (former: string, subject: string, stays: string): string =>
  `"renamedFrom: ${former}" of ${subject} comes too late, since the database has both: ${stays} stay where they are, and no request shows them. Copy what you need, or allow this step to leave them`;

function unknownFormer(
  type: string,
  name: string | undefined,
  former: string,
  subject: string,
  vanished: readonly string[],
  rowsIn: string | undefined,
): MigrationStep {
  const unknown = `"renamedFrom: ${former}" of ${subject} names nothing that the database has${didYouMean(former, vanished)}`;
  // Nothing is gone that it could have meant: a database that never had the former name.
  const isHarmless = vanished.length === 0;
  const detail = isHarmless ? `${unknown}; it is new` : `${unknown}. Correct it, or allow this step if it is new`;
  const step = createStep('not-moved', type, { name, detail, rowsIn });
  return isHarmless ? { ...step, risk: 'safe' } : step;
}
