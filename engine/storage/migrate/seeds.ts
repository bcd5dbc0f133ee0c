/** Seed records that are still to be inserted, as steps of a plan, with what the records that are there have against them. */
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { type Model, type RecordType, uniqueIndexes } from '../../model/model.ts';
import { columnType, encode, encodedDefault, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader } from '../driver.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import type { AppliedModel } from './applied.ts';
import { rowsWhere } from './assess.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { columnChanges, matchTypes, type TypeChange } from './match.ts';
import { createStep, type MigrationStep, type StepCheck } from './steps.ts';

/** Identifiers of the seed records that were inserted, by the name that their type had. */
export type Seeded = ReadonlyMap<string, ReadonlySet<number>>;

/** `tables`: names of those that exist. */
export async function readSeeded(reader: Reader, tables: readonly SqlValue[]): Promise<Seeded> {
  if (!tables.includes(SEED_TABLE)) return new Map();
  const rows = await reader.all({ sql: `select type, identifier from ${SEED_TABLE}` }, []);
  const byType = Map.groupBy(rows, ([type]) => String(type));
  return new Map([...byType].map(([type, all]) => [type, new Set(all.map(([, identifier]) => Number(identifier)))]));
}

const SHOWN = 10;

export function seedSteps(
  applied: AppliedModel,
  model: Model,
  dialect: Dialect,
  seeded: Seeded,
): readonly MigrationStep[] {
  const pairs = new Map(matchTypes(applied, model).kept.map(({ after, before }) => [after, before]));
  const pending = new Map(
    [...model.types.values()].map((type) => {
      const done = seeded.get(pairs.get(type)?.name ?? type.name);
      return [type, type.seed.filter((body) => !done?.has(identifierOf(type, body)))] as const;
    }),
  );
  const changeOf = (type: RecordType): TypeChange | undefined => {
    const before = pairs.get(type);
    return before && { type, former: before.name, before: before.type, dialect, others: [] };
  };
  return [...pending].flatMap(([type, bodies]) => {
    if (bodies.length === 0) return [];
    const identifiers = bodies.map((body) => identifierOf(type, body));
    const change = changeOf(type);
    const more = identifiers.length > SHOWN ? ` and ${identifiers.length - SHOWN} more` : '';
    const detail = `record${identifiers.length === 1 ? '' : 's'} ${identifiers.slice(0, SHOWN).join(', ')}${more}`;
    const checks = [
      ...(change ? [taken(change, identifiers), ...alike(change, bodies)] : []),
      ...missingLinks(type, bodies, pending, changeOf, dialect),
    ];
    return [createStep('add-seed', type.name, { detail, checks, rowsIn: change?.before.table })];
  });
}

const identifierOf = ({ identifier }: RecordType, body: JsonObject): number => Number(body[identifier.name]);

function taken(change: TypeChange, identifiers: readonly number[]): StepCheck {
  const column = change.dialect.quote(change.before.identifier);
  const says = `a seed record has the identifier of this record; give the seed record another one`;
  return { ...rowsWhere(change, `${column} in (${identifiers.join(', ')})`), effect: 'fail', says };
}

/** Records that have the value of a unique field, or of several together, that a seed record brings. */
function alike(change: TypeChange, bodies: readonly JsonObject[]): readonly StepCheck[] {
  const { type, dialect } = change;
  const { fields, references } = columnChanges(change);
  return uniqueIndexes(type).flatMap(({ members }) => {
    const conditions = bodies.flatMap((body) => {
      const terms = members.map((member): string | undefined => {
        if ('link' in member) {
          const value = references.find(({ after, before }) => before && after.belongsTo === member.name)?.value;
          const related = body[member.name];
          const identifier = isObject(related) ? related[member.target.identifier.name] : undefined;
          return value === undefined || identifier === undefined ? undefined : `${value} = ${Number(identifier)}`;
        }
        const one = fields.find(({ field }) => field === member);
        const given = Object.hasOwn(body, member.name)
          ? encode(member, dialect.name, body[member.name])
          : encodedDefault(member, dialect.name);
        if (one?.before?.type !== member.type.name || given === null) return undefined;
        const held = one.folded?.value ?? columnType(member, dialect.name).comparable(`(${one.value})`);
        return `${held} = ${dialect.literal(heldOperand(member, dialect.name, given))}`;
      });
      return terms.includes(undefined) ? [] : [`(${terms.join(' and ')})`];
    });
    if (conditions.length === 0) return [];
    const names = members.map(({ name }) => `"${name}"`).join(', ');
    const says = `this record has the ${names} of a seed record; change one of them`;
    return [{ ...rowsWhere(change, conditions.join(' or ')), effect: 'fail', says } as const];
  });
}

/** Records that the seed links and that are neither there nor seeds themselves. */
function missingLinks(
  type: RecordType,
  bodies: readonly JsonObject[],
  pending: ReadonlyMap<RecordType, readonly JsonObject[]>,
  changeOf: (type: RecordType) => TypeChange | undefined,
  { quote }: Dialect,
): readonly StepCheck[] {
  const links = new Map<RecordType, Set<number>>();
  for (const body of bodies) collectLinks(type, body, links);
  return [...links].flatMap(([target, identifiers]) => {
    for (const body of pending.get(target) ?? []) identifiers.delete(identifierOf(target, body));
    if (identifiers.size === 0) return [];
    const wanted = [...identifiers].map((identifier) => `select ${identifier} as id`).join(' union all ');
    const before = changeOf(target)?.before;
    const there =
      before &&
      ` where not exists (select 1 from ${quote(before.table)} where ${quote(before.identifier)} = wanted.id)`;
    return [
      {
        sql: `select id as identifier, null as value from (${wanted}) as wanted${there ?? ''}`,
        fits: undefined,
        effect: 'fail',
        says: `a seed record links this record of ${target.name}, which is not there`,
      } as const,
    ];
  });
}

function collectLinks(type: RecordType, body: JsonObject, links: Map<RecordType, Set<number>>): void {
  for (const { name, target } of type.relations.values()) {
    const value: JsonValue | undefined = body[name];
    for (const item of Array.isArray(value) ? (value as readonly JsonValue[]) : [value]) {
      if (!isObject(item)) continue;
      const identifier = item[target.identifier.name];
      if (typeof identifier === 'number') links.set(target, (links.get(target) ?? new Set()).add(identifier));
      collectLinks(target, item, links);
    }
  }
}
