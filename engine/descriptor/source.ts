/** One descriptor file as text and as YAML nodes: where each of its keys and values stands. */
import {
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Document,
  type LineCounter,
  type Node,
} from 'yaml';
import type { Diagnostic, DiagnosticCode } from '../diagnostic.ts';
import { diagnosticCodes } from '../diagnostic.ts';
import { frame } from './frame.ts';

export type Path = readonly (string | number)[];
export type At = 'key' | 'value';

export interface Place {
  readonly line: number;
  readonly column: number;
  readonly frame: string;
}

/** What is needed to point into a file. */
export interface Placing {
  /** Path of the file, relative to the working directory. */
  readonly file: string;
  /** The place of a key or of its value; of the nearest that is there where the path leads nowhere. */
  place(path: Path, at: At): Place;
}

export interface Source extends Placing {
  readonly text: string;
  readonly document: Document;
  /** The place of a stretch of the text. */
  at(start: number, end: number): Place;
}

export function diagnose(where: Placing, code: DiagnosticCode, path: Path, at: At, message: string): Diagnostic {
  return { code, severity: diagnosticCodes[code], file: where.file, ...where.place(path, at), message };
}

export type Range = readonly [start: number, end: number];

export function diagnoseAt(where: Source, code: DiagnosticCode, [start, end]: Range, message: string): Diagnostic {
  return { code, severity: diagnosticCodes[code], file: where.file, ...where.at(start, end), message };
}

export function source(file: string, text: string, document: Document, lines: LineCounter): Source {
  const at = (start: number, end: number): Place => {
    const { line, col: column } = lines.linePos(start);
    const [lineText = ''] = text.slice(start - column + 1).split(/\r?\n/, 1);
    return { line, column, frame: frame(lineText, line, column, end - start) };
  };
  const place = (path: Path, which: At): Place => at(...range(document, path, which));
  return { file, text, document, at, place };
}

interface Step {
  readonly key: Node | undefined;
  readonly value: Node | undefined;
}

/** The node that an alias stands for. */
export function resolved(node: unknown, document: Document): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}

function step(node: unknown, name: string | number): Step | undefined {
  if (isSeq<Node>(node)) {
    const value = node.items[Number(name)];
    return value && { key: value, value };
  }
  if (!isMap<Node, Node | null>(node)) return undefined;
  const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(name));
  return pair && { key: pair.key, value: pair.value ?? undefined };
}

/** The last step of the path that is there; the whole document where none is. */
function locate(document: Document, path: Path): { readonly found: Step; readonly whole: boolean } {
  let found: Step = { key: undefined, value: document.contents ?? undefined };
  for (const name of path) {
    const next = step(resolved(found.value, document), name);
    if (!next) return { found, whole: false };
    found = next;
  }
  return { found, whole: true };
}

export const rangeOf = (node: Node | undefined): Range => [node?.range?.[0] ?? 0, node?.range?.[1] ?? 0];

/** A value of several lines is shown by its key. */
const isBlock = (node: Node | undefined): boolean => isCollection(node) && !node.flow;

function range(document: Document, path: Path, which: At): Range {
  const { found, whole } = locate(document, path);
  const [start, end] = rangeOf(found.value);
  const byKey = which === 'key' || !whole || start === end || isBlock(found.value);
  return found.key && byKey ? rangeOf(found.key) : [start, end];
}
