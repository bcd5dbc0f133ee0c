/** Faults of a body -> the inputs that they are about, nested ones included. */
import type { Fault } from '../data/problem.ts';
import { keyOf, OTHER_KEYS, type Draft, type RecordDraft } from './draft.ts';

interface InputFault {
  /** All that is wrong. */
  readonly message: string;
  /** The same by the index of the item that it is about; what is about all of them is at WHOLE. */
  readonly types: Readonly<Record<string, string>>;
}

export const WHOLE = 'whole';

/** The message at each input. */
export function messagesAt(faults: readonly Fault[], draft: RecordDraft): ReadonlyMap<string, InputFault> {
  const found = new Map<string, InputFault>();
  for (const { pointer = '', message } of faults) {
    const input = inputOf(pointer, draft);
    if (input === undefined) continue;
    const before = found.get(input);
    const part = /\/(\d+)$/.exec(pointer)?.[1] ?? WHOLE;
    const types = { ...before?.types, [part]: joined(before?.types[part], message) };
    found.set(input, { message: joined(before?.message, message), types });
  }
  return found;
}

const joined = (one: string | undefined, other: string): string => [one, other].filter(Boolean).join(' · ');

/** The path of the input in the form; undefined if no input shows it. */
export function inputOf(pointer: string | undefined, draft: RecordDraft): string | undefined {
  if (pointer === undefined || pointer === '') return undefined;
  const [name = '', ...rest] = pointer.slice(1).split('/').map(unescaped);
  return inRecord([name, ...rest], draft);
}

const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

function inRecord([name = '', ...rest]: readonly string[], draft: RecordDraft): string | undefined {
  const key = keyOf(name);
  if (!(key in draft)) return OTHER_KEYS in draft ? OTHER_KEYS : undefined;
  const within = inValue(rest, draft[key]);
  return within === undefined ? key : `${key}.${within}`;
}

/** Within a field there are no inputs. */
function inValue(tokens: readonly string[], draft: Draft): string | undefined {
  if (typeof draft !== 'object' || draft === null) return undefined;
  if (Array.isArray(draft)) {
    const [index = '', ...rest] = tokens;
    const item: unknown = draft[Number(index)];
    if (!isItem(item)) return undefined;
    const within = item.record === null ? undefined : inRecord(rest, item.record);
    return within === undefined ? index : `${index}.record.${within}`;
  }
  const within = isItem(draft) && draft.record !== null ? inRecord(tokens, draft.record) : undefined;
  return within === undefined ? undefined : `record.${within}`;
}

const isItem = (value: unknown): value is { readonly record: RecordDraft | null } =>
  typeof value === 'object' && value !== null && 'record' in value;
