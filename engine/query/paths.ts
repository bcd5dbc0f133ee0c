/** Resolves dotted paths such as `author.name`. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';
import type { Filter, OrderBy, Path } from './list-query.ts';
import type { Fault } from '../problem.ts';

/** The names that paths can use in one variant of a type. */
export interface PathNames {
  readonly type: RecordType;
  readonly variant: Variant;
  readonly fields: ReadonlyMap<string, Field>;
}

/** Where a path has come to. */
interface PathPlace extends PathNames {
  readonly relations: readonly Relation[];
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
  return followPath({ type, variant, fields, relations: [], others }, text, ONE_VALUE, complain);
}

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

/** Of filters and orders: a record has one such value at most. A related record is found by any of its fields, whatever is shown of it. */
const ONE_VALUE: Way<PathPlace, Path> = {
  through: ({ type, relations }, relation, _, complain) => {
    const { name, target, toMany } = relation;
    if (toMany)
      return complain(
        'to-many',
        `"${name}" of ${type.name} leads to many records; a path can only follow relations to one record`,
      );
    if (relations.length === MAX_INCLUDE_DEPTH) return complain('too-deep', TOO_DEEP);
    const { defaultVariant: variant, fields } = target;
    return { type: target, variant, fields, relations: [...relations, relation], others: [] };
  },
  atRecord: (place) => pathTo(place, undefined),
  atName: (place, name, complain) => {
    if (name === place.type.identifier.name) return pathTo(place, undefined);
    const field = place.fields.get(name);
    return field ? pathTo(place, field) : unknownField(place, name, complain);
  },
  relationsOf: toOneNames,
};

const TOO_DEEP = `A path can follow at most ${MAX_INCLUDE_DEPTH} relations`;

function pathTo({ type, relations }: Pick<PathPlace, 'type' | 'relations'>, field: Field | undefined): Path {
  const last = field?.name ?? type.identifier.name;
  const name = relations.length === 0 ? last : `${relations.map((relation) => relation.name).join('.')}.${last}`;
  return { name, relations, type, field };
}

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

export function refuseManyRelations(filters: readonly Filter[], order: readonly OrderBy[], faults: Fault[]): void {
  const joined = new Set<string>();
  for (const { path } of filters) addRelations(path, joined);
  for (const { path } of order) addRelations(path, joined);
  if (joined.size <= MAX_JOINED) return;
  complainAbout(faults, '_cnd')('too-many', `Filters and order together can follow at most ${MAX_JOINED} relations`);
}

function addRelations({ relations }: Path, joined: Set<string>): void {
  let name = '';
  for (const relation of relations) joined.add((name += `.${relation.name}`));
}
