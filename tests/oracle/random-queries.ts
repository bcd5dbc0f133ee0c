/** Random views and lists of whatever type there is, drawn from a stream of numbers. */
import type { JsonValue } from '../../engine/json/json.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import type { ConditionRequest, FilterRequest, ListRequest, ViewRequest } from './reads.ts';
import { missingId } from './call.ts';
import { type Id, rowsOf, type World } from './world.ts';
import type { Draw } from './random-operations.ts';
import { COMPARING, pick } from '../../engine/field-types/field-type.ts';

const MAX_DEPTH = 4;

/** A path of relations, as long as the numbers want it. */
function drawPath(draw: Draw, type: RecordType, depth = 1): string | undefined {
  const relations = [...type.relations.values()];
  const relation = relations[draw(Math.max(1, relations.length))];
  if (relation === undefined) return undefined;
  const rest = depth < MAX_DEPTH && draw(2) === 1 ? drawPath(draw, relation.target, depth + 1) : undefined;
  return rest === undefined ? relation.name : `${relation.name}.${rest}`;
}

export function drawView(draw: Draw, type: RecordType): ViewRequest {
  const choice = draw(3);
  const paths = Array.from({ length: draw(3) }, () => drawPath(draw, type)).filter((path) => path !== undefined);
  if (choice === 0) return {};
  if (choice === 1) return { include: [...new Set(paths)] };
  const names = [...type.fields.keys()].filter(() => draw(2) === 1);
  const fields = [...new Set([...names, ...paths])];
  return fields.length === 0 ? { include: [] } : { fields };
}

/** A field of the type, or one behind a relation: to one, unless sets will do. */
function drawField(
  draw: Draw,
  type: RecordType,
  isWanted: (field: Field) => boolean = () => true,
  isReached: (relation: Relation) => boolean = ({ toMany }) => !toMany,
): readonly [path: string, field: Field] | undefined {
  const relations = [...type.relations.values()].filter(isReached);
  const through = draw(3) === 2 ? relations[draw(Math.max(1, relations.length))] : undefined;
  const fields = [...(through?.target ?? type).fields.values()].filter(
    (field) => field.type.operators.length > 0 && isWanted(field),
  );
  const field = fields[draw(Math.max(1, fields.length))];
  return field && [through === undefined ? field.name : `${through.name}.${field.name}`, field];
}

function drawOperand(draw: Draw, field: Field): JsonValue {
  const edges = field.type.edges(field).filter((value) => JSON.stringify(value).length < 60);
  const value = (draw(3) === 2 ? edges[draw(Math.max(1, edges.length))] : undefined) ?? field.type.good(field, draw(8));
  return typeof value === 'string' && field.caseless && draw(2) === 1 ? value.toUpperCase() : value;
}

/** By the identifier of the record itself, or of the one that a relation to one leads to. */
function drawIdentifiers({ world, draw, left }: Drawing, type: RecordType): FilterRequest {
  const toOne = [...type.relations.values()].filter(({ toMany }) => !toMany && left > 0);
  const relation = toOne[draw(toOne.length + 1)];
  const target = relation?.target ?? type;
  const inner = draw(2) === 1 || !relation ? target.identifier.name : undefined;
  const path = [...(relation ? [relation.name] : []), ...(inner === undefined ? [] : [inner])].join('.');
  if (draw(6) === 5) return { path, operator: 'null', value: draw(2) === 1 };
  const ids = [...rowsOf(world, target).keys()];
  const some = (): Id => ids[draw(ids.length + 1)] ?? missingId(target);
  const operator = pick(COMPARING, draw(99));
  if (operator === 'null') return { path, operator: 'eq', ids: [some()] };
  return { path, operator, ids: operator === 'in' ? [some(), some()] : [some()] };
}

function drawFilter(drawing: Drawing, type: RecordType): FilterRequest[] {
  const { draw, left } = drawing;
  if (draw(5) === 4) return [drawIdentifiers(drawing, type)];
  const [path, field] = drawField(draw, type, undefined, () => left > 0) ?? [];
  const operator = field?.type.operators[draw(field.type.operators.length)];
  if (path === undefined || field === undefined || operator === undefined) return [];
  if (operator === 'null') return [{ path, operator, value: draw(2) === 1 }];
  if (operator === 'in') return [{ path, operator, value: [drawOperand(draw, field), drawOperand(draw, field)] }];
  const operand = drawOperand(draw, field);
  return [
    {
      path,
      operator,
      value: operator === 'like' ? `${[...String(operand)].slice(0, 1 + draw(5)).join('')}*` : operand,
    },
  ];
}

