/** Records that a case needs, made by whatever request makes one. */
import type { JsonObject } from '../json.ts';
import type { Model, RecordType, Relation } from '../model/model.ts';
import { linkTo } from './addresses.ts';
import { type Id, rowsOf } from './reference/world.ts';
import { post } from './requests.ts';
import { fullest, smallest } from './samples.ts';
import { type Scenario, Unreachable } from './scenario.ts';

/** The creatable types whose body may nest a new record of the type, with the relation that does. */
function waysTo(model: Model, type: RecordType): Relation[] {
  return [...model.types.values()]
    .filter((source) => source.operations.has('create'))
    .flatMap((source) =>
      [...source.relations.values()].filter((relation) => relation.target === type && relation.nested === 'write'),
    );
}

function nestedIn(scenario: Scenario, relation: Relation): Id {
  const { source, target, toMany, name } = relation;
  const child = fullest(target, scenario.seeds, linkMaker(scenario), relation);
  const body = { ...smallest(source, scenario.seeds, linkMaker(scenario)), [name]: toMany ? [child] : child };
  const before = new Set(rowsOf(scenario.reference.world, target).keys());
  post(scenario, source, body);
  const made = [...rowsOf(scenario.reference.world, target).keys()].find((id) => !before.has(id));
  if (made === undefined) throw new Unreachable(`${name} of ${source.name} made no ${target.name}`);
  return made;
}

/** A record of the type, made by whatever request makes one: its own, or one of a type that nests it. */
export function obtain(scenario: Scenario, type: RecordType): Id {
  if (type.operations.has('create')) return post(scenario, type, fullest(type, scenario.seeds, linkMaker(scenario)));
  const [way] = type.identifier.inRecord ? waysTo(scenario.model, type) : [];
  if (way === undefined) throw new Unreachable(`no request makes a ${type.name}`);
  return nestedIn(scenario, way);
}

const links = new WeakMap<Scenario, Set<RecordType>>();

/** Makes what required links need. A circle of them leads nowhere. */
export function linkMaker(scenario: Scenario): (relation: Relation) => JsonObject {
  return ({ target }) => {
    const open = links.get(scenario) ?? new Set();
    links.set(scenario, open);
    if (open.has(target)) throw new Unreachable(`${target.name} needs itself`);
    open.add(target);
    const id = obtain(scenario, target);
    open.delete(target);
    return linkTo(target, id);
  };
}

export const smallBody = (scenario: Scenario, type: RecordType): JsonObject =>
  smallest(type, scenario.seeds, linkMaker(scenario));
export const fullBody = (scenario: Scenario, type: RecordType): JsonObject =>
  fullest(type, scenario.seeds, linkMaker(scenario));
