/** Random views and lists of whatever type there is, drawn from a stream of numbers. */
import type { JsonValue } from '../../engine/json.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import type { FilterRequest, ListRequest, SummaryRequest, ViewRequest } from '../../engine/suite/reads.ts';
import { rowsOf, type World } from '../../engine/suite/world.ts';
import type { Draw } from './random-operations.ts';

const MAX_DEPTH = 4;

/** A path of relations, as long as the numbers want it. */
function drawPath(draw: Draw, type: RecordType, depth = 1): string | undefined {
  const relations = [...type.relations.values()];
  const relation = relations[draw(Math.max(1, relations.length))];
  if (relation === undefined) return undefined;
  const rest = depth < MAX_DEPTH && draw(2) === 1 ? drawPath(draw, relation.target, depth + 1) : undefined;
  return rest === undefined ? relation.name : `${relation.name}.${rest}`;
}

/** The default view, some relations, or some fields. */
export function drawView(draw: Draw, type: RecordType): ViewRequest {
  const choice = draw(3);
  const paths = Array.from({ length: draw(3) }, () => drawPath(draw, type)).filter((path) => path !== undefined);
  if (choice === 0) return {};
  if (choice === 1) return { include: [...new Set(paths)] };
  const names = [...type.fields.keys()].filter(() => draw(2) === 1);
  const fields = [...new Set([...names, ...paths])];
  return fields.length === 0 ? { include: [] } : { fields };
}

/** A field of the type, or one behind a to-one relation. */
function drawField(
  draw: Draw,
  type: RecordType,
  isWanted: (field: Field) => boolean = () => true,
): readonly [path: string, field: Field] | undefined {
  const toOne = (relation: Relation): boolean => !relation.toMany;
  const relations = [...type.relations.values()].filter(toOne);
  const through = draw(3) === 2 ? relations[draw(Math.max(1, relations.length))] : undefined;
  const fields = [...(through?.target ?? type).fields.values()].filter(
    (field) => field.type.operators.length > 0 && isWanted(field),
  );
  const field = fields[draw(Math.max(1, fields.length))];
  return field && [through === undefined ? field.name : `${through.name}.${field.name}`, field];
}

/** A value that some record may have, or its neighbour. */
function drawOperand(draw: Draw, field: Field): JsonValue {
  const edges = field.type.edges(field).filter((value) => JSON.stringify(value).length < 60);
  const value = (draw(3) === 2 ? edges[draw(Math.max(1, edges.length))] : undefined) ?? field.type.good(field, draw(8));
  return typeof value === 'string' && field.caseless && draw(2) === 1 ? value.toUpperCase() : value;
}

function drawFilter(draw: Draw, type: RecordType): FilterRequest[] {
  const [path, field] = drawField(draw, type) ?? [];
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

/** What the service fills in is only known to be there. */
const isGiven = ({ generated, isNowByDefault }: Field): boolean => !generated && !isNowByDefault;

/** Some keys and measures of a type, in any order. */
export function drawSummary(
  draw: Draw,
  type: RecordType,
): { readonly list: ListRequest; readonly summary: SummaryRequest } {
  const toOne = [...type.relations.values()].filter(({ toMany }) => !toMany).map(({ name }) => name);
  const keys = Array.from({ length: draw(3) }, (): string[] => {
    const [path, field] = drawField(draw, type, isGiven) ?? [];
    if (draw(4) === 3) return toOne.slice(draw(Math.max(1, toOne.length))).slice(0, 1);
    const period =
      draw(2) === 1 && field?.type.columns.sqlite.periods ? (['day', 'month'] as const)[draw(2)] : undefined;
    return path === undefined ? [] : [period === undefined ? path : `${period}(${path})`];
  });
  const measures = Array.from({ length: 1 + draw(3) }, (): string => {
    const [path, field] = drawField(draw, type, isGiven) ?? [];
    const words = ['count', ...(field?.type.operators.includes('lt') ? ['min', 'max'] : [])];
    if (field?.type.columns.sqlite.aggregates?.sum) words.push('sum', 'sum');
    return path === undefined || draw(4) === 3 ? 'count' : `${words[draw(words.length)] ?? 'count'}(${path})`;
  });
  const summary = { by: [...new Set(keys.flat())], measure: [...new Set(measures)] };
  const names = [...summary.by, ...summary.measure];
  const path = names[draw(names.length)];
  const order = path === undefined || draw(2) === 1 ? {} : { order: [{ path, descending: draw(2) === 1 }] };
  const filters = draw(2) === 1 ? drawFilter(draw, type) : [];
  const page = draw(3) === 0 ? { offset: draw(3), limit: draw(4) } : {};
  return { list: { filters, ...order, ...page }, summary };
}

export function drawList(
  world: World,
  draw: Draw,
  type: RecordType,
): { readonly list: ListRequest; readonly view: ViewRequest } {
  const filters = draw(2) === 1 ? drawFilter(draw, type) : [];
  const [path = type.identifier.name] = drawField(draw, type) ?? [];
  const order = draw(3) === 0 ? undefined : [{ path, descending: draw(2) === 1 }];
  const page = draw(3) === 0 ? {} : { offset: draw(3), limit: draw(1 + Math.min(6, rowsOf(world, type).size)) };
  return { list: { filters, ...(order ? { order } : {}), ...page }, view: drawView(draw, type) };
}
