/** Resolves dotted paths such as `author.name`. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';
import type { Filter, OrderBy, Path, SetPath } from './list-query.ts';
import type { Fault } from '../problem.ts';

/** The names that paths can use in one variant of a type. */
export interface PathNames {
  readonly type: RecordType;
  readonly variant: Variant;
  readonly fields: ReadonlyMap<string, Field>;
  /** Those of the client: relations to types that it may not read do not exist. */
  readonly rights: Rights;
}

export const namesOf = (type: RecordType, variant: Variant, rights: Rights): PathNames => ({
  type,
  variant,
  rights,
  fields: new Map(variant.fields.map((field) => [field.name, field])),
});

export const ownPath = (type: RecordType, field: Field | undefined): Path => pathTo(type, [], field);

/** The records that a condition is about: those of the list, or those of a set. */
export interface FilterPlace {
  readonly names: PathNames;
  /** How many relations lead to them. */
  readonly followed: number;
}

/** The value or set that a condition is about. */
interface FilterSubject {
  /** The sets on the way to it: the condition holds for some record of each. */
  readonly through: readonly SetPath[];
  /** The set that the path ends at. */
  readonly set: SetPath | undefined;
  /** The value that the path ends at. */
  readonly value: Path | undefined;
  readonly followed: number;
}

/** Follows `author.country.name` from record to record. `others`: further suggestions for a misspelled name. */
export function resolveSubject(
  { names, followed: before }: FilterPlace,
  text: string,
  complain: Complain,
  others: readonly string[],
): FilterSubject | undefined {
  const steps = text.split('.');
  const through: SetPath[] = [];
  // Since the record that the path starts at, or since the last set.
  let relations: readonly Relation[] = [];
  const { rights } = names;
  let { type, variant, fields } = names;
  let followed = before;
  for (const [index, step] of steps.entries()) {
    const known = relationsFor(rights, type);
    const relation = known.get(step);
    if (relation === undefined) {
      if (index < steps.length - 1) return unknownRelation(type, step, complain, [...known.keys()]);
      const field = fields.get(step);
      if (!field && step !== type.identifier.name)
        return unknownField({ type, variant, fields, rights }, step, complain, index === 0 ? others : []);
      return { through, set: undefined, value: pathTo(type, relations, field), followed };
    }
    if (followed === MAX_INCLUDE_DEPTH)
      return complain('too-deep', `A path can follow at most ${MAX_INCLUDE_DEPTH} relations`);
    followed += 1;
    if (relation.toMany) {
      through.push({ name: dotted(relations, step), relations, set: relation });
      relations = [];
    } else relations = [...relations, relation];
    type = relation.target;
    ({ defaultVariant: variant, fields } = type);
  }
  const set = relations.length === 0 ? through.pop() : undefined;
  return { through, set, value: set ? undefined : pathTo(type, relations, undefined), followed };
}

/** Of orders and summaries: a record has one such value at most. A related record is found by any of its fields, whatever is shown of it. */
export function resolvePath(
  names: PathNames,
  text: string,
  complain: Complain,
  others: readonly string[] = [],
): Path | undefined {
  const subject = resolveSubject({ names, followed: 0 }, text, complain, others);
  const set = subject?.through[0] ?? subject?.set;
  if (set === undefined) return subject?.value;
  const { name, source } = set.set;
  return complain(
    'to-many',
    `"${name}" of ${source.name} leads to many records; only relations to one record can be followed here`,
  );
}

/** The records of a set. */
export const insideSet = ({ set: { target } }: SetPath, rights: Rights, followed: number): FilterPlace => ({
  names: { type: target, variant: target.defaultVariant, fields: target.fields, rights },
  followed,
});

/** `known`: suggestions for a misspelled name. */
export function unknownRelation(
  type: RecordType,
  name: string,
  complain: Complain,
  known: readonly string[],
): undefined {
  const isValue = type.fields.has(name) || name === type.identifier.name;
  if (isValue) return complain('unknown-relation', `"${name}" of ${type.name} is not a relation`);
  return complain('unknown-relation', `${type.name} has no relation ${quote(name)}`, () => didYouMean(name, known));
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

// Limits the number of joins for the filters and the order of a list.

/** SQLite joins at most 64 tables in one statement. */
const MAX_JOINED = 30;

export function refuseManyRelations(conditions: readonly Filter[], order: readonly OrderBy[], faults: Fault[]): void {
  const joined = new Set<string>();
  addConditions(conditions, '', joined);
  for (const { path } of order) addRelations(path, '', joined);
  if (joined.size <= MAX_JOINED) return;
  complainAbout(faults, '_cnd')('too-many', `Filters and order together can follow at most ${MAX_JOINED} relations`);
}

/** `within`: the set that the conditions are about; each condition on a set joins its records anew. */
function addConditions(conditions: readonly Filter[], within: string, joined: Set<string>): void {
  for (const condition of conditions) {
    if ('items' in condition) for (const item of condition.items) addConditions(item, within, joined);
    else addRelations(condition.path, within, joined);
    if (condition.kind === 'value' || 'items' in condition) continue;
    const set = `#${joined.size}`;
    joined.add(set);
    if ('conditions' in condition) addConditions(condition.conditions, set, joined);
  }
}

function addRelations({ relations }: Pick<Path, 'relations'>, within: string, joined: Set<string>): void {
  let name = within;
  for (const relation of relations) joined.add((name += `.${relation.name}`));
}
