/** What the service says is wrong, in the reader's language: by its code, and what the field takes. The service itself speaks English. */
import type { FieldInfo, StudioModel, TypeInfo } from '../data/model.ts';
import { type Fault, Problem, problemOf } from '../data/problem.ts';
import { titleOfValue, pageLanguage } from '../presentations/plain.ts';
import { isNumber } from '../presentations/field-draft.ts';
import { patternText } from '../presentations/limits.ts';
import type { TextKey } from '../texts/en.ts';
import type { Say } from '../texts/texts.ts';
import { problemText } from './problem-alert.tsx';

const BY_CODE: Readonly<Record<string, TextKey>> = {
  required: 'fault.required',
  unique: 'fault.unique',
  duplicate: 'fault.unique',
  taken: 'fault.unique',
  'read-only': 'fault.read_only',
  'not-found': 'fault.reference',
  deleted: 'fault.reference',
  restrict: 'fault.restrict',
};
/** Their messages are those of the descriptor. */
const OWN: ReadonlySet<string> = new Set(['check']);

/** What a field takes. */
function takenBy(say: Say, field: FieldInfo): string {
  const { type, format = '', minimum, maximum, minLength, maxLength, precision, scale, pattern, examples } = field;
  const parts = field.enum
    ? [say('fault.enum', { values: field.enum.map((value) => titleOfValue(say, field, value)).join(', ') })]
    : [
        type === 'integer' && say('limit.integer'),
        isNumber(field) && type !== 'integer' && say('limit.number'),
        type === 'boolean' && say('fault.boolean'),
        type === 'date' && say('fault.date'),
        type === 'timestamp' && say('fault.time'),
        format === 'email' && say('fault.email'),
        format === 'uri' && say('fault.uri'),
        minimum !== undefined && say('limit.minimum', { limit: String(minimum) }),
        maximum !== undefined && say('limit.maximum', { limit: String(maximum) }),
        minLength !== undefined && say('limit.min_length', { smart_count: minLength }),
        maxLength !== undefined && say('limit.max_length', { smart_count: maxLength }),
        precision !== undefined && say('limit.digits', { precision, scale: scale ?? 0 }),
        pattern !== undefined && patternText(say, pattern, examples),
      ];
  return parts.filter(Boolean).join(', ');
}

/** The field at a place of a body. */
function fieldAt(model: StudioModel, type: TypeInfo | undefined, pointer = ''): FieldInfo | undefined {
  const [name, ...rest] = pointer.split('/').filter((part) => part !== '' && !/^\d+$/.test(part));
  const field = type?.fields.find((one) => one.name === name);
  const relation = type?.relations.find((one) => one.name === name);
  return relation === undefined ? field : fieldAt(model, model.types.get(relation.type), rest.join('/'));
}

/** The same problem, in words of the studio. */
export function worded(say: Say, model: StudioModel, type: TypeInfo, problem: unknown): unknown {
  if (!(problem instanceof Problem) || pageLanguage().startsWith('en')) return problem;
  const { parts } = problem;
  const textOf = ({ code, message, pointer }: Fault): string => {
    const field = fieldAt(model, type, pointer);
    const key = BY_CODE[code];
    if (OWN.has(code)) return message;
    if (key !== undefined) return say(key);
    return (field && takenBy(say, field)) || say('fault.other', { code });
  };
  return new Problem({ ...parts, errors: parts.errors.map((fault) => ({ ...fault, message: textOf(fault) })) });
}

/** The first of its faults, or what it is as a whole. */
export function reasonOf(say: Say, model: StudioModel, type: TypeInfo, problem: unknown): string {
  const [fault] = problemOf(worded(say, model, type, problem)).errors;
  // The tag that is wrong says nothing to people.
  return fault?.code === 'precondition-failed' ? say('many.outdated') : (fault?.message ?? problemText(say, problem));
}
