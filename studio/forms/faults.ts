/** Faults of a body -> the inputs that they are about, nested ones included. */
import type { Fault } from '../data/problem.ts';
import { keyOf, OTHER_KEYS, type Draft, type RecordDraft } from './draft.ts';

/** What is to stand at each input. */
export function messagesAt(faults: readonly Fault[], draft: RecordDraft): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const { pointer, message } of faults) {
    const input = inputOf(pointer, draft);
    if (input !== undefined) messages.set(input, [messages.get(input), message].filter(Boolean).join(' · '));
  }
  return messages;
}

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
