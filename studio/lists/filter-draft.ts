/** Filters while a person edits them. */
import type { OperatorName } from '../data/model.ts';
import { isNumber } from '../presentations/field-draft.ts';
import { isOpen } from '../presentations/numbers.ts';
import { CONTAINS, filterNodes, filterOperators, periodOf, readCondition } from '../presentations/filter.ts';
import { choicesOf, type FilterSubject } from './filter-terms.ts';
import type { FilterNode, GroupMode, Quantifier } from '../data/filter-tree.ts';

interface RowDraft {
  readonly key: number;
  readonly kind: 'row';
  /** The path of the subject; undefined while none is chosen. */
  readonly path: string | undefined;
  /** Undefined: the first one of the subject. Of a set: `$some`, or `$count.gte`. */
  readonly operator: string | undefined;
  readonly text: string;
  readonly items: readonly FilterDraft[];
}

interface GroupDraft {
  readonly key: number;
  readonly kind: 'group';
  readonly mode: GroupMode;
  readonly items: readonly FilterDraft[];
}

export type FilterDraft =
  | RowDraft
  | GroupDraft
  | { readonly key: number; readonly kind: 'kept'; readonly node: FilterNode };

let keys = 0;
const newKey = (): number => (keys += 1);

export const newRow = (): RowDraft => ({
  key: newKey(),
  kind: 'row',
  path: undefined,
  operator: undefined,
  text: '',
  items: [],
});
export const newGroup = (): GroupDraft => ({ key: newKey(), kind: 'group', mode: 'any', items: [newRow(), newRow()] });

export function draftOfNode(node: FilterNode): FilterDraft {
  const key = newKey();
  if (node.kind === 'other') return { key, kind: 'kept', node };
  if (node.kind === 'group') return { key, kind: 'group', mode: node.mode, items: node.items.map(draftOfNode) };
  const row = { ...newRow(), path: node.path };
  if (node.kind === 'set') return { ...row, operator: `$${node.quantifier}`, items: node.items.map(draftOfNode) };
  if (node.kind === 'count') return { ...row, operator: COUNT + node.operator, text: node.value };
  const { operator, value } = readCondition(node.operator, node.values.join('\n'));
  return { ...row, operator, text: value };
}

const COUNT = '$count.';
const SET_OPERATORS = ['$some', '$none', '$every', ...['gte', 'lte', 'eq', 'gt', 'lt', 'ne'].map((one) => COUNT + one)];

export const isCount = (operator: string): boolean => operator.startsWith(COUNT);
export const countOperator = (operator: string): OperatorName => operator.slice(COUNT.length) as OperatorName;
export const quantifierOf = (operator: string): Quantifier => operator.slice(1) as Quantifier;

export const operatorsOf = ({ operators, set, field }: FilterSubject): readonly string[] =>
  set === undefined ? filterOperators(field, operators) : SET_OPERATORS;

/** Texts are mostly known in part. */
export function operatorOf(subject: FilterSubject, chosen: string | undefined): string {
  const operators = operatorsOf(subject);
  if (chosen !== undefined && operators.includes(chosen)) return chosen;
  const isText = operators.includes(CONTAINS) && subject.field?.enum === undefined;
  return isText ? CONTAINS : (operators.find((one) => one !== CONTAINS) ?? 'eq');
}

export function valueOfRow(subject: FilterSubject, operator: string, text: string): string {
  const choices = choicesOf(subject, operator);
  return choices === undefined || choices.includes(text) ? text : (choices[0] ?? '');
}

/** A filter that is half typed, or has a number that could be two. */
export class OpenFilter extends Error {}

/** Rows without a subject are left out. Throws an OpenFilter. */
export function nodesOf(
  drafts: readonly FilterDraft[],
  subjects: readonly FilterSubject[],
  inside: (subject: FilterSubject) => readonly FilterSubject[],
): readonly FilterNode[] {
  return drafts.flatMap((draft): readonly FilterNode[] => {
    if (draft.kind === 'kept') return [draft.node];
    if (draft.kind === 'group')
      return [{ kind: 'group', mode: draft.mode, items: nodesOf(draft.items, subjects, inside) }];
    const { path, text, items } = draft;
    const subject = subjects.find((one) => one.path === path);
    if (path === undefined || subject === undefined) return [];
    const operator = operatorOf(subject, draft.operator);
    const isNumeric = subject.field === undefined || isNumber(subject.field);
    if (isNumeric && text.split('\n').some(isOpen)) throw new OpenFilter(path);
    if (isCount(operator)) return [{ kind: 'count', path, operator: countOperator(operator), value: text }];
    if (subject.set !== undefined)
      return [
        { kind: 'set', path, quantifier: quantifierOf(operator), items: nodesOf(items, inside(subject), inside) },
      ];
    const values =
      operator === 'in' ? text.split('\n').filter((line) => line !== '') : [valueOfRow(subject, operator, text)];
    const isText = subject.field?.type === 'string' && (operator === 'eq' || operator === 'ne');
    if (!isText && periodOf(operator) === undefined && values.every((value) => value.trim() === ''))
      throw new OpenFilter(path);
    return filterNodes(subject.field, path, operator, values);
  });
}
