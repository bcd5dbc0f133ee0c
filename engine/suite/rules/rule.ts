/** A rule of the suites: a row of a table that says for which types it holds, and which requests show it. */
import type { Operation } from '../../descriptor/descriptor.ts';
import type { RecordType } from '../../model/model.ts';
import { type Call, requestOf } from '../call.ts';
import type { Case } from '../case.ts';
import type { Deployment } from '../deployment.ts';
import { caseOf, type Context, type Scene, send } from '../scene.ts';

/** The cases of one kind for one record type. */
export type Rule = (context: Context) => readonly Case[];

/** A rule that does not know yet which group its cases belong to. */
export type TableRow = (group: string) => Rule;

export const table = (group: string, rows: readonly TableRow[]): readonly Rule[] => rows.map((row) => row(group));

type When = (type: RecordType, deployment: Deployment) => boolean;

interface RuleOf<Subject> {
  /** The types that it holds for, and what must be known of the service. */
  readonly when?: When;
  /** What each case is about, where there is more than one. */
  readonly each?: (context: Context) => readonly Subject[];
  readonly title: string | ((subject: Subject, type: RecordType) => string);
  readonly requests: (scene: Scene, subject: Subject) => void;
}

export const rule =
  <Subject = undefined>({ when = () => true, each, title, requests }: RuleOf<Subject>): TableRow =>
  (group) =>
  (context) => {
    const { type, deployment } = context;
    if (!when(type, deployment)) return [];
    const subjects = each ? each(context) : [undefined as Subject];
    return subjects.flatMap((subject) => {
      const text = typeof title === 'string' ? title : title(subject, type);
      return caseOf(context, { group, title: `${type.path}: ${text}` }, (scene) => requests(scene, subject)) ?? [];
    });
  };

interface Requests {
  readonly when?: When;
  readonly calls: (type: RecordType, deployment: Deployment) => readonly Call[];
}

/** Requests that need nothing: each is a case, and its own title. */
export const single = ({ when, calls }: Requests): TableRow =>
  rule<Call>({
    ...(when ? { when } : {}),
    each: ({ type, deployment }) => calls(type, deployment),
    title: titleOf,
    requests: (scene, call) => void send(scene, call),
  });

const SHOWN = 80;

function titleOf(call: Call): string {
  const { method, path, headers = {}, text, body, as, padTo } = requestOf(call);
  const shown = Object.entries(headers).filter(([name]) => name !== 'if-match');
  const sent = text ?? (body === undefined ? '' : JSON.stringify(body));
  const parts = [
    method,
    path,
    ...shown.map((entry) => entry.join(': ')),
    sent,
    ...(as === undefined ? [] : [`as ${as}`]),
    ...(padTo === undefined ? [] : [`in ${padTo} bytes`]),
  ];
  return parts
    .map((part) => (part.length > SHOWN ? `${part.slice(0, SHOWN)}…` : part))
    .join(' ')
    .trim();
}

/** Whether the type offers all of these operations. */
export const offers =
  (...operations: readonly Operation[]) =>
  (type: RecordType): boolean =>
    operations.every((name) => type.operations.has(name));

const MAX_FIELDS = 45;

/** Where a type has very many fields, one of several stands for its neighbours. An odd stride meets patterns of any shape. */
export function representative<T>(fields: readonly T[]): readonly T[] {
  const stride = Math.ceil(fields.length / MAX_FIELDS);
  const odd = stride + 1 - (stride % 2);
  return fields.filter((_, index) => index % odd === 0);
}
