/**
 * Data that stays behind although a descriptor names it: a former name that the tables do not know, or that comes too
 * late, and a name that means something else now.
 */
import type { Field, Model, RecordType, Relation } from '../../model/model.ts';
import { didYouMean, nearest } from '../../names.ts';
import { type AppliedModel, identifierNameOf, nameKey } from './applied.ts';
import { matchFields, matchJoins, matchReferences, matchTypes } from './match.ts';
import { createStep, type MigrationStep, stepId } from './steps.ts';

type Member = Field | Relation;

/** The former meaning of a name. */
interface Past {
  readonly name: string;
  /** For people: `a belongsTo relation`. */
  readonly kind: string;
  readonly stays: string;
  /** Its meaning now; undefined if the descriptors no longer name it. */
  readonly now: 'identifier' | readonly Member[] | undefined;
}

interface LeftBehind {
  readonly step: MigrationStep;
  /** Whether the data, and the former name that the descriptor gives it, are still there afterwards. */
  readonly lasts: boolean;
}

/** `asked`: the same model with the names of tables and columns that the descriptors give. */
export function leftBehind(applied: AppliedModel, model: Model, asked: Model): readonly LeftBehind[] {
  const named = namesLeftBehind(applied, model);
  const known = new Set(named.map(({ step }) => stepId(step)));
  const placed = placesLeftBehind(applied, model, asked).filter((step) => !known.has(stepId(step)));
  return [...named, ...placed.map((step) => ({ step, lasts: false }))];
}

function namesLeftBehind(applied: AppliedModel, model: Model): readonly LeftBehind[] {
  const { kept, added, dropped } = matchTypes(applied, model);
  const pastsOf = pastNames(applied, model);
  const names = dropped.map(({ name }) => name);
  return [
    ...[...added, ...kept.map(({ after }) => after)].flatMap((type) =>
      typeLeftBehind(type, added.includes(type), names, applied),
    ),
    ...kept.flatMap(({ after, before }) => membersLeftBehind(after, pastsOf(before.name), before.type.table)),
  ];
}

/** New types, fields and relations whose table or column something has that no descriptor names any more. */
function placesLeftBehind(applied: AppliedModel, model: Model, asked: Model): readonly MigrationStep[] {
  const { kept, added, dropped } = matchTypes(applied, model);
  const holding = (place: string, owner: string): string =>
    `${place} holds the data of ${owner}, which no descriptor names any more, so it gets another name and begins empty. Write "renamedFrom" if it is the same, or allow this step`;
  const tables = new Map(dropped.map(({ name, type }) => [nameKey(type.table), { name, table: type.table }]));
  const ofTypes = added.flatMap(({ name }) => {
    const past = tables.get(nameKey(asked.types.get(name)?.table ?? ''));
    if (!past) return [];
    const detail = `The table of type ${name}: ${holding(past.table, `type ${past.name}`)}`;
    return [createStep('not-moved', name, { detail, rowsIn: past.table })];
  });
  const ofMembers = kept.flatMap(({ after, before: { type: before } }) => {
    const type = asked.types.get(after.name);
    const [fields, links] = [matchFields(after, before), matchReferences(after, before)];
    const left = new Map([
      ...fields.dropped.map(({ name, field }) => [nameKey(field.column), `field "${name}"`] as const),
      ...links.dropped.map(({ column, belongsTo, has }) => {
        return [nameKey(column), `relation "${belongsTo ?? has ?? column}"`] as const;
      }),
    ]);
    const wanted = [
      ...fields.added.map(({ name }) => [name, type?.fields.get(name)?.column ?? ''] as const),
      ...links.added.flatMap(({ relation }) => {
        const own = relation && type?.relations.get(relation.name);
        return own?.link.at === 'source' ? [[own.name, own.link.reference.column] as const] : [];
      }),
    ];
    return wanted.flatMap(([name, column]) => {
      const owner = left.get(nameKey(column));
      if (owner === undefined) return [];
      const detail = `The column of "${name}" of ${after.name}: ${holding(column, owner)}`;
      return [createStep('not-moved', after.name, { name, detail, rowsIn: before.table })];
    });
  });
  return [...ofTypes, ...ofMembers];
}

function typeLeftBehind(
  { name, renamedFrom: former }: RecordType,
  isAdded: boolean,
  dropped: readonly string[],
  { types }: AppliedModel,
): readonly LeftBehind[] {
  if (former === undefined || Object.keys(types).length === 0) return [];
  const subject = `type ${name}`;
  const rowsIn = types[nearest(former, dropped) ?? dropped[0] ?? '']?.table;
  if (isAdded) return [{ step: unknownFormer(name, undefined, former, subject, dropped, rowsIn), lasts: false }];
  if (!dropped.includes(former)) return [];
  const step = tooLate(name, undefined, former, subject, `the records of ${former}`, types[former]?.table);
  return [{ step, lasts: true }];
}

