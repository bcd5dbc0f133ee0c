/** Builds views: the default views, and those of `include` and `fields`. */
import type { Field, RecordType, Relation, Variant } from '../model/model.ts';
import { relationsFor, type Rights } from '../model/rights.ts';
import type { View } from './list-query.ts';

/** The tree of relations to show. */
export interface Included {
  readonly relations: ReadonlyMap<Relation, Included>;
}

/** The parts of a record that `fields` names; `whole` if a path ends at the record itself. */
export interface NamedParts {
  readonly whole: boolean;
  readonly fields: ReadonlySet<Field>;
  readonly relations: ReadonlyMap<Relation, NamedParts>;
}

const NOTHING_INCLUDED: Included = { relations: new Map() };

/** The number of relations in a view, at all levels. */
export const countRelations = ({ relations }: View): number =>
  relations.reduce((count, { view }) => count + 1 + countRelations(view), 0);

/** A record with its default relations, whose records show no relations. */
export function defaultView(type: RecordType, variant: Variant, rights: Rights): View {
  const shown = [...relationsFor(rights, type).values()].filter((relation) => relation.shown);
  const relations = new Map(shown.map((relation) => [relation, NOTHING_INCLUDED]));
  return Object.freeze(build(type, variant, variant.fields, { relations }));
}

/** The view without relations. */
export const ownFields = (view: View): View => withRelations(view, []);

function withRelations(view: View, relations: View['relations']): View {
  const own = { ...view, relations };
  return Object.freeze({ ...own, key: keyOf(own) });
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
    own.map(({ relation, view: whole }) => {
      const bare = { ...whole, fields: [], relations: [], openKeys: false };
      return { relation, view: { ...bare, key: keyOf(bare) } };
    }),
  );
}

/** Without `included`, the relations in `named` are shown; at least one of the two is given. */
export function createView(
  type: RecordType,
  variant: Variant,
  included: Included | undefined,
  named: NamedParts | undefined,
): View {
  const chosenBy = included === undefined ? 'fields' : 'include';
  return Object.freeze({ ...build(type, variant, variant.fields, included, named), chosenBy });
}

function build(
  type: RecordType,
  variant: Variant,
  shown: readonly Field[],
  included?: Included,
  named?: NamedParts,
): View {
  const whole = named?.whole ?? true;
  const fields = whole ? shown : shown.filter((field) => named?.fields.has(field));
  // A relation limited to some fields does not show unknown keys.
  const openKeys = type.open && whole && shown.length === variant.fields.length;
  const chosen: ReadonlyMap<Relation, unknown> | undefined = (included ?? named)?.relations;
  const relations = [...type.relations.values()]
    .filter((relation) => chosen?.has(relation))
    .map((relation) => ({ relation, view: related(relation, included, named) }));
  const view = { type, variant, fields, openKeys, relations };
  return { key: keyOf(view), ...view };
}

function related(relation: Relation, included: Included | undefined, named: NamedParts | undefined): View {
  const { target, fields } = relation;
  return build(
    target,
    target.defaultVariant,
    fields,
    included?.relations.get(relation),
    named?.relations.get(relation),
  );
}

/** `*` for all fields keeps the keys of the usual views short; names hold none of these signs. */
function keyOf({ type, variant, fields, openKeys, relations }: Omit<View, 'key'>): string {
  const own = fields.length === variant.fields.length ? '*' : fields.map(({ name }) => name).join();
  const inner = relations.map(({ relation, view }) => `${relation.name}=${view.key}`).join();
  return `${type.statementKey}:${variant.name}(${own}${openKeys ? '+' : ''};${inner})`;
}
