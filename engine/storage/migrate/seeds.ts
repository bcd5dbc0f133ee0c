/** Plans and inserts the seed records not inserted yet. */
import { hash } from 'node:crypto';
import { isObject, type JsonObject } from '../../json/json.ts';
import { type Identifier, identifierOf, identifierSql } from '../../model/identifier.ts';
import {
  identifierIn,
  linkKeyIn,
  type Model,
  newItems,
  type RecordType,
  recordsWithin,
  referredFirst,
  type UniqueMembers,
  uniqueIndexes,
} from '../../model/model.ts';
import { firstOf } from '../../names.ts';
import { innermost, Problem, reasonOf } from '../../problem.ts';
import { type Clock, encode, encodedDefault, heldOperand } from '../columns.ts';
import { type Dialect, literal } from '../dialect.ts';
import { type Driver, type Reader, SeedRefused, type Writer } from '../driver.ts';
import { createReads } from '../read/reads.ts';
import { METADATA } from '../tables.ts';
import { MissingObject } from '../unavailable.ts';
import { createWrites } from '../write/writes.ts';
import { rowsWhere, type TypeChange, valueAfter } from './diff.ts';
import { createStep, type MigrationStep, type StepCheck } from './steps.ts';

/** By type, the numbers that stand for its seeds in the database. */
export type Seeded = ReadonlyMap<string, ReadonlySet<number>>;

export async function readSeeded(reader: Reader): Promise<Seeded> {
  const byType = Map.groupBy(await reader.all(METADATA.seeds, []), ([, type]) => String(type));
  return new Map([...byType].map(([type, all]) => [type, new Set(all.map(([number]) => Number(number)))]));
}

/** Of a seed, which `check` has found valid. */
const identifierOfSeed = ({ identifier }: RecordType, seed: JsonObject): Identifier =>
  identifierOf(identifier, seed[identifier.name]) ?? 0;

/** The identifier, or 52 bits of the digest of a text. */
const numberOfSeed = (identifier: Identifier): number =>
  typeof identifier === 'number' ? identifier : Number.parseInt(hash('sha256', identifier, 'hex').slice(0, 13), 16);

const pendingSeeds = (type: RecordType, done: ReadonlySet<number> | undefined): readonly JsonObject[] =>
  type.seed.filter((body) => !done?.has(numberOfSeed(identifierOfSeed(type, body))));

const SHOWN = 10;

export function seedSteps(
  all: readonly TypeChange[],
  model: Model,
  dialect: Dialect,
  seeded: Seeded,
): readonly MigrationStep[] {
  // A table of other identifiers begins empty.
  const filled = all.filter(({ type, before: { key } }) => (key?.type ?? 'integer') === type.identifier.type.name);
  const changes = new Map(filled.map((change) => [change.type, change]));
  const pending = [...model.types.values()].map((type) => {
    const done = seeded.get(changes.get(type)?.before.name ?? '');
    return pendingSeeds(type, done).map((item): Mention => {
      const identifier = identifierOfSeed(type, item);
      return { type, item, identifier, seed: identifier, isLink: false };
    });
  });
  const allPending = pending.flat();
  return pending.flatMap((seeds) => {
    const type = seeds[0]?.type;
    if (!type) return [];
    const identifiers = seeds.map(({ identifier }) => identifier);
    const detail = `record${seeds.length === 1 ? '' : 's'} ${firstOf(identifiers, SHOWN)}`;
    const named = Map.groupBy([...seeds, ...seeds.flatMap(mentionsIn)], (one) => one.type);
    const checks = [...named].flatMap(([one, mentions]) => checksOf(one, mentions, changes, allPending, dialect));
    const tables = [...named.values()]
      .flat()
      .flatMap(({ type: one, item }) => [
        one.table,
        ...[...one.relations.values()].flatMap(({ name, link }) =>
          link.at === 'join' && name in item ? link.table.name : [],
        ),
      ]);
    return [
      createStep('add-seed', type.name, { detail, checks, seeds: tables, rowsIn: changes.get(type)?.before.table }),
    ];
  });
}

/** A record named by a seed: the seed itself, a new record nested in it, or a record linked by identifier. */
interface Mention {
  readonly type: RecordType;
  readonly item: JsonObject;
  readonly identifier: Identifier | undefined;
  readonly seed: Identifier;
  readonly isLink: boolean;
}

/** Unique values name a record that is there. */
const mentionsIn = ({ type, item: seedItem, seed }: Mention): readonly Mention[] =>
  recordsWithin(type, seedItem).flatMap(({ relation, body: item, identifier }) =>
    linkKeyIn(relation, item)
      ? []
      : { type: relation.target, item, identifier, seed, isLink: identifier !== undefined },
  );

