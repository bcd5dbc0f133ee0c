/** Dotted paths such as `author.name`: to values in filters and orders, and to members of views. */
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation, type Variant } from '../model/model.ts';
import type { Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import type { Filter, OrderBy, Path, PathNames, QueryReading, SetPath, View } from './list-query.ts';
import { type Report, reportOn, quote } from './parameters.ts';

export const namesOf = (type: RecordType, variant: Variant, rights: Rights): PathNames => ({
  type,
  variant,
  rights,
  fields: new Map(variant.fields.map((field) => [field.name, field])),
});

const namesOfTarget = ({ target }: Relation, rights: Rights): PathNames => ({
  type: target,
  variant: target.defaultVariant,
  rights,
  fields: target.fields,
});

export const ownPath = (type: RecordType, field: Field | undefined): Path => pathTo(type, [], field);

export interface PathStart {
  readonly names: PathNames;
  readonly followed: number;
}

/** Follows `author.country.name`; undefined after a fault. `through`: sets on the path; one record of each must match. */
export function resolveSubject(
  start: PathStart,
  text: string,
  report: Report,
  others: Iterable<string> = [],
  isSuggested: (relation: Relation) => boolean = () => true,
) {
  const steps = text.split('.');
  const through: SetPath[] = [];
  let relations: readonly Relation[] = [];
  let { names, followed } = start;
  for (const [index, step] of steps.entries()) {
    const { type, rights, fields } = names;
    const relation = type.relations.get(step) ?? type.links?.get(step);
    if (relation === undefined) {
      if (index < steps.length - 1) return unknownRelation(type, step, report);
      const field = fields.get(step);
      if (!field && step !== type.identifier.name) {
        const near = [...type.relations.values()].flatMap((one) => (isSuggested(one) ? one.name : []));
        return unknownField(names, step, report, [...near, ...(index > 0 ? [] : others)]);
      }
      return { through, end: pathTo(type, relations, field), reached: { names, followed } };
    }
    if (followed === MAX_INCLUDE_DEPTH)
      return report('too-deep', `A path can follow at most ${MAX_INCLUDE_DEPTH} relations`);
    followed += 1;
    names = namesOfTarget(relation, rights);
    if (relation.toMany) through.push({ name: dotted(relations, step), relations, set: relation });
    relations = relation.toMany ? [] : [...relations, relation];
  }
  const set = relations.length === 0 ? through.pop() : undefined;
  return { through, end: set ?? pathTo(names.type, relations, undefined), reached: { names, followed } };
}

/** Resolves a path in an order or a summary; refuses sets, so that a record has at most one value. */
export function resolvePath(names: PathNames, text: string, report: Report, others: Iterable<string> = []) {
  const subject = resolveSubject({ names, followed: 0 }, text, report, others, ({ toMany }) => !toMany);
  if (!subject) return undefined;
  const [first = subject.end] = subject.through;
  if (!('set' in first)) return first;
  const { name, source } = first.set;
  return report(
    'to-many',
    `"${name}" of ${source.name} leads to many records; only relations to one record can be followed here`,
  );
}

function unknownRelation(type: RecordType, name: string, report: Report): undefined {
  const isValue = type.fields.has(name) || name === type.identifier.name;
  if (isValue) return report('unknown-relation', `"${name}" of ${type.name} is a field, not a relation`);
  return report('unknown-relation', `${type.name} has no relation ${quote(name)}`, () =>
    didYouMean(name, type.relations.keys()),
  );
}

function unknownField(
  { type, variant, fields }: PathNames,
  name: string,
  report: Report,
  others: readonly string[],
): undefined {
  if (type.fields.has(name))
    return report('not-in-variant', `Variant "${variant.name}" of ${type.name} has no field "${name}"`);
  return report('unknown-field', `${type.name} has no field ${quote(name)}`, () =>
    didYouMean(name, [type.identifier.name, ...fields.keys(), ...(type.links?.keys() ?? []), ...others]),
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
  /** `within`: the key of the set where the paths start. Each condition on a set joins the table again. */
  const join = (conditions: readonly (Filter | OrderBy)[], within: string): void => {
    for (const condition of conditions) {
      if ('items' in condition) join(condition.items.flat(), within);
      else {
        let name = within;
        for (const relation of condition.path.relations) joined.add((name += `.${relation.name}`));
        if (!('set' in condition.path)) continue;
        const set = `#${joined.size}`;
        joined.add(set);
        if ('conditions' in condition) join(condition.conditions, set);
      }
    }
  };
  join([...filters, ...order], '');
  if (joined.size <= MAX_JOINED) return;
  reportOn(faults, '_cnd')('too-many', `Filters and order together can follow at most ${MAX_JOINED} relations`);
}

// Views: the defaults, and views chosen by `include` and `fields`.

interface Parts {
  fields?: 'all' | Set<Field>;
  readonly relations: Map<Relation, Parts>;
}

export const NO_PARTS: Parts = { relations: new Map() };

export const countRelations = ({ relations }: View): number =>
  relations.reduce((count, { view }) => count + 1 + countRelations(view), 0);

export function defaultView(type: RecordType, variant: Variant, rights: Rights): View {
  return viewOf(type, variant, { relations: usualParts(type) }, rights);
}

/** All own fields of related records; in dialects, the identifiers of those that the record links. */
function usualParts(type: RecordType): Map<Relation, Parts> {
  const shown = [...type.relations.values()].filter((relation) => relation.shown);
  if (!type.links) return new Map(shown.map((relation) => [relation, NO_PARTS]));
  const linked = shown.filter(({ toMany, owned, target }) => !toMany && !owned && target.identifier.inRecord);
  return new Map(linked.map((relation) => [relation, { fields: new Set(), relations: new Map() }]));
}

export const ownFields = (view: View): View => withRelations(view, []);

function withRelations(view: View, relations: View['relations']): View {
  const own = { ...view, relations };
  return { ...own, key: keyOf(own) };
}

/** Whether the view shows only a related record's identifier, which fits into a CSV cell. */
export const isLink = ({ relation: { toMany, target }, view }: View['relations'][number]): boolean =>
  !toMany && target.identifier.inRecord && view.fields.length + view.relations.length === 0;

/** The view of a CSV row, with identifiers instead of related records; by default only foreign keys of the table. */
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

export function viewOf(
  type: RecordType,
  variant: Variant,
  parts: Parts,
  rights: Rights,
  visible = variant.fields,
): View {
  const { fields: named = 'all', relations: chosen } = parts;
  const fields = named === 'all' ? visible : visible.filter((field) => named.has(field));
  // Relations limited to some fields hide open keys.
  const openKeys = type.open && named === 'all' && visible.length === variant.fields.length;
  const relations = [...type.relations.values()].flatMap((relation) => {
    const { target, fields: limited } = relation;
    const inner = chosen.get(relation);
    return inner ? [{ relation, view: viewOf(target, target.defaultVariant, inner, rights, limited) }] : [];
  });
  const view = { type, variant, fields, openKeys, relations, rights };
  return { key: keyOf(view), ...view };
}

/** `*` for all fields keeps usual keys short; names contain none of these characters. */
function keyOf({ type, variant, fields, openKeys, relations }: Omit<View, 'key'>): string {
  const own = fields.length === variant.fields.length ? '*' : fields.map(({ name }) => name).join();
  const inner = relations.map(({ relation, view }) => `${relation.name}=${view.key}`).join();
  return `${type.statementKey}:${variant.name}(${own}${openKeys ? '+' : ''};${inner})`;
}

// `include=publisher,author.country` selects relations, `fields=title,author.name` fields.

export function resolveView({ names, view: usual, limits, plain, faults }: QueryReading): View {
  const chosenBy = (['include', 'fields'] as const).find((parameter) => plain.has(parameter));
  if (chosenBy === undefined) return usual;
  const before = faults.length;
  const root: Parts = { relations: names.type.links ? usualParts(names.type) : new Map() };
  const addAll = (parameter: 'include' | 'fields'): void => {
    const report = reportOn(faults, parameter);
    const paths = plain.get(parameter)?.split(',') ?? [];
    for (const path of paths.filter((one) => one !== '' || paths.length > 1))
      addPath(path, root, names, report, { parameter, isFixed: parameter !== chosenBy });
  };
  addAll('include');
  if (plain.has('fields')) root.fields = new Set();
  addAll('fields');
  if (faults.length > before) return usual;
  const view: View = { ...viewOf(names.type, names.variant, root, names.rights), chosenBy };
  if (countRelations(view) <= limits.maxIncludes) return view;
  const report = reportOn(faults, chosenBy);
  return report('too-many', `A request can show at most ${limits.maxIncludes} relations`) ?? usual;
}

function addPath(
  path: string,
  root: Parts,
  { type: rootType, variant }: PathNames,
  report: Report,
  { parameter, isFixed }: { readonly parameter: 'include' | 'fields'; readonly isFixed: boolean },
): void {
  let [parts, type, fields] = [root, rootType, variant.fields];
  let decidedBy = `Variant "${variant.name}"`;
  const steps = path.split('.');
  for (const [depth, step] of steps.entries()) {
    const isLast = depth === steps.length - 1;
    const relation = type.relations.get(step);
    if (relation === undefined) {
      if (parameter === 'include' || !isLast) return unknownRelation(type, step, report);
      const { identifier } = type;
      const field = type.fields.get(step);
      if (identifier.inRecord && step === identifier.name) return undefined;
      if (field && !fields.includes(field))
        return report('not-shown', `${decidedBy} does not show the field "${step}" of ${type.name}`);
      if (field) return void (parts.fields === 'all' || parts.fields?.add(field));
      const own = identifier.inRecord ? [identifier.name] : [];
      const known = [...own, ...fields.map(({ name }) => name), ...type.relations.keys()];
      return report('unknown-field', `${type.name} has no field ${quote(step)}`, () => didYouMean(step, known));
    }
    if (depth === MAX_INCLUDE_DEPTH)
      return report('too-deep', `${quote(path)} has more than ${MAX_INCLUDE_DEPTH} levels of relations`);
    const inner: Parts = parts.relations.get(relation) ?? { relations: new Map() };
    if (isFixed && !parts.relations.has(relation))
      return report('not-included', `${quote(path)} leads through "${step}", which is not in include`);
    parts.relations.set(relation, inner);
    if (parameter === 'fields') inner.fields = isLast ? 'all' : (inner.fields ?? new Set());
    else delete inner.fields;
    [parts, type, fields, decidedBy] = [inner, relation.target, relation.fields, `The relation "${step}"`];
  }
  return undefined;
}
