/** Filters as people read them, and as the interface writes them. */
import type { Where } from '../data/list-request.ts';
import {
  type FieldInfo,
  isToMany,
  type OperatorName,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';

/** What a filter can be about: a field, the identifier or a relation, also of related records. */
export interface FilterSubject {
  /** As the interface writes it: `author.name`. */
  readonly path: string;
  readonly title: string;
  readonly operators: readonly OperatorName[];
  /** Undefined: its values are identifiers. */
  readonly field: FieldInfo | undefined;
}

export interface FilterTerm {
  readonly parameter: string;
  readonly subject: FilterSubject | undefined;
  readonly operator: OperatorName;
  readonly values: readonly string[];
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
  return [...own, ...related].filter(({ operators }) => operators.length > 0);
}

function through(model: StudioModel, relation: RelationInfo, depth: number): readonly FilterSubject[] {
  const { name, title, operators } = relation;
  const target = typeNamed(model, relation.type);
  const self = isToMany(relation) ? [] : [{ path: name, title, operators, field: undefined }];
  const inside = subjectsOf(model, target, depth + 1).map((subject) => ({
    ...subject,
    path: `${name}.${subject.path}`,
    title: title + ARROW + subject.title,
  }));
  return [...self, ...inside];
}

const PARAMETER = /^_cnd\[([^\]]+)\](?:\[(\w+)\])?$/;

/** Groups and sets, which only an address can hold, are terms without a subject. */
export function termsOf(where: Where, subjects: readonly FilterSubject[]): readonly FilterTerm[] {
  const byParameter = Map.groupBy(where, ([parameter]) => parameter);
  return [...byParameter].map(([parameter, pairs]) => {
    const [, path = '', operator = 'eq'] = PARAMETER.exec(parameter) ?? [];
    const subject = subjects.find((one) => one.path === path);
    const known = subject?.operators.find((one) => one === operator);
    return {
      parameter,
      subject: known === undefined ? undefined : subject,
      operator: known ?? 'eq',
      values: pairs.map(([, value]) => value),
    };
  });
}

export const parameterOf = ({ path }: FilterSubject, operator: OperatorName): string => `_cnd[${path}][${operator}]`;

/** A second filter of the same kind replaces the first. */
export const withTerm = (where: Where, parameter: string, values: readonly string[]): Where => [
  ...withoutTerm(where, parameter),
  ...values.map((value): [string, string] => [parameter, value]),
];
export const withoutTerm = (where: Where, parameter: string): Where => where.filter(([name]) => name !== parameter);
