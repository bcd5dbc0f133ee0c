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
import type { Named } from '../fields/names.ts';
import { CONTAINS, filterChoices, filterText, readCondition } from '../presentations/filter.ts';
import { pageLanguage } from '../presentations/plain.ts';
import { monthBetween, monthText } from '../presentations/times.ts';
import type { Say } from '../texts/texts.ts';
import type { FilterNode } from '../data/filter-tree.ts';

/** The subject of a filter: a field, the identifier or a relation, also of related records. */
export interface FilterSubject {
  /** The path as the interface writes it: `author.name`. */
  readonly path: string;
  readonly title: string;
  readonly operators: readonly OperatorName[];
  /** Undefined: its values are identifiers. */
  readonly field: FieldInfo | undefined;
  /** The relation whose records are meant, where its values are their identifiers. */
  readonly relation?: RelationInfo;
  /** The type of the records of a set, which conditions are about. */
  readonly set?: TypeInfo;
}

/** Relations one after the other. */
const MAX_DEPTH = 2;
const ARROW = ' › ';

/** Numbers are typed without a field. */
const fieldOfIdentifier = ({ identifier }: TypeInfo): FieldInfo | undefined =>
  identifier.type === 'integer' ? undefined : { ...identifier, type: 'string' };

export function subjectsOf(model: StudioModel, type: TypeInfo, depth = 0): readonly FilterSubject[] {
  const { identifier, fields, relations } = type;
  const own: readonly FilterSubject[] = [
    { path: identifier.name, title: identifier.title, operators: identifier.operators, field: fieldOfIdentifier(type) },
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
  return [isToMany(relation) ? { ...self, set: target } : { ...self, relation }, ...inside];
}

const CHOSEN: ReadonlySet<string> = new Set(['eq', 'ne', 'in']);
/** Whose records are chosen by their names; undefined: a value is typed. */
export const chosenFrom = ({ relation }: FilterSubject, operator: string): RelationInfo | undefined =>
  CHOSEN.has(operator) ? relation : undefined;

/** Undefined: any text can be a value. */
export const choicesOf = ({ field }: FilterSubject, operator: string): readonly string[] | undefined =>
  filterChoices(field, operator);

interface Words {
  readonly say: Say;
  readonly model: StudioModel;
  readonly type: TypeInfo;
  /** The label of a record that a filter names by its identifier; undefined while it is not known. */
  readonly nameOf?: ((type: string, id: string) => string | undefined) | undefined;
}

/** Filters, each with its words; two limits of a whole month are one. */
export function spokenNodes(words: Words, nodes: readonly FilterNode[]): readonly Spoken[] {
  const months = nodes.flatMap((from) =>
    nodes.flatMap((to): readonly Spoken[] => {
      if (from.kind !== 'condition' || to.kind !== 'condition' || from.path !== to.path) return [];
      if (from.operator !== 'gte' || to.operator !== 'lt') return [];
      const month = monthBetween(from.values.join(), to.values.join());
      if (month === undefined) return [];
      const title = subjectsOf(words.model, words.type).find(({ path }) => path === from.path)?.title ?? from.path;
      const text = words.say('filter.in_month', { title, month: monthText(month, pageLanguage()) });
      return [{ nodes: [from, to], text }];
    }),
  );
  const others = nodes.filter((node) => !months.some((spoken) => spoken.nodes.includes(node)));
  return [...months, ...others.map((node) => ({ nodes: [node], text: textOfNode(words, node) }))];
}

interface Spoken {
  readonly nodes: readonly FilterNode[];
  readonly text: string;
}

/** A filter in words. */
function textOfNode(words: Words, node: FilterNode): string {
  const { say, model, type, nameOf } = words;
  if (node.kind === 'other') return node.parameters.map((pair) => pair.join('=')).join(', ');
  if (node.kind === 'group') return `${say(`group.${node.mode}`)} (${textOfNodes(words, node.items)})`;
  const subject = subjectsOf(model, type).find(({ path }) => path === node.path);
  const title = subject?.title ?? node.path;
  if (node.kind === 'count')
    return `${say('filter.number_of', { title })} ${operatorText(say, node.operator)} ${say('app.quoted', { text: node.value })}`;
  if (node.kind === 'set')
    return `${title}: ${say(`set.${node.quantifier}`)} (${textOfNodes({ ...words, type: subject?.set ?? type }, node.items)})`;
  const { operator } = readCondition(node.operator, node.values.join('\n'));
  const relation = subject === undefined ? undefined : chosenFrom(subject, operator);
  const values = node.values.map((stored) => {
    const { value } = readCondition(node.operator, stored);
    const isChoice = subject !== undefined && (choicesOf(subject, operator)?.includes(value) ?? false);
    const name = relation === undefined ? undefined : nameOf?.(relation.type, value);
    const text = filterText(say, subject?.field, operator, value);
    return isChoice ? text : say('app.quoted', { text: name ?? text });
  });
  return `${title} ${operatorText(say, operator)} ${values.join(', ')}`;
}

const textOfNodes = (words: Words, nodes: readonly FilterNode[]): string =>
  nodes.map((node) => textOfNode(words, node)).join('; ');

/** The records that filters name by their identifiers. */
export const namedIn = (words: Pick<Words, 'model' | 'type'>, nodes: readonly FilterNode[]): readonly Named[] =>
  nodes.flatMap((node): readonly Named[] => {
    if (node.kind === 'group') return namedIn(words, node.items);
    if (node.kind !== 'condition' && node.kind !== 'set') return [];
    const subject = subjectsOf(words.model, words.type).find(({ path }) => path === node.path);
    if (subject === undefined) return [];
    if (node.kind === 'set') return namedIn({ ...words, type: subject.set ?? words.type }, node.items);
    const relation = chosenFrom(subject, node.operator);
    return relation === undefined ? [] : node.values.map((id) => ({ relation, id }));
  });

const OPERATORS: ReadonlySet<string> = new Set(['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'like', 'null']);
export const operatorText = (say: Say, operator: string): string =>
  operator === CONTAINS
    ? say('operator.contains')
    : OPERATORS.has(operator)
      ? say(`operator.${operator as OperatorName}`)
      : operator;
