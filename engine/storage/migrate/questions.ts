/** Questions about data that would be left behind, perhaps by mistake. Allowing such a step means no. */
import { isDeepStrictEqual } from 'node:util';
import { type Field, type Model, otherSide, type RecordType, relationAt } from '../../model/model.ts';
import { didYouMean, nearest } from '../../names.ts';
import { columnOf } from '../columns.ts';
import { type AppliedJoin, type AppliedModel, appliedReference, type AppliedReference, nameKey } from './applied.ts';
import { type Comparison, joinOwner, joinOwnerBefore, referenceOwner, type TypePair } from './diff.ts';
import { createStep, type MigrationStep } from './steps.ts';

/** A part that vanished while an equal part appeared was probably renamed. */
export function renameQuestions({ types, added, dropped, joins }: Comparison): readonly MigrationStep[] {
  const ask = (
    { type, name }: { readonly type: string; readonly name?: string },
    rowsIn: string,
    alike: readonly { readonly name: string }[],
  ): readonly MigrationStep[] => {
    const now = alike.map((one) => `"${one.name}"`).join(' or ');
    return alike.length === 0 ? [] : [createStep('not-renamed', type, { name, was: name ?? type, now, rowsIn })];
  };
  const isSame = (some: readonly string[], others: readonly string[]): boolean =>
    isDeepStrictEqual(some.toSorted(), others.toSorted());
  const shapeOf = ({ fields }: RecordType): readonly string[] =>
    [...fields.values()].map(({ name, type }) => `${name} ${type.name}`);
  return [
    ...dropped.flatMap((old) => {
      const shape = Object.entries(old.fields).map(([name, { type }]) => `${name} ${type}`);
      const alike = added.filter((one) => isSame(shape, shapeOf(one)));
      return ask({ type: old.name }, old.table, alike);
    }),
    ...joins.dropped.flatMap((old) => {
      const sides = [old.left.type, old.right.type];
      const alike = joins.added.filter(({ left, right }) => isSame(sides, [left.type.name, right.type.name]));
      return ask(joinOwnerBefore(old), old.table, alike.map(joinOwner));
    }),
    ...types.flatMap(({ type, before: { table }, fields, references }) => [
      ...fields.dropped.flatMap(({ name, ...old }) => {
        const isAlike = (field: Field): boolean =>
          old.type === field.type.name && isDeepStrictEqual(old.constraints, field.constraints);
        return ask({ type: type.name, name }, table, fields.added.filter(isAlike));
      }),
      ...references.dropped.flatMap((old) => {
        const alike = references.added.filter(({ target }) => target.name === old.target);
        const owners = alike.map((one) => referenceOwner(type.name, appliedReference(one)));
        return ask(referenceOwner(type.name, old), table, owners);
      }),
    ]),
  ];
}

interface FormerPart {
  readonly name: string;
  readonly kind: string;
  readonly stays: string;
  readonly rowsIn: string;
  /** Its table or column; empty on a relation's other side. */
  readonly storedIn: string;
}

interface Unclaimed {
  readonly step: MigrationStep;
  /** Whether the data, and its former name in the descriptor, remain afterwards. */
  readonly lasts: boolean;
}

/** Finds data that no descriptor shows any more. `model`: with the tables and columns as the descriptors ask. */
export function unclaimed(applied: AppliedModel, asked: Comparison, model: Model): readonly Unclaimed[] {
  if (Object.keys(applied.types).length === 0) return [];
  const formerTypes = asked.dropped.map(({ name, table }) => {
    return { name, kind: 'a type', stays: `the records of ${name}`, rowsIn: table, storedIn: table };
  });
  const kept = keptNames(asked);
  return [...model.types.values()].flatMap((type) => {
    const pair = asked.types.find((one) => one.type.name === type.name);
    const formerParts = pair ? formerPartsOf(pair, asked) : [];
    const members = pair ? [...type.fields.values(), ...type.relations.values()] : [];
    return [
      ...questionsOf(
        type,
        { type: type.name, subject: `type ${type.name}`, kind: 'a type', isNew: !pair },
        formerTypes,
      ),
      ...members.flatMap((member) => {
        const { name } = member;
        const [what, kind] =
          'link' in member ? ['relation', `a ${member.kind} relation to ${member.target.name}`] : ['field', 'a field'];
        const isNew = !kept.has(`${type.name}.${name}`);
        const subject = `${what} "${name}" of ${type.name}`;
        const part = { name, renamedFrom: member.renamedFrom, table: columnOf(member) };
        return questionsOf(part, { type: type.name, subject, kind, isNew }, formerParts, pair?.before.table, name);
      }),
    ];
  });
}

