/** Which figures and charts a type has: chosen by its fields and relations, as summaries of the interface. */
import { isValueObject, textOf, type Value } from '../data/json.ts';
import { type FieldInfo, identifierOf, isToMany, nameOf, type RelationInfo, type TypeInfo } from '../data/model.ts';
import { limited, textOfWhere, type Where } from '../data/where.ts';
import { condition, type FilterNode } from '../data/filter-tree.ts';
import { isSummable } from '../presentations/choose.ts';
import { currencyField } from '../presentations/numbers.ts';
import { monthDays, monthsBefore, storedTime } from '../presentations/times.ts';

/** The field to add up; `undefined` counts records. */
export type Measure = FieldInfo | undefined;

export const measureName = (measure: Measure): string => (measure === undefined ? 'count' : `sum(${measure.name})`);

/** A field or a relation whose values are counted. */
export interface Division {
  readonly path: string;
  readonly title: string;
  readonly field?: FieldInfo;
  readonly relation?: RelationInfo;
}

/** One value of a division, or a month. */
export interface Slice {
  /** The value of the filter; null: records without a value. */
  readonly value: string | null;
  readonly name: string;
  readonly count: number;
  /** The figure of the measure, with each of its digits. */
  readonly figure: string;
}

export const MOST_CARDS = 4;
const MOST_SLICES = 6;
const MOST_MONTHS = 24;

const SUMMED: ReadonlySet<string> = new Set(['decimal', 'integer']);

const seen = ({ fields, variants }: TypeInfo, variant?: string): readonly FieldInfo[] => {
  const hidden = new Set(variants?.omit[variant ?? variants.default]);
  return fields.filter(
    ({ name, sensitive, operators }) => sensitive !== true && operators.length > 0 && !hidden.has(name),
  );
};

/** Amounts first. */
export const amountsOf = (type: TypeInfo): readonly FieldInfo[] =>
  seen(type)
    .filter((field) => SUMMED.has(field.type) && isSummable(field) && field.enum === undefined && field.unique !== true)
    .toSorted((one, other) => rankOf(one) - rankOf(other));

/** The summary that tells whether the records found have one currency; undefined if no amount asks for it. */
export function currenciesTarget(type: TypeInfo, where: Where): string | undefined {
  const names = [...new Set(amountsOf(type).flatMap((amount) => currencyField(amount) ?? []))];
  const [first] = names;
  return first === undefined ? undefined : summaryTarget(type, names.join(','), undefined, where, [first, 'asc'], 2);
}

/** The amounts that make a sum: of several currencies there is none. `groups`: of `currenciesTarget`. */
export function summable(type: TypeInfo, groups: readonly Value[]): readonly FieldInfo[] {
  const [only] = groups.length === 1 ? groups : [];
  const by = isValueObject(only) && isValueObject(only['by']) ? only['by'] : undefined;
  return amountsOf(type).flatMap((amount) => {
    const name = currencyField(amount);
    if (name === undefined) return amount;
    return by === undefined ? [] : { ...amount, shows: { money: textOf(by[name]).toUpperCase() } };
  });
}

/** Money first, then other amounts. */
const rankOf = ({ shows, type }: FieldInfo): number => (typeof shows === 'object' ? 0 : type === 'decimal' ? 1 : 2);

/** When a record happened; not when it was last changed. */
export const monthField = (type: TypeInfo): FieldInfo | undefined =>
  seen(type).find(
    ({ type: name, generated }) => (name === 'timestamp' || name === 'date') && generated !== 'updatedAt',
  );

/** Amounts of what happened, such as orders, are added up; things, such as products, are counted. */
export function firstMeasure(type: TypeInfo, amounts = amountsOf(type)): Measure {
  const decimals = amountsOf(type).filter((field) => field.type === 'decimal');
  // Of several decimals nobody knows which one is meant, unless one is money.
  const amount =
    amounts.find(({ shows }) => typeof shows === 'object') ??
    (decimals.length === 1 ? amounts.find(({ name }) => name === decimals[0]?.name) : undefined);
  return monthField(type) === undefined ? undefined : amount;
}

export function divisionsOf(type: TypeInfo, variant?: string): readonly Division[] {
  const fields = seen(type, variant).map((field) => ({ path: field.name, title: field.title, field }));
  const states = fields.filter(({ field }) => field.enum !== undefined && field.type !== 'array');
  const flags = fields.filter(({ field }) => field.type === 'boolean');
  const related = type.relations
    .filter((relation) => !isToMany(relation) && relation.kind === 'belongsTo' && relation.operators.includes('eq'))
    .map((relation) => ({ path: relation.name, title: relation.title, relation }));
  return [...states.slice(0, 1), ...related, ...states.slice(1), ...flags];
}

/** How many divisions stand on the first line; the chart of months is as wide as two. */
export const cardsOf = (type: TypeInfo): number => MOST_CARDS - (monthField(type) === undefined ? 0 : 2);

/** In pixels: kept free while the charts are loaded, so that nothing moves. */
export function chartsHeight(type: TypeInfo, variant?: string): number {
  const isEmpty = monthField(type) === undefined && divisionsOf(type, variant).length === 0;
  return isEmpty ? 0 : amountsOf(type).length > 0 ? 248 : 212;
}

