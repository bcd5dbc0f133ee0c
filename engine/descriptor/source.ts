/** Descriptor files as YAML nodes, and the lines and columns of keys and values in them. */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { type Diagnostic, type DiagnosticCode, severities } from '../diagnostic.ts';
import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { reasonOf } from '../problem.ts';
import { printable } from '../process.ts';

export type YamlPath = readonly (string | number)[];
export type At = 'key' | 'value';

type SourceLocation = Pick<Diagnostic, 'line' | 'column' | 'frame'>;

export interface FileLocator {
  readonly file: string;
  /** The location of a key or value, or of the nearest parent that exists. */
  locate(path: YamlPath, at: At): SourceLocation;
  /** The source of a scalar. */
  written(path: YamlPath): string;
}

export interface Source extends FileLocator {
  readonly text: string;
  readonly document: Document;
  /** In the order of the file: JavaScript puts integer-like keys first. */
  keysOf(path: YamlPath): readonly string[];
  at(start: number, end: number): SourceLocation;
}

export function diagnose(
  where: FileLocator,
  code: DiagnosticCode,
  path: YamlPath,
  at: At,
  message: string,
): Diagnostic {
  return { code, severity: severities[code], file: where.file, ...where.locate(path, at), message };
}

type TextRange = readonly [start: number, end: number];

export function diagnoseAt(where: Source, code: DiagnosticCode, [start, end]: TextRange, message: string): Diagnostic {
  return { code, severity: severities[code], file: where.file, ...where.at(start, end), message };
}

function createSource(file: string, text: string, document: Document, lines: LineCounter): Source {
  const at = (start: number, end: number): SourceLocation => {
    const { line, col: column } = lines.linePos(start);
    const [lineText = ''] = text.slice(start - column + 1).split(/\r?\n/, 1);
    return { line, column, frame: frame(lineText, line, column, end - start) };
  };
  const locate = (path: YamlPath, which: At): SourceLocation => at(...range(document, path, which));
  const written = (path: YamlPath): string => {
    const value = resolved(nodeAt(document, path)?.value, document);
    return isScalar(value) ? (value.source ?? String(value.value)) : '';
  };
  const keysOf = (path: YamlPath): readonly string[] => {
    const map = resolved(nodeAt(document, path)?.value, document);
    return isMap(map) ? map.items.map(({ key }) => String(key)) : [];
  };
  return { file, text, document, keysOf, at, locate, written };
}

interface PathNode {
  readonly key: Node | undefined;
  readonly value: Node | undefined;
}

const resolved = (node: unknown, document: Document): unknown => (isAlias(node) ? node.resolve(document) : node);

function step(node: unknown, name: string | number): PathNode | undefined {
  if (isSeq<Node>(node)) {
    const value = node.items[Number(name)];
    return value && { key: value, value };
  }
  if (!isMap<Node, Node | null>(node)) return undefined;
  const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(name));
  return pair && { key: pair.key, value: pair.value ?? undefined };
}

/** undefined if no node has the path. */
function nodeAt(document: Document, path: YamlPath): PathNode | undefined {
  let found: PathNode | undefined = { key: undefined, value: document.contents ?? undefined };
  for (const name of path) found = found && step(resolved(found.value, document), name);
  return found;
}

export const rangeOf = (node: Node | undefined): TextRange => [node?.range?.[0] ?? 0, node?.range?.[1] ?? 0];

/** Faults of a multi-line value point to its key. */
const isBlock = (node: Node | undefined): boolean => isCollection(node) && !node.flow;

function range(document: Document, path: YamlPath, which: At): TextRange {
  const found = nodeAt(document, path);
  if (!found) return range(document, path.slice(0, -1), 'key');
  const [start, end] = rangeOf(found.value);
  const byKey = which === 'key' || start === end || isBlock(found.value);
  return found.key && byKey ? rangeOf(found.key) : [start, end];
}

const MAX_WIDTH = 100;
const LEAD = 40;

const shown = (text: string): string => printable(text.toWellFormed());

/** Keeps tabs, so that the carets below line up. */
const blank = (text: string): string => text.replaceAll(/[^\t]/gu, ' ');