function questionsOf(
  { name, renamedFrom: former, table: storedIn }: Pick<RecordType, 'name' | 'renamedFrom' | 'table'>,
  { type, subject, kind, isNew }: Readonly<Record<'type' | 'subject' | 'kind', string>> & { readonly isNew: boolean },
  formerParts: readonly FormerPart[],
  table?: string,
  member?: string,
): readonly Unclaimed[] {
  const left = (detail: string, { lasts = false, rowsIn = table } = {}): readonly Unclaimed[] => [
    { step: createStep('not-moved', type, { name: member, detail, rowsIn }), lasts },
  ];
  const renamed = formerParts.find((one) => one.name === former);
  const other = isNew ? (formerParts.find((one) => one.name === name) ?? renamed) : undefined;
  if (other)
    return left(
      `"${other.name}" of ${type} was ${other.kind === kind ? 'the other side of a relation' : other.kind}, which cannot become ${kind}: ${other.stays} stay where they are, and ${subject} begins empty. Use another name and copy them, or allow this step to leave them`,
      { lasts: renamed !== undefined },
    );
  if (renamed)
    return left(
      `"renamedFrom: ${renamed.name}" of ${subject} comes too late, since the database has both: ${renamed.stays} stay where they are, and no request shows them. Copy what you need, or allow this step to leave them`,
      { lasts: true, rowsIn: renamed.rowsIn },
    );
  if (!isNew) return [];
  if (former !== undefined) {
    const names = formerParts.map((one) => one.name);
    const unknown = `"renamedFrom: ${former}" of ${subject} names nothing that the database has${didYouMean(former, names)}`;
    const meant = nearest(former, names) ?? names[0];
    const rowsIn = formerParts.find((one) => one.name === meant)?.rowsIn;
    if (rowsIn !== undefined) return left(`${unknown}. Correct it, or allow this step if it is new`, { rowsIn });
    // No former part is left that it could mean, so nothing is lost: this database never had the name.
    return left(`${unknown}; it is new`).map((one) => ({ ...one, step: { ...one.step, risk: 'safe' } }));
  }
  const held = formerParts.find((one) => storedIn !== '' && nameKey(one.storedIn) === nameKey(storedIn));
  if (!held) return [];
  return left(
    `${storedIn} holds ${held.stays}, which no descriptor names any more, so ${subject} gets another one and begins empty. Write "renamedFrom" if it is the same, or allow this step`,
    { rowsIn: held.rowsIn },
  );
}

function keptNames({ types, joins }: Comparison): ReadonlySet<string> {
  const sides = [
    ...types.flatMap(({ references }) =>
      references.kept.flatMap(({ after, before }) => [
        before.belongsTo === null ? [] : (after.relation ?? []),
        before.has === null ? [] : (otherSide(after) ?? []),
      ]),
    ),
    ...joins.kept.flatMap(({ after, before }) =>
      [before.left, before.right].map(({ relation, column }) =>
        relation === null ? [] : (relationAt(after, column) ?? []),
      ),
    ),
  ].flat();
  return new Set([
    ...types.flatMap(({ type, fields }) => fields.kept.map(({ after }) => `${type.name}.${after.name}`)),
    ...sides.map(({ source, name }) => `${source.name}.${name}`),
  ]);
}

function formerPartsOf({ before, fields, references }: TypePair, asked: Comparison): readonly FormerPart[] {
  const rowsIn = before.table;
  const links = (name: string | null, kind: string, storedIn = ''): readonly FormerPart[] =>
    name === null ? [] : [{ name, kind, stays: `the links of "${name}"`, rowsIn, storedIn }];
  const inverse = (type: string, all: readonly AppliedReference[]): readonly FormerPart[] =>
    all.flatMap(({ target, has, unique }) =>
      target === before.name ? links(has, `a ${unique ? 'hasOne' : 'hasMany'} relation to ${type}`) : [],
    );
  return [
    ...fields.dropped.map(({ name, column }) => {
      return { name, kind: 'a field', stays: `the values of "${name}"`, rowsIn, storedIn: column };
    }),
    ...references.dropped.flatMap(({ belongsTo, target, column }) =>
      links(belongsTo, `a belongsTo relation to ${target}`, column),
    ),
    ...asked.types.flatMap(({ before: { name }, references: { dropped, kept } }) =>
      inverse(name, [...dropped, ...kept.flatMap(({ after, before: was }) => (otherSide(after) ? [] : was))]),
    ),
    ...asked.dropped.flatMap((type) => inverse(type.name, type.references)),
    ...[...asked.joins.dropped, ...asked.joins.kept.map(parted)].flatMap(({ left, right }) => [
      ...(left.type === before.name ? links(left.relation, `a manyToMany relation to ${right.type}`) : []),
      ...(right.type === before.name ? links(right.relation, `a manyToMany relation to ${left.type}`) : []),
    ]),
  ];
}

/** The sides that no relation shows any more. */
function parted({ after, before: { left, right } }: Comparison['joins']['kept'][number]) {
  const hidden = (side: AppliedJoin['left']) => (relationAt(after, side.column) ? { ...side, relation: null } : side);
  return { left: hidden(left), right: hidden(right) };
}
