/** Seed records that are still to be inserted, as steps of a plan, with what the records that are there have against them. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { isObject, type JsonObject } from '../../json/json.ts';
import { type Model, type RecordType, type Relation, uniqueIndexes } from '../../model/model.ts';
import { columnType, encode, encodedDefault, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader } from '../driver.ts';
import { SEED_TABLE } from '../tables.ts';
import { changeOf, type FieldChange, rowsWhere, type TypeChange } from './change.ts';
import type { Comparison } from './compare.ts';
import { createStep, type MigrationStep, type StepCheck } from './steps.ts';

/** Identifiers of the seed records that were inserted, by the name that their type had. */
export type Seeded = ReadonlyMap<string, ReadonlySet<number>>;

export async function readSeeded(reader: Reader, tables: readonly SqlValue[]): Promise<Seeded> {
  if (!tables.includes(SEED_TABLE)) return new Map();
  const rows = await reader.all({ sql: `select type, identifier from ${SEED_TABLE}` }, []);
  const byType = Map.groupBy(rows, ([type]) => String(type));
  return new Map([...byType].map(([type, all]) => [type, new Set(all.map(([, identifier]) => Number(identifier)))]));
}

const SHOWN = 10;

export function seedSteps(
  { types }: Comparison,
  model: Model,
  dialect: Dialect,
  seeded: Seeded,
): readonly MigrationStep[] {
  const changes = new Map(types.map((pair) => [pair.type, changeOf(pair, dialect)]));
  const pending = new Map(
    [...model.types.values()].map((type) => {
      const done = seeded.get(changes.get(type)?.before.name ?? type.name);
      return [type, type.seed.filter((body) => !done?.has(identifierOf(type, body)))] as const;
    }),
  );
  return [...pending].flatMap(([type, bodies]) => {
    if (bodies.length === 0) return [];
    const identifiers = bodies.map((body) => identifierOf(type, body));
    const change = changes.get(type);
    const more = identifiers.length > SHOWN ? ` and ${identifiers.length - SHOWN} more` : '';
    const detail = `record${identifiers.length === 1 ? '' : 's'} ${identifiers.slice(0, SHOWN).join(', ')}${more}`;
    const named: NamedRecords = { links: new Map(), made: new Map([[type, [...bodies]]]) };
    for (const body of bodies) collect(type, body, named);
    const checks = [
      ...(change ? taken(change, identifiers) : []),
      ...[...named.made].flatMap(([one, made]) => alike(changes.get(one), made)),
      ...[...named.links].flatMap(([target, links]) => [
        ...missing(target, links, pending.get(target) ?? [], changes.get(target), dialect),
        ...refusedLinks(changes.get(target), links),
      ]),
    ];
    return [createStep('add-seed', type.name, { detail, checks, rowsIn: change?.before.table })];
  });
}

const identifierOf = ({ identifier }: RecordType, body: JsonObject): number => Number(body[identifier.name]);

const refusing = (change: TypeChange, conditions: readonly string[], says: string): readonly StepCheck[] =>
  conditions.length === 0 ? [] : [{ ...rowsWhere(change, conditions.join(' or ')), effect: 'fail', says }];

const taken = (change: TypeChange, identifiers: readonly number[]): readonly StepCheck[] =>
  refusing(
    change,
    [`${change.dialect.quote(change.before.identifier)} in (${identifiers.join(', ')})`],
    'a seed record has the identifier of this record; give the seed record another one',
  );

/** Records that have the value of a unique field, or of several together, that a new record brings. */
function alike(change: TypeChange | undefined, bodies: readonly JsonObject[]): readonly StepCheck[] {
  if (!change) return [];
  const { type, dialect, fieldChanges, referenceChanges } = change;
  return uniqueIndexes(type).flatMap(({ members }) => {
    const conditions = bodies.flatMap((body) => {
      const terms = members.map((member): string | undefined => {
        if ('link' in member) {
          const value = referenceChanges.find(({ after, before }) => before && after.belongsTo === member.name)?.value;
          const related = body[member.name];
          const identifier = isObject(related) ? related[member.target.identifier.name] : undefined;
          return value === undefined || identifier === undefined ? undefined : `${value} = ${Number(identifier)}`;
        }
        const given = Object.hasOwn(body, member.name)
          ? encode(member, dialect.name, body[member.name])
          : encodedDefault(member, dialect.name);
        const one = fieldChanges.find(({ field }) => field === member);
        return one && given !== null ? equality(one, given, dialect) : undefined;
      });
      return terms.includes(undefined) ? [] : [`(${terms.join(' and ')})`];
    });
    const names = members.map(({ name }) => `"${name}"`).join(', ');
    return refusing(change, conditions, `this record has the ${names} of a seed record; change one of them`);
  });
}

