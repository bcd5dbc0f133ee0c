/** Views: the default ones, and those that `include` and `fields` choose. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { QueryReading, View } from './list-query.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';
import { unknownRelation } from './paths.ts';

/** The parts of a record that `include` or `fields` names; `whole` if a path ends at the record itself. */
export interface Parts {
  whole: boolean;
  readonly fields: Set<Field>;
  readonly relations: Map<Relation, Parts>;
}

export const noParts = (): Parts => ({ whole: false, fields: new Set(), relations: new Map() });

/** The number of relations in a view, at all levels. */
export const countRelations = ({ relations }: View): number =>
  relations.reduce((count, { view }) => count + 1 + countRelations(view), 0);

/** A record with its default relations, whose records show no relations. */
export function defaultView(type: RecordType, variant: Variant, rights: Rights): View {
  const shown = [...relationsFor(rights, type).values()].filter((relation) => relation.shown);
  const included = { ...noParts(), relations: new Map(shown.map((relation) => [relation, noParts()])) };
  return build(type, variant, variant.fields, included);
}

/** The view without relations. */
export const ownFields = (view: View): View => withRelations(view, []);

function withRelations(view: View, relations: View['relations']): View {
  const own = { ...view, relations };
  return { ...own, key: keyOf(own) };
}

type RelationView = View['relations'][number];

/** A related record shown by its identifier alone fits into one cell. */
export const isLink = ({ relation: { toMany, target }, view }: RelationView): boolean =>
  !toMany && target.identifier.inRecord && view.fields.length + view.relations.length === 0;

/** The view of a row: of related records only the identifiers, by default of those that the record itself links. */
export function rowView(view: View): View {
  if (view.chosenBy) return withRelations(view, view.relations.filter(isLink));
  const own = view.relations.filter(
    ({ relation: { link, target } }) => link.at === 'source' && target.identifier.inRecord,
  );
  return withRelations(
    view,
    own.map(({ relation, view: whole }) => ({
      relation,
      view: withRelations({ ...whole, fields: [], openKeys: false }, []),
    })),
  );
}

/** Without `included`, the relations in `named` are shown; at least one of the two is given. */
export const createView = (
  type: RecordType,
  variant: Variant,
  included: Parts | undefined,
  named: Parts | undefined,
): View => ({ ...build(type, variant, variant.fields, included, named), chosenBy: included ? 'include' : 'fields' });

function build(type: RecordType, variant: Variant, shown: readonly Field[], included?: Parts, named?: Parts): View {
  const whole = named?.whole ?? true;
  const fields = whole ? shown : shown.filter((field) => named?.fields.has(field));
  // A relation limited to some fields does not show unknown keys.
  const openKeys = type.open && whole && shown.length === variant.fields.length;
  const chosen = (included ?? named)?.relations;
  const relations = [...type.relations.values()]
    .filter((relation) => chosen?.has(relation))
    .map((relation) => {
      const { target, fields: visible } = relation;
      const [inner, parts] = [included, named].map((tree) => tree?.relations.get(relation));
      return { relation, view: build(target, target.defaultVariant, visible, inner, parts) };
    });
  const view = { type, variant, fields, openKeys, relations };
  return { key: keyOf(view), ...view };
}

/** `*` for all fields keeps the keys of the usual views short; names hold none of these signs. */
function keyOf({ type, variant, fields, openKeys, relations }: Omit<View, 'key'>): string {
  const own = fields.length === variant.fields.length ? '*' : fields.map(({ name }) => name).join();
  const inner = relations.map(({ relation, view }) => `${relation.name}=${view.key}`).join();
  return `${type.statementKey}:${variant.name}(${own}${openKeys ? '+' : ''};${inner})`;
}

// `include=publisher,author.country` names relations to show, `fields=title,author.name` what to show of records.

export function resolveView({ names, view: usual, limits, plain, faults }: QueryReading): View {
  const [include, fields] = [plain.get('include'), plain.get('fields')];
  if (include === undefined && fields === undefined) return usual;
  const before = faults.length;
  const start = { ...names, fields: names.variant.fields, decidedBy: `Variant "${names.variant.name}"`, depth: 0 };
  const partsOf = (parameter: 'include' | 'fields', text: string | undefined, included?: Parts): Parts | undefined => {
    if (text === undefined) return undefined;
    const parts = noParts();
    const complain = complainAbout(faults, parameter);
    for (const path of text === '' ? [] : text.split(','))
      addPath(path.split('.'), { ...start, included, parts }, { parameter, path, complain });
    return parts;
  };
  const included = partsOf('include', include);
  const named = partsOf('fields', fields, included);
  if (faults.length > before) return usual;
  const view = createView(names.type, names.variant, included, named);
  if (countRelations(view) <= limits.maxIncludes) return view;
  const complain = complainAbout(faults, included ? 'include' : 'fields');
  return complain('too-many', `A request can show at most ${limits.maxIncludes} relations`) ?? usual;
}

/** The record that a path has come to. */
interface PartsPlace {
  readonly type: RecordType;
  readonly rights: Rights;
  /** The fields that can be shown, and the variant or relation that limits them, for messages. */
  readonly fields: readonly Field[];
  readonly decidedBy: string;
  /** How many relations lead to it. */
  readonly depth: number;
  /** The part of `include` for this record; undefined if there is no `include`. */
  readonly included: Parts | undefined;
  readonly parts: Parts;
}

interface WrittenPath {
  readonly parameter: 'include' | 'fields';
  readonly path: string;
  readonly complain: Complain;
}

/** Adds what the steps name, seen from a record. */
function addPath([step = '', ...rest]: readonly string[], place: PartsPlace, written: WrittenPath): void {
  const { type, rights, depth, included, parts } = place;
  const { path, complain } = written;
  const relation = relationsFor(rights, type).get(step);
  if (relation === undefined)
    return rest.length === 0 ? addField(place, step, written) : unknownRelation(place, step, complain);
  if (depth === MAX_INCLUDE_DEPTH)
    return complain('too-deep', `${quote(path)} has more than ${MAX_INCLUDE_DEPTH} levels of relations`);
  const shown = included?.relations.get(relation);
  if (included && !shown)
    return complain('not-included', `${quote(path)} leads through "${relation.name}", which is not in include`);
  const { target, fields, name } = relation;
  const inner = parts.relations.get(relation) ?? noParts();
  parts.relations.set(relation, inner);
  if (rest.length === 0) {
    inner.whole = true;
    return undefined;
  }
  const decidedBy = `The relation "${name}"`;
  return addPath(
    rest,
    { type: target, rights, fields, decidedBy, depth: depth + 1, included: shown, parts: inner },
    written,
  );
}

function addField(place: PartsPlace, name: string, { parameter, complain }: WrittenPath): void {
  const { type, rights, fields, decidedBy, parts } = place;
  const { identifier } = type;
  const field = type.fields.get(name);
  if (parameter === 'include') {
    if (!field) return unknownRelation(place, name, complain);
    const message = `"${name}" of ${type.name} is a field, not a relation; use fields= to choose fields`;
    return complain('unknown-relation', message);
  }
  if (identifier.inRecord && name === identifier.name) return undefined;
  if (field && fields.includes(field)) parts.fields.add(field);
  else if (field) complain('not-shown', `${decidedBy} does not show the field "${name}" of ${type.name}`);
  else
    complain('unknown-field', `${type.name} has no field ${quote(name)}`, () => {
      const own = identifier.inRecord ? [identifier.name] : [];
      return didYouMean(name, [...own, ...fields.map((one) => one.name), ...relationsFor(rights, type).keys()]);
    });
  return undefined;
}
