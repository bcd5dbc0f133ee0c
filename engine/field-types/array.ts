/** A JSON array, stored as it was sent. */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { document } from './any.ts';
import {
  boundsFault,
  type FieldType,
  ITEMS,
  type ItemShape,
  numeric,
  type Shape,
  sizeOf,
  widens,
  withNull,
  withoutNull,
} from './field-type.ts';

const lengths = (shape: Shape) => ({
  minItems: numeric(shape, 'minItems', 0),
  maxItems: numeric(shape, 'maxItems', Infinity),
});

function expected(shape: Shape, item: ItemShape | undefined): string {
  const { minItems, maxItems } = shape.constraints;
  return `an array${sizeOf(minItems, maxItems, 'item')}${item ? `, each item ${item.type.expected(item)}${item.nullable ? ', or null' : ''}` : ''}`;
}

/** `others`: the types of items, besides arrays. */
export function arrayType(others: readonly FieldType[]): FieldType {
  const itemOf = ({ constraints }: Shape): ItemShape | undefined => {
    const words = constraints[ITEMS];
    if (!isObject(words)) return undefined;
    const { type: name, nullable = false, description = '', examples = [], ...rest } = words as JsonObject;
    const type = [...others, array].find((one) => one.name === name);
    return (
      type && {
        type,
        nullable: nullable === true,
        description: String(description),
        constraints: rest,
        examples: Array.isArray(examples) ? (examples as readonly JsonValue[]) : [],
      }
    );
  };

  const itemSchema = (item: ItemShape): JsonObject => (item.nullable ? withNull : withoutNull)(item.type.schema(item));

  const goodItems = (shape: Shape, length: number, seed: number): readonly JsonValue[] => {
    const item = itemOf(shape);
    return Array.from({ length }, (_, index) => (item ? item.type.good(item, seed + index) : seed + index));
  };

  const edgeItems = (shape: Shape): readonly JsonValue[] => {
    const item = itemOf(shape);
    if (item === undefined) return [{ b: 0, a: null }, 'é', 1.5, true, { b: 4, a: null }];
    return [...item.type.edges(item), ...(item.nullable ? [null] : [])];
  };

  const array: FieldType = {
    ...document,
    name: 'array',
    schema: (shape) => {
      const item = itemOf(shape);
      return { type: 'array', ...shape.constraints, [ITEMS]: item ? itemSchema(item) : {} };
    },
    item: itemOf,
    expected: (shape) => expected(shape, itemOf(shape)),
    faults: (shape) => boundsFault(shape, 'minItems', 'maxItems'),
    comparedTogether: {
      keywords: [ITEMS],
      widens: (before, after) => {
        const [old, now] = [itemOf(before), itemOf(after)];
        if (now === undefined || old === undefined) return now === undefined;
        return old.type === now.type && (now.nullable || !old.nullable) && widens(now.type, old, now);
      },
    },
    good: (shape, seed) => {
      const { minItems, maxItems } = lengths(shape);
      return goodItems(shape, Math.min(Math.max(1, minItems), maxItems), seed);
    },
    edges: (shape) => {
      const { minItems, maxItems } = lengths(shape);
      const edges = edgeItems(shape).slice(0, maxItems);
      return [goodItems(shape, minItems, 1), [...edges, ...goodItems(shape, Math.max(0, minItems - edges.length), 1)]];
    },
    bad: () => ['x', 0, true, {}],
  };
  return array;
}
