/** A JSON array, stored as it was sent. */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { any, document, RAW_TEXTS } from './any.ts';
import { boolean } from './boolean.ts';
import { date } from './date.ts';
import { decimal } from './decimal.ts';
import {
  boundsFault,
  type FieldType,
  ITEMS,
  type ItemShape,
  numeric,
  pick,
  type Shape,
  withNull,
  withoutNull,
} from './field-type.ts';
import { integer } from './integer.ts';
import { number } from './number.ts';
import { string } from './string.ts';
import { timestamp } from './timestamp.ts';
import { widens } from './widens.ts';

const others = [string, integer, number, boolean, decimal, date, timestamp, any];

const lengths = (shape: Shape) => ({
  minItems: numeric(shape, 'minItems', 0),
  maxItems: numeric(shape, 'maxItems', Infinity),
});

/** undefined without `items`, and in a faulty descriptor. */
function itemOf({ constraints }: Shape): ItemShape | undefined {
  const words = constraints[ITEMS];
  if (!isObject(words)) return undefined;
  const { type: name, nullable = false, description = '', examples = [], ...rest } = words as JsonObject;
  const type = name === array.name ? array : others.find((one) => one.name === name);
  return (
    type && {
      type,
      nullable: nullable === true,
      description: String(description),
      constraints: rest,
      examples: Array.isArray(examples) ? (examples as readonly JsonValue[]) : [],
    }
  );
}

function itemSchema(item: ItemShape | undefined): JsonObject {
  if (item === undefined) return {};
  const schema = item.type.schema(item);
  return item.nullable ? withNull(schema) : withoutNull(schema);
}

function expected(shape: Shape): string {
  const { minItems, maxItems } = shape.constraints;
  const item = itemOf(shape);
  const bounds = [
    ...(minItems === undefined ? [] : [`at least ${String(minItems)}`]),
    ...(maxItems === undefined ? [] : [`at most ${String(maxItems)}`]),
  ];
  const size =
    bounds.length === 0 ? '' : ` of ${bounds.join(' and ')} ${(maxItems ?? minItems) === 1 ? 'item' : 'items'}`;
  const each = item ? `, each item ${item.type.expected(item)}${item.nullable ? ', or null' : ''}` : '';
  return `an array${size}${each}`;
}

/** Accepted items. */
function goodItems(shape: Shape, length: number, seed: number): readonly JsonValue[] {
  const item = itemOf(shape);
  return Array.from({ length }, (_, index) => (item ? item.type.good(item, seed + index) : seed + index));
}

/** Items at the limits of their constraints. */
function edgeItems(shape: Shape): readonly JsonValue[] {
  const item = itemOf(shape);
  if (item === undefined) return [{ b: 0, a: null }, 'é', 1.5, true, { b: 4, a: null }];
  return [...item.type.edges(item), ...(item.nullable ? [null] : [])];
}

export const array: FieldType = {
  ...document,
  name: 'array',
  schema: (shape) => ({ type: 'array', ...shape.constraints, [ITEMS]: itemSchema(itemOf(shape)) }),
  item: itemOf,
  expected,
  faults: (shape) => boundsFault(shape, 'minItems', 'maxItems'),
  together: {
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
  texts: (shape) => {
    if (itemOf(shape) !== undefined) return [];
    const { minItems, maxItems } = lengths(shape);
    const length = Math.min(maxItems, Math.max(3, minItems));
    return [`[${Array.from({ length }, (_, index) => pick(RAW_TEXTS, index)).join(',')}]`];
  },
  bad: (shape) => {
    const { minItems, maxItems } = lengths(shape);
    return [
      'x',
      0,
      true,
      {},
      ...(minItems > 0 ? [goodItems(shape, minItems - 1, 1)] : []),
      ...(Number.isFinite(maxItems) ? [goodItems(shape, maxItems + 1, 1)] : []),
    ];
  },
};
