/** Filters as people read them: what they can be about, and their words. */
import {
  type FieldInfo,
  isToMany,
  type OperatorName,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';
import type { Say } from '../texts/texts.ts';
import type { FilterNode } from './filter-tree.ts';

/** What a filter can be about: a field, the identifier or a relation, also of related records. */
export interface FilterSubject {
  /** As the interface writes it: `author.name`. */
  readonly path: string;
  readonly title: string;
  readonly operators: readonly OperatorName[];
  /** Undefined: its values are identifiers. */
  readonly field: FieldInfo | undefined;
  /** The type of the records of a set, which conditions are about. */
  readonly set?: TypeInfo;
}

export interface FilterTerm {
  readonly subject: FilterSubject | undefined;
  readonly operator: OperatorName;
}

/** Relations one after the other. */
const MAX_DEPTH = 2;
const ARROW = ' › ';

export function subjectsOf(model: StudioModel, type: TypeInfo, depth = 0): readonly FilterSubject[] {
  const { identifier, fields, relations } = type;
  const own: readonly FilterSubject[] = [
    { path: identifier.name, title: identifier.title, operators: identifier.operators, field: undefined },
    ...fields.map((field) => ({ path: field.name, title: field.title, operators: field.operators, field })),
  ];
  const related = depth === MAX_DEPTH ? [] : relations.flatMap((relation) => through(model, relation, depth));
  return [...own, ...related].filter(({ operators, set }) => operators.length > 0 || set !== undefined);
}

function through(model: StudioModel, relation: RelationInfo, depth: number): readonly FilterSubject[] {
  const { name, title, operators } = relation;
  const target = typeNamed(model, relation.type);
  const self = { path: name, title, operators, field: undefined };
  const inside = subjectsOf(model, target, depth + 1)
    .filter(({ set }) => set === undefined)
    .map((subject) => ({
      ...subject,
      path: `${name}.${subject.path}`,
      title: title + ARROW + subject.title,
    }));
  return [isToMany(relation) ? { ...self, set: target } : self, ...inside];
}

/** The conditions that are not within groups. */
export const termsOf = (nodes: readonly FilterNode[], subjects: readonly FilterSubject[]): readonly FilterTerm[] =>
  nodes.flatMap((node) => {
    if (node.kind !== 'condition') return [];
    const subject = subjects.find(({ path }) => path === node.path);
    const operator = subject?.operators.find((one) => one === node.operator);
    return operator === undefined ? [] : [{ subject, operator }];
  });

export const FLAGS = ['true', 'false'];

/** Undefined: any text can be a value. */
export function choicesOf({ field }: FilterSubject, operator: string): readonly string[] | undefined {
  if (operator === 'null') return FLAGS;
  if (operator === 'in' || operator === 'like') return undefined;
  return field?.type === 'boolean' ? FLAGS : field?.enum;
}

export function textOfChoice(say: Say, { field }: FilterSubject, operator: string, choice: string): string {
  if (operator === 'null' || field?.type === 'boolean') return say(choice === 'true' ? 'value.yes' : 'value.no');
  return field?.titles?.[choice] ?? choice;
}

interface Words {
  readonly say: Say;
  readonly model: StudioModel;
  readonly type: TypeInfo;
}

/** A filter in words. */
export function textOfNode(words: Words, node: FilterNode): string {
  const { say, model, type } = words;
  if (node.kind === 'other') return node.parameters.map((pair) => pair.join('=')).join(', ');
  if (node.kind === 'group') return `${say(`group.${node.mode}`)} (${textOfNodes(words, node.items)})`;
  const subject = subjectsOf(model, type).find(({ path }) => path === node.path);
  const title = subject?.title ?? node.path;
  if (node.kind === 'count')
    return `${say('filter.number_of', { title })} ${operatorText(say, node.operator)} “${node.value}”`;
  if (node.kind === 'set')
    return `${title}: ${say(`set.${node.quantifier}`)} (${textOfNodes({ say, model, type: subject?.set ?? type }, node.items)})`;
  const values = node.values.map((value) => {
    const isChoice = subject !== undefined && (choicesOf(subject, node.operator)?.includes(value) ?? false);
    return isChoice ? textOfChoice(say, subject, node.operator, value) : `“${value}”`;
  });
  return `${title} ${operatorText(say, node.operator)} ${values.join(', ')}`;
}

const textOfNodes = (words: Words, nodes: readonly FilterNode[]): string =>
  nodes.map((node) => textOfNode(words, node)).join('; ');

const OPERATORS: ReadonlySet<string> = new Set(['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'like', 'null']);
export const operatorText = (say: Say, operator: string): string =>
  OPERATORS.has(operator) ? say(`operator.${operator as OperatorName}`) : operator;
