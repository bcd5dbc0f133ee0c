/** Random bodies that a type accepts, records nested in them to any depth, for property tests. */
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import fc from './fast-check.ts';

/** Numbers that make values differ: each is used once. */
let next = 1;

function value(field: Field, gen: fc.GeneratorValue): JsonValue {
  const kind = gen(fc.nat, { max: 9 });
  if (kind === 0 && field.nullable) return null;
  const edges = field.type.edges(field);
  if (kind < 3 && !field.unique && edges.length > 0) return gen(fc.constantFrom<JsonValue[]>, ...edges);
  return field.type.good(field, (next += 1));
}

/** The one key that no body may have. */
const withoutReserved = (json: JsonValue): JsonValue =>
  JSON.parse(JSON.stringify(json).replaceAll('"__proto__"', '"proto"')) as JsonValue;

/** The body of a link to a record that is there, or undefined where there is none. */
type Link = (relation: Relation) => JsonObject | undefined;

export function randomBody(
  type: RecordType,
  gen: fc.GeneratorValue,
  link: Link,
  depth = 2,
  parent?: Relation,
): JsonObject {
  const fields = (parent?.fields ?? type.defaultVariant.fields).filter((field) => !field.readOnly);
  const relations = [...type.relations.values()].filter((relation) => relation !== parent?.inverse);
  const chosen = fields.filter(({ required }) => required || gen(fc.boolean));
  const nested = relations.filter(({ required }) => required || (depth > 0 && gen(fc.boolean)));
  const openKeys =
    type.open && parent === undefined && gen(fc.boolean)
      ? { aKeyOfItsOwn: withoutReserved(gen(fc.jsonValue) as JsonValue) }
      : {};
  return {
    ...Object.fromEntries(chosen.map((field) => [field.name, value(field, gen)])),
    ...Object.fromEntries(nested.flatMap((relation) => related(relation, gen, link, depth))),
    ...openKeys,
  };
}

function related(
  relation: Relation,
  gen: fc.GeneratorValue,
  link: Link,
  depth: number,
): readonly (readonly [string, JsonValue])[] {
  if (relation.nested === 'link') {
    const linked = link(relation);
    return linked ? [[relation.name, relation.toMany ? [linked] : linked]] : [];
  }
  const one = (): JsonObject => randomBody(relation.target, gen, link, depth - 1, relation);
  if (!relation.toMany) return [[relation.name, !relation.required && gen(fc.nat, { max: 3 }) === 0 ? null : one()]];
  return [[relation.name, Array.from({ length: gen(fc.nat, { max: 3 }) }, one)]];
}
