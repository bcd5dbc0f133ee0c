/** Converts YAML nodes to JSON. Whatever JSON cannot express, and every repeated key, is a fault. */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import type { DiagnosticCode } from '../diagnostic.ts';
import type { JsonObject, JsonValue, RawMember, RawValues } from '../json/json.ts';
import type { YamlPath } from './source.ts';

/** The faulty node, and why. */
interface NodeFault {
  readonly code: DiagnosticCode;
  readonly node: Node;
  readonly message: string;
  /** The path of a number that only its text represents exactly. */
  readonly inexact?: YamlPath;
}

interface Converted {
  readonly value: JsonValue;
  /** The members that JSON.stringify would write differently. */
  readonly raw: RawValues;
  readonly faults: readonly NodeFault[];
}

/** Nodes that aliases may repeat, in total: enough for shared fields, too few for a bomb. */
const MAX_ALIASED = 10_000;
const MAX_DEPTH = 100;

interface Conversion {
  readonly faults: NodeFault[];
  /** The last node of each anchor so far. (The parser's own look-up reads the whole document for each alias.) */
  readonly anchors: Map<string, Node>;
  /** Anchored nodes that are being repeated. */
  readonly within: Set<Node>;
  readonly raw: Map<JsonObject, Map<string, RawMember>>;
  readonly path: (string | number)[];
  /** Values so far that JSON.stringify would write differently. */
  odd: number;
  aliased: number;
}

/** Faulty values become null. */
export function toJson(document: Document): Converted {
  const maps = { anchors: new Map(), within: new Set<Node>(), raw: new Map() };
  const walk: Conversion = { faults: [], ...maps, path: [], odd: 0, aliased: 0 };
  const value = document.contents === null ? null : convert(document.contents, walk);
  return { value, raw: walk.raw, faults: walk.faults };
}

function refuse(walk: Conversion, code: DiagnosticCode, node: Node, message: string): null {
  walk.faults.push({ code, node, message });
  return null;
}

function convert(node: Node | null, walk: Conversion): JsonValue {
  if (node === null) return null;
  if (walk.path.length >= MAX_DEPTH) return refuse(walk, 'not-json', node, `nested more than ${MAX_DEPTH} levels deep`);
  return isAlias(node) ? alias(node, node.source, walk) : anchored(node, walk);
}

function convertAt(step: string | number, node: Node | null, walk: Conversion): JsonValue {
  walk.path.push(step);
  const value = convert(node, walk);
  walk.path.pop();
  return value;
}

function anchored(node: Node, walk: Conversion): JsonValue {
  if (walk.within.size > 0 && walk.aliased++ >= MAX_ALIASED) return null;
  if ('anchor' in node && typeof node.anchor === 'string') walk.anchors.set(node.anchor, node);
  return isScalar(node) ? scalar(node.value, node, walk) : collection(node, walk);
}

function alias(node: Node, name: string, walk: Conversion): JsonValue {
  const target = walk.anchors.get(name);
  if (!target) return refuse(walk, 'yaml-syntax', node, `there is no anchor "&${name}"`);
  if (walk.within.has(target)) return refuse(walk, 'too-many-aliases', node, `"*${name}" is inside "&${name}" itself`);
  const before = walk.aliased;
  walk.within.add(target);
  const value = convert(target, walk);
  walk.within.delete(target);
  const justExhausted = walk.within.size === 0 && before <= MAX_ALIASED && walk.aliased > MAX_ALIASED;
  return justExhausted
    ? refuse(walk, 'too-many-aliases', node, `aliases repeat more than ${MAX_ALIASED} values`)
    : value;
}

function collection(node: Node, walk: Conversion): JsonValue {
  if (isSeq<Node>(node)) return node.items.map((item, index) => convertAt(index, item, walk));
  if (!isMap<Node, Node | null>(node)) return refuse(walk, 'not-json', node, 'not a JSON value');
  const entries = new Map<string, JsonValue>();
  const raw = new Map<string, RawMember>();
  for (const { key, value } of node.items) {
    const name = keyOf(key, walk);
    if (name === undefined) continue;
    if (entries.has(name))
      refuse(walk, 'duplicate-key', key, `the key ${JSON.stringify(name)} appears twice; keep one of them`);
    else {
      const { odd } = walk;
      entries.set(name, convertAt(name, value, walk));
      if (walk.odd > odd) raw.set(name, { name: JSON.stringify(name), text: textOf(value, walk) });
    }
  }
  // Makes every key an own property, even "__proto__".
  const object = Object.fromEntries(entries);
  if (raw.size > 0) walk.raw.set(object, raw);
  const names = [...entries.keys()];
  if (Object.keys(object).some((key, index) => key !== names[index])) walk.odd += 1;
  return object;
}

/** The JSON text of a node that was converted without a fault. */
function textOf(node: Node | null, walk: Conversion): string {
  if (isAlias(node)) return textOf(walk.anchors.get(node.source) ?? null, walk);
  if (isSeq<Node>(node)) return `[${node.items.map((item) => textOf(item, walk)).join(',')}]`;
  if (isMap<Node, Node | null>(node))
    return `{${node.items.map(({ key, value }) => `${JSON.stringify(String(isScalar(key) ? key.value : ''))}:${textOf(value, walk)}`).join(',')}}`;
  return isScalar(node) ? (jsonNumber(node) ?? JSON.stringify(node.value)) : 'null';
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The text of a number that YAML writes as JSON does. */
const jsonNumber = ({ value, source = '' }: Scalar): string | undefined =>
  typeof value === 'number' && JSON_NUMBER.test(source) ? source : undefined;

function keyOf(key: Node, walk: Conversion): string | undefined {
  // The operator, not the value.
  if (isScalar(key) && key.source === 'null') return key.source;
  if (isScalar(key) && key.value !== null) return String(scalar(key.value, key, walk));
  refuse(walk, 'not-json', key, 'a key must be text');
  return undefined;
}

const INEXACT = 'JSON cannot represent this number exactly; put a long number in quotes, as text';

/** A number that is too long is a fault unless its text is stored, which is not known here. */
function number(value: number, node: Node, walk: Conversion): JsonValue {
  const source = isScalar(node) ? jsonNumber(node) : undefined;
  if (source !== undefined && source !== String(value)) walk.odd += 1;
  if (Number.isInteger(value) ? isExact(value, source) : Number.isFinite(value)) return value;
  if (source === undefined || !Number.isFinite(value)) return refuse(walk, 'not-json', node, INEXACT);
  walk.faults.push({ code: 'not-json', node, message: INEXACT, inexact: [...walk.path] });
  return value;
}

/** Beyond 2^53, some integers are numbers of JavaScript, and others are not. */
const isExact = (value: number, source = ''): boolean =>
  Number.isSafeInteger(value) || (DIGITS.test(source) && BigInt(source) === BigInt(value));

const DIGITS = /^-?\d+$/;

function scalar(value: unknown, node: Node, walk: Conversion): JsonValue {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return number(value, node, walk);
  if (typeof value !== 'string') return refuse(walk, 'not-json', node, 'not a JSON value');
  if (value.isWellFormed() && !value.includes('\0')) return value;
  return refuse(walk, 'not-json', node, 'text must be well-formed Unicode without U+0000');
}
