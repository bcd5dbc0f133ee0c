/** Converts YAML nodes to JSON. Reports what JSON cannot express, and repeated keys. */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import type { DiagnosticCode } from '../diagnostic.ts';
import { isWhole, type JsonValue } from '../json/json.ts';

interface NodeFault {
  readonly code: DiagnosticCode;
  readonly node: Node;
  readonly message: string;
  /** Checks may report more about a number, such as the key's bounds. */
  readonly isNumber: boolean;
}

/** Total nodes that aliases can repeat: enough for shared fields, too few for a bomb. */
const MAX_ALIASED = 10_000;
const MAX_DEPTH = 100;

interface Conversion {
  readonly faults: NodeFault[];
  /** The last node of each anchor so far. (The parser's own look-up reads the whole document for each alias.) */
  readonly anchors: Map<string, Node>;
  /** Anchored nodes that are being repeated. */
  readonly within: Set<Node>;
  aliased: number;
}

/** Replaces faulty values, but not numbers, by null. */
export function toJson(document: Document): { readonly value: JsonValue; readonly faults: readonly NodeFault[] } {
  const walk: Conversion = { faults: [], anchors: new Map(), within: new Set(), aliased: 0 };
  return { value: convert(document.contents, walk, 0), faults: walk.faults };
}

function refuse(walk: Conversion, code: DiagnosticCode, node: Node, message: string): null {
  walk.faults.push({ code, node, message, isNumber: false });
  return null;
}

function convert(node: Node | null, walk: Conversion, depth: number): JsonValue {
  if (node === null) return null;
  if (depth >= MAX_DEPTH) return refuse(walk, 'not-json', node, `nested more than ${MAX_DEPTH} levels deep`);
  if (isAlias(node)) return alias(node, node.source, walk, depth);
  if (walk.within.size > 0 && walk.aliased++ >= MAX_ALIASED) return null;
  if ('anchor' in node && typeof node.anchor === 'string') walk.anchors.set(node.anchor, node);
  if (isScalar(node)) return scalar(node, walk);
  if (isSeq<Node>(node)) return node.items.map((item) => convert(item, walk, depth + 1));
  if (!isMap<Node, Node | null>(node)) return refuse(walk, 'not-json', node, 'not a JSON value');
  const entries = new Map<string, JsonValue>();
  for (const { key, value } of node.items) {
    const name = keyOf(key, walk);
    if (name === undefined) continue;
    if (entries.has(name))
      refuse(walk, 'duplicate-key', key, `the key ${JSON.stringify(name)} appears twice; keep one of them`);
    else entries.set(name, convert(value, walk, depth + 1));
  }
  // Makes every key an own property, even "__proto__".
  return Object.fromEntries(entries);
}

function alias(node: Node, name: string, walk: Conversion, depth: number): JsonValue {
  const target = walk.anchors.get(name);
  if (!target) return refuse(walk, 'yaml-syntax', node, `there is no anchor "&${name}"`);
  if (walk.within.has(target)) return refuse(walk, 'too-many-aliases', node, `"*${name}" is inside "&${name}" itself`);
  const before = walk.aliased;
  walk.within.add(target);
  const value = convert(target, walk, depth);
  walk.within.delete(target);
  const justExhausted = walk.within.size === 0 && before <= MAX_ALIASED && walk.aliased > MAX_ALIASED;
  return justExhausted
    ? refuse(walk, 'too-many-aliases', node, `aliases repeat more than ${MAX_ALIASED} values`)
    : value;
}

function keyOf(key: Node, walk: Conversion): string | undefined {
  // `null` is an operator of checks, not the value.
  if (isScalar(key) && key.source === 'null') return key.source;
  if (!isScalar(key) || key.value === null) {
    refuse(walk, 'not-json', key, 'a key must be text');
    return undefined;
  }
  // Keeps a faulty key, so that further faults of it have the same location, and are omitted.
  scalar(key, walk);
  return String(key.value);
}

function scalar(node: Scalar, walk: Conversion): JsonValue {
  const { value, source } = node;
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    const message = numberFault(value, source);
    if (message !== undefined) walk.faults.push({ code: 'not-json', node, message, isNumber: true });
    return value;
  }
  if (typeof value !== 'string') return refuse(walk, 'not-json', node, 'not a JSON value');
  if (value.isWellFormed() && !value.includes('\0')) return value;
  return refuse(walk, 'not-json', node, 'text must be well-formed Unicode without U+0000');
}

function numberFault(value: number, source = ''): string | undefined {
  if (!Number.isFinite(value)) return `JSON has no NaN, and no number beyond ${Number.MAX_VALUE}`;
  // Beyond 2^53, JavaScript represents only some integers exactly.
  if (Number.isInteger(value) && !isWhole(source.replace('+', ''))) return readAs(value);
  if (Number.isSafeInteger(value) || !/^([-+]?\d+|0[xo][\da-f]+)$/i.test(source)) return undefined;
  if (BigInt(source.replace('+', '')) === BigInt(value)) return undefined;
  return readAs(value);
}

const readAs = (value: number): string =>
  `this number would be read as ${value}: write that, or text in quotes if text is accepted`;
