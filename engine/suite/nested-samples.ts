/** Records nested in records, as deep as the relations may write and no type repeats. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { RecordType, Relation } from '../model/model.ts';
import { fullest } from './samples.ts';
import { linkTo } from './addresses.ts';
import { linkMaker, obtain } from './obtain.ts';
import { type Scenario, Unreachable } from './scenario.ts';

const MAX_DEPTH = 4;

/** A new record for a relation that writes, with its own relations as deep as it goes. */
export function newChild(scenario: Scenario, relation: Relation, above: readonly RecordType[]): JsonObject {
  const body = fullest(relation.target, scenario.seeds, linkMaker(scenario), relation);
  return { ...body, ...relationsOf(scenario, relation.target, [...above, relation.target], relation.inverse) };
}

function tryLink(scenario: Scenario, relation: Relation): JsonObject | undefined {
  try {
    return linkTo(relation.target, obtain(scenario, relation.target));
  } catch (error) {
    if (error instanceof Unreachable) return undefined;
    throw error;
  }
}

/** What a body says of a relation: two records where it is a set. undefined where nothing can be said. */
export function relationBody(
  scenario: Scenario,
  relation: Relation,
  above: readonly RecordType[],
): JsonValue | undefined {
  const one = () => (relation.nested === 'write' ? newChild(scenario, relation, above) : tryLink(scenario, relation));
  const bodies = (relation.toMany ? [one(), one()] : [one()]).filter((body) => body !== undefined);
  return relation.toMany ? bodies : bodies[0];
}

function relationsOf(
  scenario: Scenario,
  type: RecordType,
  above: readonly RecordType[],
  inverse: Relation | undefined,
): JsonObject {
  const relations = [...type.relations.values()].filter(
    (relation) => relation !== inverse && !above.includes(relation.target) && above.length < MAX_DEPTH,
  );
  const bodies = relations.map((relation) => [relation.name, relationBody(scenario, relation, above)] as const);
  return Object.fromEntries(bodies.filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined));
}

/** The type's fullest record with every relation filled that a request can fill. */
export function nestedBody(scenario: Scenario, type: RecordType): JsonObject {
  return { ...fullest(type, scenario.seeds, linkMaker(scenario)), ...relationsOf(scenario, type, [type], undefined) };
}
