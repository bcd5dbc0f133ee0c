/** What an answer of the reference model shows: which fields, which relations, how deep, in which order. */
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field, OrderTerm, RecordType, Relation } from '../../model/model.ts';
import { related } from './links.ts';
import { type Id, idValue, type Row, type World } from './world.ts';

/** The view parameters of a request, each as the list of names that it holds. */
export interface ViewRequest {
  readonly include?: readonly string[];
  readonly fields?: readonly string[];
  readonly variant?: string;
}

export interface Shown {
  readonly fields: readonly Field[];
  readonly openKeys: boolean;
  readonly relations: ReadonlyMap<Relation, Shown>;
}

/** A related record shows the fields that its relation names; open keys only where it names no selection. */
const nestedShown = (relation: Relation, relations: ReadonlyMap<Relation, Shown>): Shown => ({
  fields: relation.fields,
  openKeys: relation.target.open && relation.fields.length === relation.target.defaultVariant.fields.length,
  relations,
});

/** The part of dotted names behind `name.`. */
function below(paths: readonly string[], name: string): string[] {
  return paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1));
}

function included(type: RecordType, paths: readonly string[]): Map<Relation, Shown> {
  const relations = [...type.relations.values()].filter(({ name }) =>
    paths.some((path) => path === name || path.startsWith(`${name}.`)),
  );
  return new Map(
    relations.map((relation) => [
      relation,
      nestedShown(relation, included(relation.target, below(paths, relation.name))),
    ]),
  );
}

const isNamed = (names: readonly string[], { name }: Relation): boolean =>
  names.some((path) => path === name || path.startsWith(`${name}.`));

function selected(shown: Shown, names: readonly string[]): Shown {
  const relations = [...shown.relations].filter(([relation]) => isNamed(names, relation));
  return {
    fields: shown.fields.filter(({ name }) => names.includes(name)),
    openKeys: false,
    relations: new Map(relations.map(([relation, view]) => [relation, selectedBelow(relation, view, names)])),
  };
}

/** A relation that is named itself shows all its fields; what is named behind it is selected all the same. */
function selectedBelow(relation: Relation, view: Shown, names: readonly string[]): Shown {
  const behind = below(names, relation.name);
  if (!names.includes(relation.name)) return selected(view, behind);
  const relations = [...view.relations].map(
    ([inner, shown]) => [inner, isNamed(behind, inner) ? selectedBelow(inner, shown, behind) : shown] as const,
  );
  return { ...view, relations: new Map(relations) };
}

const shownUnasked = ({ relations }: RecordType): readonly string[] =>
  [...relations.values()].filter(({ shown }) => shown).map(({ name }) => name);

/** What a request shows of a record; without parameters the relations that are shown unasked, one level deep. */
export function shownBy(type: RecordType, { include, fields, variant }: ViewRequest): Shown {
  const own = type.variants.get(variant ?? '') ?? type.defaultVariant;
  const relations = included(type, include ?? fields ?? shownUnasked(type));
  const shown = { fields: own.fields, openKeys: type.open, relations };
  return fields === undefined ? shown : selected(shown, fields);
}

const openKeys = (open: ReadonlyMap<string, JsonValue>): JsonObject => ({
  ...Object.fromEntries(open),
  ...(open.size > 1 ? { $keys: [...open.keys()] } : {}),
});

/** A record as an answer shows it, its new identifiers as variables. */
export function represent(world: World, type: RecordType, row: Row, shown: Shown): JsonObject {
  const { name, inRecord } = type.identifier;
  const fields = shown.fields.map((field) => [field.name, row.values.get(field) ?? null]);
  const relations = [...shown.relations].map(([relation, view]) => [
    relation.name,
    representRelated(world, relation, row, view),
  ]);
  return {
    ...(inRecord ? { [name]: idValue(row.id) } : {}),
    ...Object.fromEntries(fields),
    ...(shown.openKeys ? openKeys(row.open) : {}),
    ...Object.fromEntries(relations),
  };
}

function representRelated(world: World, relation: Relation, row: Row, view: Shown): JsonValue {
  const records = sorted(world, related(world, relation, row), relation.target.order);
  const bodies = records.map((record) => represent(world, relation.target, record, view));
  return relation.toMany ? bodies : (bodies[0] ?? null);
}

/** Null comes first. */
export function compareValues(field: Field, a: JsonValue, b: JsonValue): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return field.type.compare(a, b);
}

export const compareIds = (world: World, a: Id, b: Id): number => Math.sign(world.rank(a) - world.rank(b));

/** By the terms, then by identifier in the direction of the last of them. */
export function sorted(world: World, rows: readonly Row[], order: readonly OrderTerm[]): Row[] {
  const all = [...order, { field: undefined, descending: order.at(-1)?.descending ?? false }];
  return rows.toSorted((a, b) => {
    for (const { field, descending } of all) {
      const compared = field
        ? compareValues(field, a.values.get(field) ?? null, b.values.get(field) ?? null)
        : compareIds(world, a.id, b.id);
      if (compared !== 0) return descending ? -compared : compared;
    }
    return 0;
  });
}