export function divisionTarget(type: TypeInfo, { path, relation }: Division, measure: Measure, where: Where): string {
  const order = relation === undefined ? path : measureName(measure);
  return summaryTarget(type, path, measure, where, [order, relation === undefined ? 'asc' : 'desc'], MOST_SLICES);
}

/** Months of points in time are those of the reader. */
export const monthsTarget = (
  type: TypeInfo,
  { name, type: kind }: FieldInfo,
  measure: Measure,
  where: Where,
  zone: string,
): string =>
  summaryTarget(
    type,
    `month(${name})`,
    measure,
    kind === 'timestamp' ? [['zone', zone], ...where] : where,
    [`month(${name})`, 'desc'],
    MOST_MONTHS,
  );

function summaryTarget(
  { path }: TypeInfo,
  by: string,
  measure: Measure,
  where: Where,
  order: readonly [string, string],
  most: number,
): string {
  const measures = measure === undefined ? 'count' : `count,${measureName(measure)}`;
  const query = textOfWhere([
    ['by', by],
    ['measure', measures],
    ...where,
    ...order.map((word) => ['_cnd[orderBy]', word] as const),
    ...limited(most),
  ]);
  return `${path}/$summary?${query}`;
}

/** A group of a summary: what it is of, and its measures. */
function readGroup(
  group: Value,
  measure: Measure,
): { readonly by: Value; readonly count: number; readonly figure: string } {
  const { by = null, measures = null } = isValueObject(group) ? group : {};
  const [first = null] = isValueObject(by) ? Object.values(by) : [];
  const figures = isValueObject(measures) ? measures : {};
  const figure = figures[measureName(measure)];
  // Of no value at all there is no sum.
  return { by: first, count: Number(textOf(figures['count'])), figure: textOf(figure) || '0' };
}

interface Words {
  readonly nothing: string;
  readonly yes: string;
  readonly no: string;
}

export function slicesOf(
  division: Division,
  target: TypeInfo | undefined,
  groups: readonly Value[],
  measure: Measure,
  words: Words,
): readonly Slice[] {
  const { field, relation } = division;
  const read = groups.map((group): Slice => {
    const { by, count, figure } = readGroup(group, measure);
    if (by === null) return { value: null, name: words.nothing, count, figure };
    if (target !== undefined && isValueObject(by))
      return { value: identifierOf(target, by), name: nameOf(target, by, relation?.label), count, figure };
    const text = textOf(by);
    const name = typeof by === 'boolean' ? (by ? words.yes : words.no) : (field?.titles?.[text] ?? text);
    return { value: text, name, count, figure };
  });
  // States stand in the order of the descriptor.
  const order = field?.enum;
  return order === undefined
    ? read
    : read.toSorted((one, other) => order.indexOf(one.value ?? '') - order.indexOf(other.value ?? ''));
}

/** From the first month to the last one, those without records as well. */
export function monthSlices(
  groups: readonly Value[],
  measure: Measure,
  nameOfMonth: (month: string) => string,
): readonly Slice[] {
  const read = new Map<string, Slice>();
  for (const group of groups) {
    const { by, count, figure } = readGroup(group, measure);
    const month = textOf(by);
    if (month !== '') read.set(month, { value: month, name: nameOfMonth(month), count, figure });
  }
  const [last] = read.keys();
  const first = [...read.keys()].at(-1);
  if (last === undefined || first === undefined) return [];
  const months = monthsBefore(last, MOST_MONTHS).filter((month) => month >= first);
  return months.map((month) => read.get(month) ?? { value: month, name: nameOfMonth(month), count: 0, figure: '0' });
}

const isSame = (one: FilterNode, other: FilterNode): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Whether a list is filtered by exactly these conditions. */
export const isFiltered = (nodes: readonly FilterNode[], wanted: readonly FilterNode[]): boolean =>
  wanted.every((node) => nodes.some((one) => isSame(one, node)));

/** The same click again takes the filter away; another one of the same division takes its place. */
export function toggled(nodes: readonly FilterNode[], wanted: readonly FilterNode[]): readonly FilterNode[] {
  const isOn = isFiltered(nodes, wanted);
  const isReplaced = (node: FilterNode): boolean =>
    wanted.some(
      (one) =>
        one.kind === 'condition' &&
        node.kind === 'condition' &&
        node.path === one.path &&
        (node.operator === one.operator || [node.operator, one.operator].includes('null')),
    );
  const rest = nodes.filter((node) => !isReplaced(node));
  return isOn ? rest : [...rest, ...wanted];
}

export const sliceFilter = ({ path }: Division, { value }: Slice): readonly FilterNode[] => [
  value === null ? condition(path, 'null', 'true') : condition(path, 'eq', value),
];

export function monthFilter({ name, type }: FieldInfo, month: string): readonly FilterNode[] {
  const { from, to } = monthDays(month);
  const limit = (day: string): string => (type === 'timestamp' ? storedTime(day) : day);
  return [condition(name, 'gte', limit(from)), condition(name, 'lt', limit(to))];
}
