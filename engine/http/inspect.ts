/** One walk over a parsed body, for what no schema can say: depth, and keys and strings that cannot be kept. */
import { pointer } from '../json.ts';
import type { Fault } from '../problem.ts';

export interface Inspection {
  readonly keys: number;
  /** Of the longest array. */
  readonly items: number;
  readonly tooDeep: boolean;
  readonly faults: readonly Fault[];
}

interface Walk {
  readonly checkStrings: boolean;
  readonly maxDepth: number;
  readonly path: (string | number)[];
  readonly faults: Fault[];
  keys: number;
  items: number;
  tooDeep: boolean;
}

/** `checkStrings` false: the strings are known to be well-formed. */
export function inspect(value: unknown, checkStrings: boolean, maxDepth: number): Inspection {
  const walk: Walk = { checkStrings, maxDepth, path: [], faults: [], keys: 0, items: 0, tooDeep: false };
  visit(value, walk);
  return walk;
}

function visit(value: unknown, walk: Walk): void {
  if (typeof value === 'string') visitString(value, walk);
  else if (typeof value === 'number') visitNumber(value, walk);
  else if (typeof value === 'object' && value !== null) visitContainer(value, walk);
}

function visitContainer(value: object, walk: Walk): void {
  if (walk.path.length >= walk.maxDepth) walk.tooDeep = true;
  else if (Array.isArray(value)) visitItems(value, walk);
  else for (const key of Object.keys(value)) visitMember(key, Reflect.get(value, key), walk);
}

function visitItems(value: readonly unknown[], walk: Walk): void {
  walk.items = Math.max(walk.items, value.length);
  for (const [index, item] of value.entries()) visitStep(index, item, walk);
}

function visitStep(step: string | number, value: unknown, walk: Walk): void {
  walk.path.push(step);
  visit(value, walk);
  walk.path.pop();
}

function visitMember(key: string, value: unknown, walk: Walk): void {
  walk.keys += 1;
  walk.path.push(key);
  if (key === '__proto__') refuse(walk, 'reserved-key', 'The key "__proto__" is reserved');
  if (walk.checkStrings) checkText(key, 'The key', walk);
  visit(value, walk);
  walk.path.pop();
}

function visitString(value: string, walk: Walk): void {
  if (walk.checkStrings) checkText(value, 'The string', walk);
}

/** `1e999` is valid JSON, but not a number in JavaScript: only its text could be kept. */
function visitNumber(value: number, walk: Walk): void {
  if (!Number.isFinite(value)) refuse(walk, 'number-range', 'The number is too large');
}

function checkText(text: string, what: string, walk: Walk): void {
  if (text.includes('\0')) refuse(walk, 'nul-character', `${what} holds U+0000, which cannot be kept`);
  if (!text.isWellFormed())
    refuse(walk, 'lone-surrogate', `${what} holds half of a surrogate pair; it must be well-formed Unicode`);
}

function refuse(walk: Walk, code: string, message: string): void {
  walk.faults.push({ pointer: pointer(walk.path), code, message });
}