/** The line with carets under the location. `column`: 1-based, in UTF-16 code units. */
function frame(source: string, line: number, column: number, length: number): string {
  const start = column - 1;
  const from = source.length <= MAX_WIDTH ? 0 : Math.max(0, start - LEAD);
  const to = source.length <= MAX_WIDTH ? source.length : from + MAX_WIDTH;
  const end = Math.min(source.length, to, start + Math.max(1, length));
  const before = (from === 0 ? '' : '…') + shown(source.slice(from, start));
  const place = shown(source.slice(start, end));
  const after = shown(source.slice(end, to)) + (to >= source.length ? '' : '…');
  const number = String(line);
  return [
    `${number} | ${before}${place}${after}`.trimEnd(),
    `${' '.repeat(number.length)} | ${blank(before)}${'^'.repeat(Math.max(1, [...place].length))}`,
  ].join('\n');
}

const MAX_BYTES = 2 ** 19;
/** Further faults of a file that is not YAML mostly follow from the first. */
const MAX_YAML_FAULTS = 10;
/** Equal errors at most this many lines apart have one cause. */
const MAX_LINES_APART = 3;

interface ReadResult {
  readonly source: Source | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** A file or directory without a line to show. */
export const withoutSource = (file: string): FileLocator => ({
  file,
  locate: () => ({ line: 1, column: 1, frame: '' }),
  written: () => '',
});

/** `file` is the name in messages, `location` the path to open. */
export function readDescriptor(file: string, location: string): ReadResult {
  try {
    const entry = statSync(location);
    if (!entry.isFile()) return refused(file, 'unreadable-file', 'this is not a file');
    if (entry.size > MAX_BYTES) {
      return refused(file, 'file-too-large', `the file is larger than ${MAX_BYTES / 1024} KiB`);
    }
    const bytes = readFileSync(location);
    if (!isUtf8(bytes) || bytes.includes(0)) {
      return refused(file, 'not-text', 'the file is not UTF-8 text, or contains U+0000');
    }
    return readText(file, new TextDecoder().decode(bytes));
  } catch (error) {
    return refused(file, 'unreadable-file', `the file cannot be read: ${reasonOf(error)}`);
  }
}

const refused = (file: string, code: DiagnosticCode, message: string): ReadResult => ({
  source: undefined,
  diagnostics: [diagnose(withoutSource(file), code, [], 'value', message)],
});

function readText(file: string, text: string): ReadResult {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...OPTIONS, lineCounter: lines });
  const whole = createSource(file, text, document, lines);
  const faults = reportedErrors(document.errors, lines).map((error) => explain(whole, error));
  const warnings = document.warnings.map((warning) => diagnoseAt(whole, 'yaml-warning', warning.pos, warning.message));
  if (faults.length > 0 || document.contents !== null) return { source: whole, diagnostics: [...faults, ...warnings] };
  const { diagnostics } = refused(file, 'empty-file', 'the file is empty; a descriptor begins with "type:"');
  return { source: whole, diagnostics };
}

const OPTIONS = {
  schema: 'core',
  merge: false,
  // The parser's check takes quadratic time; the conversion to JSON finds equal keys.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'error',
} as const;

/** Keeps one error for each line, or for close lines with equal errors. */
function reportedErrors(errors: readonly YAMLError[], lines: LineCounter): readonly YAMLError[] {
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (exhausted) return [exhausted];
  const reported: YAMLError[] = [];
  let [lastLine, lastCode] = [-1, ''];
  for (const error of errors) {
    const { line } = lines.linePos(error.pos[0]);
    const echo = line === lastLine || (line <= lastLine + MAX_LINES_APART && error.code === lastCode);
    if (!echo) reported.push(error);
    if (line !== lastLine) [lastLine, lastCode] = [line, error.code];
  }
  return reported.slice(0, MAX_YAML_FAULTS);
}

/** Plain messages for the parser's most common errors. */
const explained: Partial<Record<YAMLError['code'], readonly [DiagnosticCode, string]>> = {
  MULTIPLE_DOCS: ['several-documents', 'a second document begins here; put each descriptor into its own file'],
  RESOURCE_EXHAUSTION: ['yaml-syntax', 'the YAML is nested too deeply'],
  BLOCK_IN_FLOW: ['yaml-syntax', 'a key inside a value: quote text that contains ": "'],
  BLOCK_AS_IMPLICIT_KEY: [
    'yaml-syntax',
    'a key inside a value: quote text that contains ": ", or put the key on a new line',
  ],
  TAB_AS_INDENT: ['yaml-syntax', 'a tab in the indentation; use spaces'],
};

function explain(whole: Source, error: YAMLError): Diagnostic {
  const [code, message] = explained[error.code] ?? ['yaml-syntax', `this is not valid YAML: ${error.message}`];
  const [start, end] = error.pos;
  const indentation = Math.max(0, whole.text.slice(start).search(/[^ ]/));
  return diagnoseAt(whole, code, [start + indentation, end + indentation], message);
}
