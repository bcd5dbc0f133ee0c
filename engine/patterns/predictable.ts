/**
 * Whether the next character of a text always says alone how a pattern goes on. Such a pattern is linear in RegExp too:
 * where it fails, every way that RegExp goes back to fails at its first character.
 */
import { areDisjoint, type CodePoints, NOTHING, union } from './code-points.ts';
import type { Part } from './parse.ts';

/** `follow`: what may come behind the part. */
export function isPredictable(part: Part, follow: CodePoints = NOTHING): boolean {
  if (part.kind === 'one' || part.kind === 'place') return true;
  if (part.kind === 'lookahead') return isPredictable(part.part);
  if (part.kind === 'repeat') return isPredictableRepeat(part, follow);
  const { parts } = part;
  if (part.kind === 'sequence')
    return parts.every((each, index) => isPredictable(each, firstOf(parts.slice(index + 1), follow)));
  const starts = parts.map((each) => (isEmptyable(each) ? union([startOf(each), follow]) : startOf(each)));
  return (
    parts.filter(isEmptyable).length <= 1 &&
    starts.every((start, index) => starts.slice(index + 1).every((other) => areDisjoint(start, other))) &&
    parts.every((each) => isPredictable(each, follow))
  );
}

function isPredictableRepeat({ part, min, max }: Extract<Part, { kind: 'repeat' }>, follow: CodePoints): boolean {
  if (isEmptyable(part)) return false;
  if (max > min && !areDisjoint(startOf(part), follow)) return false;
  return isPredictable(part, max > 1 ? union([startOf(part), follow]) : follow);
}

/** What a sequence can begin with, if `follow` comes behind it. */
function firstOf(parts: readonly Part[], follow: CodePoints): CodePoints {
  const end = parts.findIndex((part) => !isEmptyable(part));
  if (end < 0) return union([...parts.map(startOf), follow]);
  return union(parts.slice(0, end + 1).map(startOf));
}

function startOf(part: Part): CodePoints {
  if (part.kind === 'one') return part.of;
  if (part.kind === 'sequence') return firstOf(part.parts, NOTHING);
  if (part.kind === 'choice') return union(part.parts.map(startOf));
  return part.kind === 'repeat' ? startOf(part.part) : NOTHING;
}

/** Whether it may match without taking a character. */
function isEmptyable(part: Part): boolean {
  if (part.kind === 'one') return false;
  if (part.kind === 'sequence') return part.parts.every(isEmptyable);
  if (part.kind === 'choice') return part.parts.some(isEmptyable);
  return part.kind !== 'repeat' || part.min === 0 || isEmptyable(part.part);
}
