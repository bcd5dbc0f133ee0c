/** Rules of the suites: rows of tables, each with the types it holds for, and the requests that show it. */
import type { Operation } from '../../../engine/descriptor/descriptor.ts';
import type { Field, RecordType, Relation } from '../../../engine/model/model.ts';
import { type Call, requestOf } from '../call.ts';
import type { Case, Deployment } from '../case.ts';
import { caseOf, type Context, type Scene, send } from '../scene.ts';

/** The cases of one kind for one record type. */
export type Rule = (context: Context) => readonly Case[];

/** A rule that does not know yet which group its cases belong to. */
export type TableRow = (group: string) => Rule;

export const table = (group: string, ...rows: readonly TableRow[]): readonly Rule[] => rows.map((row) => row(group));

/** The types that a rule holds for, and what must be known of the service. */
type When = (type: RecordType, deployment: Deployment) => boolean;

/** A case for each subject. In its title, `{}` is the subject's name, `{id}` that of the type's identifier. */
export const each =
  <Subject extends string | { readonly name: string }>(
    title: string,
    when: When,
    subjects: (context: Context) => readonly Subject[],
    requests: (scene: Scene, subject: Subject) => void,
  ): TableRow =>
  (group) =>
  (context) => {
    const { type, deployment } = context;
    if (!when(type, deployment)) return [];
    return subjects(context).flatMap((subject) => {
      const name = typeof subject === 'string' ? subject : subject.name;
      const text = title.replace('{}', () => name).replace('{id}', () => type.identifier.name);
      return caseOf(context, { group, title: `${type.path}: ${text}` }, (scene) => requests(scene, subject)) ?? [];
    });
  };

/** One case. */
export const rule = (title: string, when: When, requests: (scene: Scene) => void): TableRow =>
  each(title, when, () => [''], requests);

/** Requests that need nothing: each is a case, and its own title. */
export const single = (
  when: When,
  calls: (type: RecordType, deployment: Deployment) => readonly Omit<Call, 'type'>[],
): TableRow =>
  each(
    '{}',
    when,
    ({ type, deployment }) => calls(type, deployment).map((call) => ({ call, name: titleOf({ type, ...call }) })),
    (scene, { call }) => void send(scene, call),
  );

const SHOWN = 80;

function titleOf(call: Call): string {
  const { method, path, headers = {}, text, body, as, padTo } = requestOf(call);
  const shown = Object.entries(headers).filter(([name]) => name !== 'if-match');
  const parts = [
    method,
    path,
    ...shown.map((entry) => entry.join(': ')),
    text ?? (body === undefined ? '' : JSON.stringify(body)),
    ...(as === undefined ? [] : [`as ${as}`]),
    ...(padTo === undefined ? [] : [`in ${padTo} bytes`]),
  ];
  const short = parts.map((part) => (part.length > SHOWN ? `${part.slice(0, SHOWN)}…` : part));
  return short.join(' ').trim();
}

export const always = (): boolean => true;

/** Types that offer all of these operations. */
export const offers =
  (...operations: readonly Operation[]) =>
  (type: RecordType): boolean =>
    operations.every((name) => type.operations.has(name));

/** Types that do, and whose records show their identifiers. */
export const identified =
  (...operations: readonly Operation[]) =>
  (type: RecordType): boolean =>
    type.identifier.inRecord && offers(...operations)(type);

/** The relations of the type that are so. */
export const relations =
  (are: (relation: Relation) => boolean) =>
  ({ type }: Pick<Context, 'type'>): readonly Relation[] =>
    [...type.relations.values()].filter(are);

/** Fields that bodies may set. */
export const isWritable = (type: RecordType, field: Field): boolean =>
  !field.readOnly && type.defaultVariant.fields.includes(field);

/** Whether a field takes any text of this length. */
export const takesTexts = (
  { type: { operators }, constraints: { maxLength, minLength, pattern, format, enum: listed } }: Field,
  length: number,
): boolean =>
  operators.includes('like') &&
  Number(maxLength ?? Infinity) >= length &&
  Number(minLength ?? 0) <= length &&
  (pattern ?? format ?? listed) === undefined;

const MAX_FIELDS = 45;

/** Where a type has very many fields, one of several stands for its neighbours. An odd stride meets patterns of any shape. */
export function representative<T>(fields: readonly T[]): readonly T[] {
  const stride = Math.ceil(fields.length / MAX_FIELDS);
  const odd = stride + 1 - (stride % 2);
  return fields.filter((_, index) => index % odd === 0);
}
