/** `include` and `fields`: the parameters that choose what is shown. */
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';
import type { View } from './list-query.ts';
import type { QueryReading, VariantNames } from './accepted.ts';
import { countRelations, createView, type Included, type NamedParts } from './view.ts';
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import { unknownRelation } from './paths.ts';

export function resolveView({ type, names, limits, plain, faults }: QueryReading): View {
  const [include, fields] = [plain.get('include'), plain.get('fields')];
  if (include === undefined && fields === undefined) return names.view;
  const before = faults.length;
  const included = include === undefined ? undefined : chosenBy('include', include, names, faults);
  const named = fields === undefined ? undefined : chosenBy('fields', fields, names, faults, included);
  if (faults.length > before) return names.view;
  const view = createView(type, names.variant, included, named);
  if (countRelations(view) <= limits.maxIncludes) return view;
  const complain = complainAbout(faults, included ? 'include' : 'fields');
  return complain('too-many', `A request can show at most ${limits.maxIncludes} relations`) ?? names.view;
}

// Paths: `include=publisher,author.country` names relations to show, `fields=title,author.name` what to show of records.

interface ChosenParts extends NamedParts {
  whole: boolean;
  readonly fields: Set<Field>;
  readonly relations: Map<Relation, ChosenParts>;
}

/** The record that a path has come to. */
interface PartsPlace {
  readonly type: RecordType;
  readonly rights: Rights;
  /** The fields that can be shown, and the variant or relation that limits them, for messages. */
  readonly fields: readonly Field[];
  readonly decidedBy: string;
  /** The part of `include` for this record; undefined if there is no `include`. */
  readonly included: Included | undefined;
  readonly parts: ChosenParts;
}

const nothing = (): ChosenParts => ({ whole: false, fields: new Set(), relations: new Map() });

/** The tree of what the paths name. */
function chosenBy(
  parameter: 'include' | 'fields',
  text: string,
  { type, variant, rights }: VariantNames,
  faults: Fault[],
  included?: Included,
): NamedParts {
  const complain = complainAbout(faults, parameter);
  const parts = nothing();
  const root = { type, rights, fields: variant.fields, decidedBy: `Variant "${variant.name}"`, included, parts };
  for (const path of text === '' ? [] : text.split(',')) {
    const [place, name] = relationsOf(path, root, complain) ?? [];
    if (place === undefined) continue;
    if (name === undefined) place.parts.whole = true;
    else if (parameter === 'fields') nameField(place, name, complain);
    else if (place.type.fields.has(name))
      complain(
        'unknown-relation',
        `"${name}" of ${place.type.name} is a field, not a relation; use fields= to choose fields`,
      );
    else unknownRelation(place.type, name, complain, [...relationsFor(rights, place.type).keys()]);
  }
  return parts;
}

/** Follows a path from record to record; `name` is its last step, if that is not a relation. */
function relationsOf(
  path: string,
  start: PartsPlace,
  complain: Complain,
): readonly [place: PartsPlace, name?: string] | undefined {
  let place = start;
  const steps = path.split('.');
  for (const [index, step] of steps.entries()) {
    const { type, rights, included, parts } = place;
    const known = relationsFor(rights, type);
    const relation = known.get(step);
    if (relation === undefined)
      return index === steps.length - 1 ? [place, step] : unknownRelation(type, step, complain, [...known.keys()]);
    if (index === MAX_INCLUDE_DEPTH)
      return complain('too-deep', `${quote(path)} has more than ${MAX_INCLUDE_DEPTH} levels of relations`);
    const shown = included?.relations.get(relation);
    if (included && !shown)
      return complain('not-included', `${quote(path)} leads through "${relation.name}", which is not in include`);
    const next = parts.relations.get(relation) ?? nothing();
    parts.relations.set(relation, next);
    const { target, fields, name } = relation;
    place = { type: target, rights, fields, decidedBy: `The relation "${name}"`, included: shown, parts: next };
  }
  return [place];
}

function nameField({ type, rights, fields, decidedBy, parts }: PartsPlace, name: string, complain: Complain): void {
  const { identifier } = type;
  if (identifier.inRecord && name === identifier.name) return;
  const field = type.fields.get(name);
  if (field && fields.includes(field)) parts.fields.add(field);
  else if (field) complain('not-shown', `${decidedBy} does not show the field "${name}" of ${type.name}`);
  else
    complain('unknown-field', `${type.name} has no field ${quote(name)}`, () => {
      const own = identifier.inRecord ? [identifier.name] : [];
      return didYouMean(name, [...own, ...fields.map((one) => one.name), ...relationsFor(rights, type).keys()]);
    });
}
