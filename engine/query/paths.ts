/** Resolves dotted paths such as `author.name`. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import type { Filter, OrderBy, Path, PathNames, SetPath } from './list-query.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';

export const namesOf = (type: RecordType, variant: Variant, rights: Rights): PathNames => ({
  type,
  variant,
  rights,
  fields: new Map(variant.fields.map((field) => [field.name, field])),
});

/** A related record is found by any of its fields, whatever is shown of it. */
const namesOfTarget = ({ target }: Relation, rights: Rights): PathNames => ({
  type: target,
  variant: target.defaultVariant,
  rights,
  fields: target.fields,
});

export const ownPath = (type: RecordType, field: Field | undefined): Path => pathTo(type, [], field);

/** The records that a condition is about: those of the list, or those of a set. */
export interface FilterPlace {
  readonly names: PathNames;
  readonly followed: number;
}

interface FilterSubject {
  /** The sets on the way: the condition holds for some record of each. */
  readonly through: readonly SetPath[];
  readonly end: Path | SetPath;
  readonly place: FilterPlace;
}

/** Follows `author.country.name` from record to record. `others`: further suggestions for a misspelled name. */
export function resolveSubject(
  start: FilterPlace,
  text: string,
  complain: Complain,
  others: readonly string[] = [],
): FilterSubject | undefined {
  const steps = text.split('.');
  const through: SetPath[] = [];
  // Since the start, or since the last set.
  let relations: readonly Relation[] = [];
  let { names, followed } = start;
  for (const [index, step] of steps.entries()) {
    const { type, rights, fields } = names;
    const relation = relationsFor(rights, type).get(step);
    if (relation === undefined) {
      if (index < steps.length - 1) return unknownRelation(names, step, complain);
      const field = fields.get(step);
      if (!field && step !== type.identifier.name) return unknownField(names, step, complain, index > 0 ? [] : others);
      return { through, end: pathTo(type, relations, field), place: { names, followed } };
    }
    if (followed === MAX_INCLUDE_DEPTH)
      return complain('too-deep', `A path can follow at most ${MAX_INCLUDE_DEPTH} relations`);
    followed += 1;
    names = namesOfTarget(relation, rights);
    if (relation.toMany) through.push({ name: dotted(relations, step), relations, set: relation });
    relations = relation.toMany ? [] : [...relations, relation];
  }
  const set = relations.length === 0 ? through.pop() : undefined;
  return { through, end: set ?? pathTo(names.type, relations, undefined), place: { names, followed } };
}

/** A path of an order or a summary: each record has at most one such value. */
export function resolvePath(
  names: PathNames,
  text: string,
  complain: Complain,
  others: readonly string[] = [],
): Path | undefined {
  const subject = resolveSubject({ names, followed: 0 }, text, complain, others);
  if (!subject) return undefined;
  const [first = subject.end] = subject.through;
  if (!('set' in first)) return first;
  const { name, source } = first.set;
  return complain(
    'to-many',
    `"${name}" of ${source.name} leads to many records; only relations to one record can be followed here`,
  );
}

export function unknownRelation(
  { type, rights }: Pick<PathNames, 'type' | 'rights'>,
  name: string,
  complain: Complain,
): undefined {
  const isValue = type.fields.has(name) || name === type.identifier.name;
  if (isValue) return complain('unknown-relation', `"${name}" of ${type.name} is a field, not a relation`);
  return complain('unknown-relation', `${type.name} has no relation ${quote(name)}`, () =>
    didYouMean(name, relationsFor(rights, type).keys()),
  );
}

function unknownField(
  { type, variant, fields, rights }: PathNames,
  name: string,
  complain: Complain,
  others: readonly string[],
): undefined {
  if (type.fields.has(name))
    return complain('not-in-variant', `Variant "${variant.name}" of ${type.name} has no field "${name}"`);
  const toOne = [...relationsFor(rights, type).values()].flatMap((relation) => (relation.toMany ? [] : relation.name));
  return complain('unknown-field', `${type.name} has no field ${quote(name)}`, () =>
    didYouMean(name, [type.identifier.name, ...fields.keys(), ...toOne, ...others]),
  );
}

const pathTo = (type: RecordType, relations: readonly Relation[], field: Field | undefined): Path => ({
  name: dotted(relations, field?.name ?? type.identifier.name),
  relations,
  type,
  field,
});

const dotted = (relations: readonly Relation[], last: string): string =>
  [...relations.map(({ name }) => name), last].join('.');

/** SQLite joins at most 64 tables in one statement. */
const MAX_JOINED = 30;

export function refuseManyRelations(filters: readonly Filter[], order: readonly OrderBy[], faults: Fault[]): void {
  const joined = new Set<string>();
  const join = ({ relations }: Pick<Path, 'relations'>, within: string): void => {
    let name = within;
    for (const relation of relations) joined.add((name += `.${relation.name}`));
  };
  /** `within`: the set that the conditions are about; each condition on a set joins its records anew. */
  const joinAll = (conditions: readonly Filter[], within: string): void => {
    for (const condition of conditions) {
      if ('items' in condition) {
        for (const item of condition.items) joinAll(item, within);
        continue;
      }
      join(condition.path, within);
      if (condition.kind === 'value') continue;
      const set = `#${joined.size}`;
      joined.add(set);
      if ('conditions' in condition) joinAll(condition.conditions, set);
    }
  };
  joinAll(filters, '');
  for (const { path } of order) join(path, '');
  if (joined.size <= MAX_JOINED) return;
  complainAbout(faults, '_cnd')('too-many', `Filters and order together can follow at most ${MAX_JOINED} relations`);
}
