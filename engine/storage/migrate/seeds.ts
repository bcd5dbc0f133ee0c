/** Seed records that are still to be inserted, as steps of a plan, with what the records that are there have against them. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { isObject, type JsonObject } from '../../json/json.ts';
import { type Model, type RecordType, type Relation, type UniqueMembers, uniqueIndexes } from '../../model/model.ts';
import { columnType, encode, encodedDefault, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader } from '../driver.ts';
import { SEED_TABLE } from '../tables.ts';
import { changeOf, rowsWhere, type TypeChange } from './change.ts';
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
  const pending = [...model.types.values()].map((type) => {
    const done = seeded.get(changes.get(type)?.before.name ?? type.name);
    return type.seed.map((item) => mentionOf(type, item)).filter(({ identifier }) => !done?.has(identifier ?? 0));
  });
  return pending.flatMap((seeds) => {
    const [type] = seeds.map((seed) => seed.type);
    if (!type) return [];
    const more = seeds.length > SHOWN ? ` and ${seeds.length - SHOWN} more` : '';
    const shown = seeds.slice(0, SHOWN).map(({ identifier }) => identifier);
    const detail = `record${seeds.length === 1 ? '' : 's'} ${shown.join(', ')}${more}`;
    const all = Map.groupBy([...seeds, ...seeds.flatMap((seed) => [...mentionsIn(seed)])], (one) => one.type);
    const checks = [...all].flatMap(([one, mentions]) => checksOf(one, mentions, changes, pending.flat(), dialect));
    return [createStep('add-seed', type.name, { detail, checks, rowsIn: changes.get(type)?.before.table })];
  });
}

/** A record that seeds name: a seed itself, or one that another record links, or makes if it has no identifier. */
interface Mention {
  readonly type: RecordType;
  readonly item: JsonObject;
  readonly identifier: number | undefined;
  /** The relation that leads to it; undefined for a seed. */
  readonly relation: Relation | undefined;
}

function mentionOf(type: RecordType, item: JsonObject, relation?: Relation): Mention {
  const identifier = item[type.identifier.name];
  return { type, item, identifier: typeof identifier === 'number' ? identifier : undefined, relation };
}

function* mentionsIn({ type, item }: Mention): Generator<Mention> {
  for (const relation of type.relations.values())
    for (const related of [item[relation.name]].flat()) {
      if (!isObject(related)) continue;
      const mention = mentionOf(relation.target, related, relation);
      yield mention;
      yield* mentionsIn(mention);
    }
}

/** Finds the records of one type because of which the database would refuse the seeds. */
function checksOf(
  type: RecordType,
  mentions: readonly Mention[],
  changes: ReadonlyMap<RecordType, TypeChange>,
  pending: readonly Mention[],
  dialect: Dialect,
): readonly StepCheck[] {
  const [links, made] = [mentions.filter(isLink), mentions.filter((one) => !isLink(one))];
  const change = changes.get(type);
  const coming = identifiersOf(pending.filter((one) => one.type === type));
  const linked = new Set(identifiersOf(links).filter((one) => !coming.includes(one)));
  const missing = missingRecords(type, linked, change, dialect);
  if (!change) return missing;
  const refuse = (says: string, conditions: readonly string[]): readonly StepCheck[] =>
    conditions.length === 0 ? [] : [{ ...rowsWhere(change, conditions.join(' or ')), effect: 'fail', says }];
  return [
    ...refuse(
      'a seed record has the identifier of this record; give the seed record another one',
      identifiersOf(made).map((identifier) => `${dialect.quote(change.before.identifier)} = ${identifier}`),
    ),
    ...uniqueIndexes(change.type).flatMap(({ members }) =>
      refuse(
        `this record has the ${members.map(({ name }) => `"${name}"`).join(', ')} of a seed record; change one of them`,
        made.flatMap(({ item }) => sameValues(change, members, item)),
      ),
    ),
    ...missing,
  ];
}

const isLink = ({ relation, identifier }: Mention): boolean => relation !== undefined && identifier !== undefined;

const identifiersOf = (mentions: readonly Mention[]): readonly number[] =>
  mentions.flatMap(({ identifier }) => identifier ?? []);

function missingRecords(
  { name }: RecordType,
  identifiers: ReadonlySet<number>,
  change: TypeChange | undefined,
  { quote }: Dialect,
): readonly StepCheck[] {
  if (identifiers.size === 0) return [];
  const wanted = [...identifiers].map((identifier) => `select ${identifier} as id`).join(' union all ');
  const { table = '', identifier = '' } = change?.before ?? {};
  const there = `where not exists (select 1 from ${quote(table)} where ${quote(identifier)} = wanted.id)`;
  const sql = `select id as identifier, null as value from (${wanted}) as wanted ${change ? there : ''}`;
  return [{ sql, effect: 'fail', says: `a seed record links this record of ${name}, which is not there` }];
}

/** SQL: whether the row has the values of a unique index over fields that the new record brings; empty if none can. */
function sameValues(
  { dialect, fieldChanges }: TypeChange,
  members: UniqueMembers['members'],
  item: JsonObject,
): readonly string[] {
  const { name, literal } = dialect;
  const terms = members.flatMap((member) => {
    const one = fieldChanges.find(({ field }) => field === member);
    if (!one || one.before?.type !== one.field.type.name) return [];
    const { field, value, folded } = one;
    const given = Object.hasOwn(item, field.name) ? encode(field, name, item[field.name]) : encodedDefault(field, name);
    if (given === null) return [];
    const held = folded?.value ?? columnType(field, name).comparable(`(${value})`);
    return `${held} = ${literal(heldOperand(field, name, given))}`;
  });
  return terms.length < members.length ? [] : [`(${terms.join(' and ')})`];
}
