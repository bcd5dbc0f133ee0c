/** Views: the default ones, and those that `include` and `fields` choose. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { PathNames, QueryReading, View } from './list-query.ts';
import { type Complain, complainAbout, quote } from './parameters.ts';
import { unknownRelation } from './paths.ts';

/** The parts of a record that `include` or `fields` names; `whole` if a path ends at the record itself. */
export interface Parts {
  whole: boolean;
  readonly fields: Set<Field>;
  readonly relations: Map<Relation, Parts>;
}

export const noParts = (): Parts => ({ whole: false, fields: new Set(), relations: new Map() });

export const countRelations = ({ relations }: View): number =>
  relations.reduce((count, { view }) => count + 1 + countRelations(view), 0);

/** A record with its default relations, whose records show no relations. */
export function defaultView(type: RecordType, variant: Variant, rights: Rights): View {
  const shown = [...relationsFor(rights, type).values()].filter((relation) => relation.shown);
  const included = { ...noParts(), relations: new Map(shown.map((relation) => [relation, noParts()])) };
  return build(type, variant, variant.fields, included);
}

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

export function resolveView(reading: QueryReading): View {
  const { names, view: usual, limits, plain, faults } = reading;
  const [include, fields] = [plain.get('include'), plain.get('fields')];
  if (include === undefined && fields === undefined) return usual;
  const before = faults.length;
  const included = include === undefined ? undefined : partsNamed('include', include, reading);
  const named = fields === undefined ? undefined : partsNamed('fields', fields, reading, included);
  if (faults.length > before) return usual;
  const view = createView(names.type, names.variant, included, named);
  if (countRelations(view) <= limits.maxIncludes) return view;
  const complain = complainAbout(faults, included ? 'include' : 'fields');
  return complain('too-many', `A request can show at most ${limits.maxIncludes} relations`) ?? usual;
}

/** The parts that the paths name. `included`: those that `include` names, if it is given. */
function partsNamed(
  parameter: 'include' | 'fields',
  text: string,
  { names, faults }: QueryReading,
  included?: Parts,
): Parts {
  const parts = noParts();
  const complain = complainAbout(faults, parameter);
  for (const path of text === '' ? [] : text.split(',')) addPath(path, parts, names, complain, { parameter, included });
  return parts;
}

function addPath(
  path: string,
  root: Parts,
  { type: rootType, variant, rights }: PathNames,
  complain: Complain,
  { parameter, included: shown }: { readonly parameter: string; readonly included: Parts | undefined },
): void {
  let [parts, type, fields, included] = [root, rootType, variant.fields, shown];
  let decidedBy = `Variant "${variant.name}"`;
  const steps = path.split('.');
  for (const [depth, step] of steps.entries()) {
    const relation = relationsFor(rights, type).get(step);
    if (relation === undefined) {
      const isField = parameter === 'fields' && depth === steps.length - 1;
      if (!isField) return unknownRelation({ type, rights }, step, complain);
      const { identifier } = type;
      const field = type.fields.get(step);
      if (identifier.inRecord && step === identifier.name) return undefined;
      if (field && !fields.includes(field))
        return complain('not-shown', `${decidedBy} does not show the field "${step}" of ${type.name}`);
      if (field) return void parts.fields.add(field);
      const own = identifier.inRecord ? [identifier.name] : [];
      const known = [...own, ...fields.map(({ name }) => name), ...relationsFor(rights, type).keys()];
      return complain('unknown-field', `${type.name} has no field ${quote(step)}`, () => didYouMean(step, known));
    }
    if (depth === MAX_INCLUDE_DEPTH)
      return complain('too-deep', `${quote(path)} has more than ${MAX_INCLUDE_DEPTH} levels of relations`);
    if (included && !included.relations.has(relation))
      return complain('not-included', `${quote(path)} leads through "${step}", which is not in include`);
    included &&= included.relations.get(relation);
    const inner = parts.relations.get(relation) ?? noParts();
    parts.relations.set(relation, inner);
    [parts, type, fields, decidedBy] = [inner, relation.target, relation.fields, `The relation "${step}"`];
  }
  parts.whole = true;
  return undefined;
}