/** SQL: whether the row before holds this value; undefined where the field is new or gets another type. */
function equality(
  { field, before, value, folded }: FieldChange,
  given: Exclude<SqlValue, null>,
  { name, literal }: Dialect,
): string | undefined {
  if (before?.type !== field.type.name || field.type.operators.length === 0) return undefined;
  const held = folded?.value ?? columnType(field, name).comparable(`(${value})`);
  return `${held} = ${literal(heldOperand(field, name, given))}`;
}

interface SeedLink {
  readonly relation: Relation;
  readonly identifier: number;
  readonly item: JsonObject;
}

/** The records that seed records link or make, at any depth. */
interface NamedRecords {
  readonly links: Map<RecordType, SeedLink[]>;
  readonly made: Map<RecordType, JsonObject[]>;
}

function collect(type: RecordType, body: JsonObject, records: NamedRecords): void {
  const add = <T>(all: Map<RecordType, T[]>, target: RecordType, one: T): void =>
    void all.set(target, [...(all.get(target) ?? []), one]);
  for (const relation of type.relations.values())
    for (const item of [body[relation.name]].flat()) {
      if (!isObject(item)) continue;
      const { target } = relation;
      const identifier = item[target.identifier.name];
      if (typeof identifier === 'number') add(records.links, target, { relation, identifier, item });
      else add(records.made, target, item);
      collect(target, item, records);
    }
}

/** Records that the seed links and that are neither there nor seeds themselves. */
function missing(
  target: RecordType,
  links: readonly SeedLink[],
  pending: readonly JsonObject[],
  change: TypeChange | undefined,
  { quote }: Dialect,
): readonly StepCheck[] {
  const coming = new Set(pending.map((body) => identifierOf(target, body)));
  const identifiers = new Set(links.map(({ identifier }) => identifier).filter((one) => !coming.has(one)));
  if (identifiers.size === 0) return [];
  const wanted = [...identifiers].map((identifier) => `select ${identifier} as id`).join(' union all ');
  const { table = '', identifier = '' } = change?.before ?? {};
  const there = `where not exists (select 1 from ${quote(table)} where ${quote(identifier)} = wanted.id)`;
  const sql = `select id as identifier, null as value from (${wanted}) as wanted ${change ? there : ''}`;
  const says = `a seed record links this record of ${target.name}, which is not there`;
  return [{ sql, effect: 'fail', says }];
}

/** Records that belong to another one already, or that are not what the seed says of them. */
function refusedLinks(change: TypeChange | undefined, links: readonly SeedLink[]): readonly StepCheck[] {
  if (!change) return [];
  const { dialect, before, type, fieldChanges, referenceChanges } = change;
  const isRecord = (identifier: number): string => `${dialect.quote(before.identifier)} = ${identifier}`;
  const owned = links.flatMap(({ relation: { owned: isOwned, link }, identifier }) => {
    const column = isOwned && link.at === 'target' ? link.reference.column : undefined;
    const held = referenceChanges.find(({ after, before: was }) => was && after.column === column);
    return held ? `(${isRecord(identifier)} and ${held.value} is not null)` : [];
  });
  const different = links.flatMap(({ relation, identifier, item }) => {
    if (relation.nested !== 'link') return [];
    const equal = fieldChanges.flatMap((one): string | readonly [] => {
      if (!Object.hasOwn(item, one.field.name)) return [];
      const given = encode(one.field, dialect.name, item[one.field.name]);
      if (given === null) return one.before ? `${one.value} is null` : [];
      return equality(one, given, dialect) ?? [];
    });
    // A comparison with null is neither true nor false.
    return equal.length === 0 ? [] : `(${isRecord(identifier)} and not coalesce(${equal.join(' and ')}, 1 = 0))`;
  });
  return [
    ...refusing(change, owned, `a seed record takes this record of ${type.name}, which belongs to another one`),
    ...refusing(change, different, `a seed record links this record of ${type.name} with other values than it has`),
  ];
}