function membersLeftBehind(type: RecordType, pasts: readonly Past[], rowsIn: string): readonly LeftBehind[] {
  const { name, fields, relations } = type;
  const left = pasts.filter(({ now }) => now === undefined);
  const vanished = left.map((past) => past.name);
  const isKept = (member: Member): boolean =>
    pasts.some(({ now }) => Array.isArray(now) && (now as readonly Member[]).includes(member));
  return [...fields.values(), ...relations.values()].flatMap((member): readonly LeftBehind[] => {
    const { renamedFrom: former } = member;
    const subject = 'link' in member ? `relation "${member.name}" of ${name}` : `field "${member.name}" of ${name}`;
    const isNew = !isKept(member);
    const past = left.find((one) => one.name === former);
    const lasts = past !== undefined;
    const other = isNew ? (left.find((one) => one.name === member.name) ?? past) : undefined;
    if (other) return [{ step: becameAnother(name, member, other, subject, rowsIn), lasts }];
    if (former === undefined) return [];
    if (past) return [{ step: tooLate(name, member.name, former, subject, past.stays, rowsIn), lasts }];
    return isNew ? [{ step: unknownFormer(name, member.name, former, subject, vanished, rowsIn), lasts }] : [];
  });
}

// The steps. To allow one is to say that the data may stay where it is.

function unknownFormer(
  type: string,
  name: string | undefined,
  former: string,
  subject: string,
  vanished: readonly string[],
  rowsIn: string | undefined,
): MigrationStep {
  const detail = `"renamedFrom: ${former}" of ${subject} names nothing that the database has${didYouMean(former, vanished)}`;
  // Nothing is gone that it could have meant: a database that never had the former name.
  const isHarmless = vanished.length === 0;
  const words = isHarmless ? `${detail}; it is new` : `${detail}. Correct it, or allow this step if it is new`;
  const step = createStep('not-moved', type, { ...named(name), detail: words, rowsIn });
  return isHarmless ? { ...step, risk: 'safe' } : step;
}

const tooLate = (
  type: string,
  name: string | undefined,
  former: string,
  subject: string,
  stays: string,
  rowsIn: string | undefined,
): MigrationStep =>
  createStep('not-moved', type, {
    ...named(name),
    detail: `"renamedFrom: ${former}" of ${subject} comes too late, since the database has both: ${stays} stay where they are, and no request shows them. Copy what you need, or allow this step to leave them`,
    rowsIn,
  });

const becameAnother = (
  type: string,
  member: Member,
  past: Past,
  subject: string,
  rowsIn: string | undefined,
): MigrationStep =>
  createStep('not-moved', type, {
    name: member.name,
    detail: `"${past.name}" of ${type} was ${past.kind}, which cannot become ${kindOf(member)}: ${past.stays} stay where they are, and ${subject} begins empty. Use another name and copy them, or allow this step to leave them`,
    rowsIn,
  });

const named = (name: string | undefined): { readonly name?: string } => (name === undefined ? {} : { name });

const kindOf = (member: Member): string =>
  'link' in member ? `a ${member.kind} relation to ${member.target.name}` : 'a field';

// The former meanings of the names of a type.

function pastNames(applied: AppliedModel, model: Model): (former: string) => readonly Past[] {
  const pairs = matchTypes(applied, model).kept;
  const links = new Map(
    pairs.flatMap(({ after, before }) =>
      matchReferences(after, before.type).kept.map((pair) => [pair.before, pair.after] as const),
    ),
  );
  const joins = new Map(matchJoins(applied, model).kept.map((pair) => [pair.before, pair.after]));
  const relations = [...model.types.values()].flatMap((type) => [...type.relations.values()]);
  const relationsOver = (link: object | undefined): readonly Member[] | undefined =>
    link && relations.filter((one) => (one.link.at === 'join' ? one.link.table === link : one.link.reference === link));
  const own = new Map(pairs.map(({ after, before }) => [before.name, after]));

  const fieldsOf = (former: string): readonly Past[] => {
    const [type, before] = [own.get(former), applied.types[former]];
    if (!type || !before) return [];
    const now = new Map(matchFields(type, before).kept.map((pair) => [pair.before.name, pair.after]));
    const kind = 'a field';
    return [
      { name: identifierNameOf(before), kind: 'the identifier', stays: '', now: 'identifier' },
      ...Object.keys(before.fields).map((name): Past => {
        const field = now.get(name);
        return { name, kind, stays: `the values of "${name}"`, now: field && [field] };
      }),
    ];
  };

  const linksOf = (former: string): readonly Past[] =>
    Object.entries(applied.types).flatMap(([typeName, { references }]) =>
      references.flatMap((reference): readonly Past[] => {
        const now = relationsOver(links.get(reference));
        const past = (name: string | null, words: string): readonly Past[] =>
          name === null ? [] : [{ name, kind: words, stays: `the links of "${name}"`, now }];
        return [
          ...(typeName === former ? past(reference.belongsTo, `a belongsTo relation to ${reference.target}`) : []),
          ...(reference.target === former
            ? past(reference.has, `a ${reference.unique ? 'hasOne' : 'hasMany'} relation to ${typeName}`)
            : []),
        ];
      }),
    );

  const setsOf = (former: string): readonly Past[] =>
    applied.joins.flatMap((join) =>
      (['left', 'right'] as const).flatMap((side): readonly Past[] => {
        const { type, relation: name } = join[side];
        const other = join[side === 'left' ? 'right' : 'left'].type;
        if (type !== former || name === null) return [];
        const now = relationsOver(joins.get(join));
        return [{ name, kind: `a manyToMany relation to ${other}`, stays: `the links of "${name}"`, now }];
      }),
    );

  return (former) => [...fieldsOf(former), ...linksOf(former), ...setsOf(former)];
}