/** What stands in the query string before anything that two conditions can differ in. */
function keyOf(condition: ConditionRequest): string {
  if ('group' in condition) return condition.group;
  if ('operator' in condition) return `${condition.path} ${condition.operator}`;
  return `${condition.path} ${'counted' in condition ? condition.counted : condition.quantifier}`;
}

/** Each of its own kind: the same key twice is refused, or is one condition. */
const distinct = (all: readonly ConditionRequest[]): readonly ConditionRequest[] => [
  ...new Map(all.map((one) => [keyOf(one), one])).values(),
];

interface Drawing {
  readonly world: World;
  readonly draw: Draw;
  /** How many groups may still be nested, and how many relations followed. */
  readonly groups: number;
  readonly left: number;
}

const GROUPS = ['$any', '$all', '$none'] as const;
const QUANTIFIERS = ['$some', '$none', '$every'] as const;

/** A filter, a group, or what is asked of a set. */
function drawCondition(drawing: Drawing, type: RecordType): readonly ConditionRequest[] {
  const { draw, groups } = drawing;
  const choice = draw(9);
  if (choice > 6 && groups > 0) {
    const inside = { ...drawing, groups: groups - 1 };
    const items = Array.from({ length: 1 + draw(3) }, () => conditionsIn(inside, type));
    const known = items.filter((item) => item.length > 0);
    return known.length === 0 ? [] : [{ group: pick(GROUPS, draw(3)), items: known }];
  }
  const set = choice > 3 ? drawSet(drawing, type) : undefined;
  if (set === undefined) return drawFilter(drawing, type);
  const { path, target, left } = set;
  if (choice === 4) {
    const counted = pick(COMPARING, draw(99));
    if (counted === 'in') return [{ path, counted, value: [draw(3), draw(3)] }];
    return [{ path, counted: counted === 'null' ? 'gt' : counted, value: draw(4) }];
  }
  const conditions = conditionsIn({ ...drawing, left }, target);
  return conditions.length === 0 ? [] : [{ path, quantifier: pick(QUANTIFIERS, draw(3)), conditions }];
}

interface DrawnSet {
  readonly path: string;
  readonly target: RecordType;
  readonly left: number;
}

function drawSet({ draw, left }: Drawing, type: RecordType): DrawnSet | undefined {
  const toOne = [...type.relations.values()].filter(({ toMany }) => !toMany && left > 1);
  const through = draw(4) === 3 ? toOne[draw(Math.max(1, toOne.length))] : undefined;
  const sets = [...(through?.target ?? type).relations.values()].filter(({ toMany }) => toMany && left > 0);
  const set = sets[draw(Math.max(1, sets.length))];
  if (set === undefined) return undefined;
  const { name, target } = set;
  return through === undefined
    ? { path: name, target, left: left - 1 }
    : { path: `${through.name}.${name}`, target, left: left - 2 };
}

const conditionsIn = (drawing: Drawing, type: RecordType): readonly ConditionRequest[] =>
  distinct(Array.from({ length: 1 + drawing.draw(2) }, () => drawCondition(drawing, type)).flat());

export const drawConditions = (world: World, draw: Draw, type: RecordType): readonly ConditionRequest[] =>
  conditionsIn({ world, draw, groups: 3, left: MAX_DEPTH }, type);

export function drawList(
  world: World,
  draw: Draw,
  type: RecordType,
): { readonly list: ListRequest; readonly view: ViewRequest } {
  const filters = draw(2) === 1 ? drawConditions(world, draw, type) : [];
  const [path = type.identifier.name] = drawField(draw, type) ?? [];
  const order = draw(3) === 0 ? undefined : [{ path, descending: draw(2) === 1 }];
  const page = draw(3) === 0 ? {} : { offset: draw(3), limit: draw(1 + Math.min(6, rowsOf(world, type).size)) };
  return { list: { filters, ...(order ? { order } : {}), ...page }, view: drawView(draw, type) };
}
