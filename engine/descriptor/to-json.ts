/** YAML nodes -> the JSON value they stand for; what JSON cannot say, and what is said twice, is a fault. */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import type { DiagnosticCode } from '../diagnostic.ts';
import type { JsonValue } from '../json.ts';

/** The node that is at fault, and why. */
export interface NodeFault {
  readonly code: DiagnosticCode;
  readonly node: Node;
  readonly message: string;
}

/** Nodes that may be repeated through aliases, in all: room for shared fields, none for bombs. */
const MAX_ALIASED = 10_000;
const MAX_DEPTH = 100;

interface Walk {
  readonly faults: NodeFault[];
  /** The last node of each anchor so far. (The parser's own look-up reads the whole document for each alias.) */
  readonly anchors: Map<string, Node>;
  /** Anchored nodes that are being repeated. */
  readonly within: Set<Node>;
  aliased: number;
  depth: number;
}

/** Values that are at fault are null in the answer. */
export function toJson(document: Document): { readonly value: JsonValue; readonly faults: readonly NodeFault[] } {
  const walk: Walk = { faults: [], anchors: new Map(), within: new Set(), aliased: 0, depth: 0 };
  const value = document.contents === null ? null : convert(document.contents, walk);
  return { value, faults: walk.faults };
}

function refuse(walk: Walk, code: DiagnosticCode, node: Node, message: string): null {
  walk.faults.push({ code, node, message });
  return null;
}

function convert(node: Node | null, walk: Walk): JsonValue {
  if (node === null) return null;
  if (walk.depth >= MAX_DEPTH) return refuse(walk, 'not-json', node, `nested more than ${MAX_DEPTH} levels deep`);
  walk.depth++;
  const value = isAlias(node) ? alias(node, node.source, walk) : anchored(node, walk);
  walk.depth--;
  return value;
}

function anchored(node: Node, walk: Walk): JsonValue {
  if (walk.within.size > 0 && walk.aliased++ >= MAX_ALIASED) return null;
  if ('anchor' in node && typeof node.anchor === 'string') walk.anchors.set(node.anchor, node);
  return isScalar(node) ? scalar(node.value, node, walk) : collection(node, walk);
}

function alias(node: Node, name: string, walk: Walk): JsonValue {
  const target = walk.anchors.get(name);
  if (!target) return refuse(walk, 'yaml-syntax', node, `nothing before this has the anchor "&${name}"`);
  if (walk.within.has(target))
    return refuse(walk, 'too-many-aliases', node, `"*${name}" stands within "&${name}" itself`);
  const before = walk.aliased;
  walk.within.add(target);
  const value = convert(target, walk);
  walk.within.delete(target);
  const justExhausted = walk.within.size === 0 && before <= MAX_ALIASED && walk.aliased > MAX_ALIASED;
  return justExhausted
    ? refuse(walk, 'too-many-aliases', node, `aliases repeat more than ${MAX_ALIASED} values`)
    : value;
}

function collection(node: Node, walk: Walk): JsonValue {
  if (isSeq<Node>(node)) return node.items.map((item) => convert(item, walk));
  if (!isMap<Node, Node | null>(node)) return refuse(walk, 'not-json', node, 'not a JSON value');
  const entries = new Map<string, JsonValue>();
  for (const { key, value } of node.items) {
    const name = keyOf(key, walk);
    if (name === undefined) continue;
    if (entries.has(name))
      refuse(walk, 'duplicate-key', key, `the key ${JSON.stringify(name)} is there twice; keep one of them`);
    else entries.set(name, convert(value, walk));
  }
  // Makes an own property of every key, "__proto__" too.
  return Object.fromEntries(entries);
}

function keyOf(key: Node, walk: Walk): string | undefined {
  if (isScalar(key) && key.value !== null) return String(scalar(key.value, key, walk));
  refuse(walk, 'not-json', key, 'a key must be text');
  return undefined;
}

function scalar(value: unknown, node: Node, walk: Walk): JsonValue {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)) return value;
    return refuse(walk, 'not-json', node, 'JSON keeps no such number exactly; a long number can be text in quotes');
  }
  if (typeof value !== 'string') return refuse(walk, 'not-json', node, 'not a JSON value');
  if (value.isWellFormed() && !value.includes('\0')) return value;
  return refuse(walk, 'not-json', node, 'text must be well-formed Unicode without U+0000');
}