/** Finds records of a type that conflict with seeds. */
function checksOf(
  type: RecordType,
  mentions: readonly Mention[],
  changes: ReadonlyMap<RecordType, TypeChange>,
  pending: readonly Mention[],
  dialect: Dialect,
): readonly StepCheck[] {
  const { quote } = dialect;
  const [links, made] = [mentions.filter(({ isLink }) => isLink), mentions.filter(({ isLink }) => !isLink)];
  const change = changes.get(type);
  const { table = '', identifier: column = '' } = change?.before ?? {};
  const checks: StepCheck[] = [];
  const refuse = (says: string, same: readonly (readonly [condition: string, seed: Identifier])[]): void => {
    if (!change || same.length === 0) return;
    const condition = anyOf(same.map(([one]) => one));
    const seed = `case ${same.map(([one, of]) => `when ${one} then ${literal(of)}`).join(' ')} end`;
    checks.push({ ...rowsWhere(change, condition, seed), effect: 'fail', says, takesKeysOf: change.before.table });
  };
  refuse(
    'a seed record has the identifier of this record; give the seed record another one',
    made.flatMap(({ identifier, seed }) => (identifier ? [[`${quote(column)} = ${literal(identifier)}`, seed]] : [])),
  );
  for (const { members } of change ? uniqueIndexes(type) : [])
    refuse(
      `this record has the ${members.map(({ name }) => `"${name}"`).join(', ')} of a seed record; change one of them`,
      made.flatMap(({ item, seed }) => {
        const condition = change && sameValues(change, members, item, dialect);
        return condition ? [[condition, seed]] : [];
      }),
    );
  const coming = new Set(pending.flatMap((one) => (one.type === type ? one.seed : [])));
  const linked = new Map(links.map(({ identifier = 0, seed }) => [identifier, seed]));
  const wanted = [...linked].flatMap(([one, seed]) =>
    coming.has(one) ? [] : `(${valueSql(type, one, dialect)}, ${literal(seed)})`,
  );
  if (wanted.length > 0) {
    const unknown = `where not exists (select 1 from ${quote(table)} where ${quote(column)} = wanted.column1)`;
    const sql = `select column1 as identifier, column2 as value from (values ${wanted.join(', ')}) as wanted ${change ? unknown : ''}`;
    checks.push({ sql, effect: 'fail', says: `a seed record links this record of ${type.name}, which is not there` });
  }
  return checks;
}

/** Values of a VALUES clause have no type of their own. */
const valueSql = ({ identifier }: RecordType, value: Identifier, { name }: Dialect): string =>
  identifier.kind.isCounted ? literal(value) : `cast(${literal(value)} as ${identifierSql(identifier, name)})`;

/** Balances the tree: SQLite limits expression depth to 1,000. */
function anyOf(conditions: readonly string[]): string {
  const half = Math.ceil(conditions.length / 2);
  const parts = [conditions.slice(0, half), conditions.slice(half)].filter(({ length }) => length > 0);
  return `(${parts.map((part) => (part.length === 1 ? part[0] : anyOf(part))).join(' or ')})`;
}

/** SQL: whether a row will have a new record's unique values; undefined if a value is unknown. */
function sameValues(
  change: TypeChange,
  members: UniqueMembers['members'],
  item: JsonObject,
  { name }: Dialect,
): string | undefined {
  const terms = members.flatMap((member) => {
    const value = valueAfter(change, member);
    const given = item[member.name];
    if ('link' in member) {
      const identifier = isObject(given) ? identifierIn(given, member.target) : undefined;
      return value && identifier !== undefined ? `${value} = ${literal(identifier)}` : [];
    }
    const encoded = given === undefined ? encodedDefault(member, name) : encode(member, name, given);
    return value && encoded !== null ? `${value} = ${literal(heldOperand(member, name, encoded))}` : [];
  });
  return terms.length < members.length ? undefined : `(${terms.join(' and ')})`;
}

/** Remembers the seeds, so that users can change and delete them. A refusal undoes the whole transaction. */
export async function insertSeeds(model: Model, writer: Writer, driver: Driver, clock?: Clock): Promise<void> {
  const { insert } = createWrites(driver, createReads(driver), { served: () => model, clock });
  const seeded = await readSeeded(writer);
  for (const type of referredFirst(model.types.values())) {
    const bodies = pendingSeeds(type, seeded.get(type.name));
    const identifiers = bodies.map((body) => identifierOfSeed(type, body));
    if (bodies.length === 0) continue;
    const items = newItems(bodies).map((item, index) => ({ ...item, place: `seed record ${identifiers[index]}` }));
    try {
      await insert(writer, { type, items });
    } catch (error) {
      const isLacking =
        error instanceof MissingObject || (error instanceof Problem && error.code === 'missing-privilege');
      if (error instanceof Problem && error.status >= 500 && !isLacking) throw error;
      throw new SeedRefused(reasonsOf(error, type, identifiers), { cause: error });
    }
    for (const identifier of identifiers) await writer.run(METADATA.addSeed, [numberOfSeed(identifier), type.name]);
  }
}

function reasonsOf(error: unknown, { name }: RecordType, identifiers: readonly Identifier[]): string {
  const errors = error instanceof Problem ? error.errors : [];
  const reasons = (errors.length > 0 ? errors : [{ message: reasonOf(innermost(error)) }]).map((fault) => {
    const [, index] = /^\/(\d+)/.exec('pointer' in fault ? fault.pointer : '') ?? [];
    const who =
      index === undefined ? `Seed records of ${name}` : `Seed record ${identifiers[Number(index)]} of ${name}`;
    return `${who} cannot be inserted: ${fault.message}`;
  });
  return [...reasons, 'Nothing was changed.'].join('\n');
}
