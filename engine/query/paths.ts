/** Resolves dotted paths such as `author.name`. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';
import type { Filter, OrderBy, Path, SetPath } from './list-query.ts';
import type { Fault } from '../problem.ts';

/** The names that paths can use in one variant of a type. */
export interface PathNames {
  readonly type: RecordType;
  readonly variant: Variant;
  readonly fields: ReadonlyMap<string, Field>;
}

/** Where a path has come to. */
interface PathPlace extends PathNames {
  /** Since the record that the path starts at, or since the last set. */
  readonly relations: readonly Relation[];
  readonly sets: readonly SetPath[];
  /** How many relations were followed, those that lead to where the path starts included. */
  readonly followed: number;
  /** Further suggestions for a misspelled name. */
  readonly others: readonly string[];
}

export function namesOf(type: RecordType, variant: Variant): PathNames {
  return { type, variant, fields: new Map(variant.fields.map((field) => [field.name, field])) };
}

export const ownPath = (type: RecordType, field: Field | undefined): Path => pathTo({ type, relations: [] }, field);

/** `others`: further suggestions for a misspelled name. */
export function resolvePath(
  { type, variant, fields }: PathNames,
  text: string,
  complain: Complain,
  others: readonly string[] = [],
): Path | undefined {
  return followPath({ type, variant, fields, relations: [], sets: [], followed: 0, others }, text, ONE_VALUE, complain);
}

/** The records that a condition is about: those of the list, or those of a set. */
export interface FilterPlace {
  readonly names: PathNames;
  /** How many relations lead to them. */
  readonly followed: number;
}

/** What a condition is about. */
interface FilterSubject {
  /** The sets on the way to it: the condition holds for some record of each. */
  readonly through: readonly SetPath[];
  /** The set that the path ends at. */
  readonly set: SetPath | undefined;
  /** The value that the path ends at. */
  readonly value: Path | undefined;
  readonly followed: number;
}

export function resolveSubject(
  { names: { type, variant, fields }, followed }: FilterPlace,
  text: string,
  complain: Complain,
  others: readonly string[],
): FilterSubject | undefined {
  return followPath({ type, variant, fields, relations: [], sets: [], followed, others }, text, SUBJECT, complain);
}

/** The records of a set. */
export const insideSet = ({ set: { target } }: SetPath, followed: number): FilterPlace => ({
  names: { type: target, variant: target.defaultVariant, fields: target.fields },
  followed,
});

/** What a dotted path means to the parameter that it stands in. `P` is a place on the way, `R` what the path comes to. */
export interface Way<P, R> {
  /** The place that a relation leads to. Complains and answers undefined where it may not be followed. */
  through(place: P, relation: Relation, path: string, complain: Complain): P | undefined;
  /** The path ends at a related record. */
  atRecord(place: P): R | undefined;
  /** The path ends in a name that is not a relation's. */
  atName(place: P, name: string, complain: Complain): R | undefined;
  /** Suggestions for a misspelled relation. */
  relationsOf(type: RecordType): readonly string[];
}

/** Follows `author.country.name` from record to record; the parameters differ in what they allow on the way. */
export function followPath<P extends { readonly type: RecordType }, R>(
  start: P,
  path: string,
  way: Way<P, R>,
  complain: Complain,
): R | undefined {
  const steps = path.split('.');
  let place = start;
  for (const [index, step] of steps.entries()) {
    const relation = place.type.relations.get(step);
    if (relation === undefined)
      return index === steps.length - 1
        ? way.atName(place, step, complain)
        : unknownRelation(place.type, step, way, complain);
    const next = way.through(place, relation, path, complain);
    if (next === undefined) return undefined;
    place = next;
  }
  return way.atRecord(place);
}

export function unknownRelation(
  type: RecordType,
  name: string,
  { relationsOf }: Pick<Way<never, never>, 'relationsOf'>,
  complain: Complain,
): undefined {
  const isValue = type.fields.has(name) || name === type.identifier.name;
  const message = isValue
    ? `"${name}" of ${type.name} is not a relation`
    : `${type.name} has no relation ${quote(name)}`;
  return complain('unknown-relation', message, () => (isValue ? '' : didYouMean(name, relationsOf(type))));
}

/** Of orders and summaries: a record has one such value at most. A related record is found by any of its fields, whatever is shown of it. */
const ONE_VALUE: Way<PathPlace, Path> = {
  through: (place, relation, _, complain) => {
    if (relation.toMany)
      return complain(
        'to-many',
        `"${relation.name}" of ${place.type.name} leads to many records; only relations to one record can be followed here`,
      );
    return oneFurther(place, relation, complain);
  },
  atRecord: (place) => pathTo(place, undefined),
  atName: (place, name, complain) => {
    if (name === place.type.identifier.name) return pathTo(place, undefined);
    const field = place.fields.get(name);
    return field ? pathTo(place, field) : unknownField(place, name, complain);
  },
  relationsOf: toOneNames,
};

/** Of conditions: each set on the way is asked for some record that the rest of the path holds for. */
const SUBJECT: Way<PathPlace, FilterSubject> = {
  through: (place, relation, _, complain) => {
    const next = oneFurther(place, relation, complain);
    if (next === undefined || !relation.toMany) return next;
    const name = dotted(place.relations, relation.name);
    return { ...next, relations: [], sets: [...place.sets, { name, relations: place.relations, set: relation }] };
  },
  atRecord: (place) => {
    const { relations, sets, followed } = place;
    const set = relations.length === 0 ? sets.at(-1) : undefined;
    if (set) return { through: sets.slice(0, -1), set, value: undefined, followed };
    return { through: sets, set, value: pathTo(place, undefined), followed };
  },
  atName: (place, name, complain) => {
    const value = ONE_VALUE.atName(place, name, complain);
    return value && { through: place.sets, set: undefined, value, followed: place.followed };
  },
  relationsOf: ({ relations }) => [...relations.keys()],
};

function oneFurther(place: PathPlace, relation: Relation, complain: Complain): PathPlace | undefined {
  const { relations, sets, followed } = place;
  if (followed === MAX_INCLUDE_DEPTH) return complain('too-deep', TOO_DEEP);
  const { defaultVariant: variant, fields } = relation.target;
  const far = { relations: [...relations, relation], sets, followed: followed + 1 };
  return { type: relation.target, variant, fields, ...far, others: [] };
}

const TOO_DEEP = `A path can follow at most ${MAX_INCLUDE_DEPTH} relations`;

function pathTo({ type, relations }: Pick<PathPlace, 'type' | 'relations'>, field: Field | undefined): Path {
  const last = field?.name ?? type.identifier.name;
  return { name: dotted(relations, last), relations, type, field };
}

const dotted = (relations: readonly Relation[], last: string): string =>
  [...relations.map(({ name }) => name), last].join('.');

function unknownField({ type, variant, fields, others }: PathPlace, name: string, complain: Complain): undefined {
  const known = (): string[] => [type.identifier.name, ...fields.keys(), ...toOneNames(type), ...others];
  const isOmitted = type.fields.has(name);
  if (isOmitted) return complain('not-in-variant', `Variant "${variant.name}" of ${type.name} has no field "${name}"`);
  return complain('unknown-field', `${type.name} has no field ${quote(name)}`, () => didYouMean(name, known()));
}

function toOneNames({ relations }: RecordType): readonly string[] {
  return [...relations.values()].filter(({ toMany }) => !toMany).map(({ name }) => name);
}

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
