/** Bodies that fit their type but for a place or two: they get past the first checks, into the database. */
import type { JsonValue } from '../../engine/json.ts';
import type { Field, Model, RecordType, Relation } from '../../engine/model/model.ts';
import { type Draw, drawFrom } from '../oracle/random-operations.ts';
import fc from './fast-check.ts';

const MAX_DEPTH = 3;
const IDENTIFIERS = 12;

interface Drawing {
  readonly draw: Draw;
  readonly nasty: readonly unknown[];
}

/** One value in sixty is nasty: a body has about one. */
const isNasty = ({ draw }: Drawing): boolean => draw(60) === 59;

function fieldValue(drawing: Drawing, field: Field): unknown {
  const { draw, nasty } = drawing;
  if (isNasty(drawing)) return nasty[draw(nasty.length)];
  const edges = field.type.edges(field);
  return draw(3) === 2 ? edges[draw(Math.max(1, edges.length))] : field.type.good(field, draw(100));
}

function relatedValue(drawing: Drawing, relation: Relation, depth: number): unknown {
  const { draw } = drawing;
  const id = { [relation.target.identifier.name]: 1 + draw(IDENTIFIERS) };
  if (isNasty(drawing)) return drawing.nasty[draw(drawing.nasty.length)];
  const choice = draw(4);
  if (choice === 0) return id;
  const nested = bodyOf(drawing, relation.target, depth + 1);
  return choice === 1 ? { ...nested, ...id } : nested;
}

function relationValue(drawing: Drawing, relation: Relation, depth: number): unknown {
  const { draw } = drawing;
  if (!relation.toMany) return draw(4) === 3 ? null : relatedValue(drawing, relation, depth);
  return Array.from({ length: draw(4) }, () => relatedValue(drawing, relation, depth));
}

function bodyOf(drawing: Drawing, type: RecordType, depth: number): Record<string, unknown> {
  const { draw } = drawing;
  const fields = [...type.fields.values()].filter((field) => field.required || draw(3) > 0);
  const relations = depth < MAX_DEPTH ? [...type.relations.values()].filter(() => draw(3) === 0) : [];
  return {
    ...Object.fromEntries(fields.map((field) => [field.name, fieldValue(drawing, field)])),
    ...Object.fromEntries(relations.map((relation) => [relation.name, relationValue(drawing, relation, depth)])),
  };
}

/** A type with a body for it. */
export const nearlyValid = (
  model: Model,
  nasty: readonly unknown[],
): fc.Arbitrary<{ readonly type: RecordType; readonly body: JsonValue }> => {
  const types = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  return fc
    .tuple(fc.constantFrom(...types), fc.array(fc.nat(10_000), { minLength: 30, maxLength: 150 }))
    .map(([type, choices]) => ({ type, body: bodyOf({ draw: drawFrom(choices), nasty }, type, 0) as JsonValue }));
};
