/** Reads a file of the schema directory as text and as YAML nodes. Every fault on the way is a diagnostic. */
import { readFileSync, statSync } from 'node:fs';
import { Document, LineCounter, parseDocument, type YAMLError } from 'yaml';
import type { Diagnostic, DiagnosticCode } from '../diagnostic.ts';
import { reasonOf } from '../problem.ts';
import { diagnose, diagnoseAt, type Placing, createSource, type Source } from './source.ts';

const MAX_BYTES = 2 ** 19;
/** Lines reported for a file that is not YAML: the others mostly follow from these. */
const MAX_YAML_FAULTS = 10;
/** Lines this close together that have the same error have it for the same reason. */
const NEIGHBOURS = 3;

/** `source` is undefined if the file could not be read as YAML at all. */
interface ReadResult {
  readonly source: Source | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** A file or directory without a line to show. */
export const unplaced = (file: string): Placing => ({
  file,
  place: () => ({ line: 1, column: 1, frame: '' }),
  written: () => '',
});

function fault(file: string, code: DiagnosticCode, message: string): ReadResult {
  return { source: undefined, diagnostics: [diagnose(unplaced(file), code, [], 'value', message)] };
}

/** `file` is the name in messages, `location` the path to open. */
export function readDescriptor(file: string, location: string): ReadResult {
  try {
    const entry = statSync(location);
    if (!entry.isFile()) return fault(file, 'unreadable-file', 'this is not a file');
    if (entry.size > MAX_BYTES) return fault(file, 'file-too-large', `the file is larger than ${MAX_BYTES / 1024} KiB`);
    return readBytes(file, readFileSync(location));
  } catch (error) {
    return fault(file, 'unreadable-file', `the file cannot be read: ${reasonOf(error)}`);
  }
}

function readBytes(file: string, bytes: Uint8Array): ReadResult {
  const text = decode(bytes);
  if (text === undefined) return fault(file, 'not-text', 'the file is not UTF-8 text');
  return text.includes('\0')
    ? fault(file, 'not-text', 'the file contains U+0000, so it is not text')
    : readText(file, text);
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function readText(file: string, text: string): ReadResult {
  const lines = new LineCounter();
  const [document, failure] = parse(text, lines);
  const whole = createSource(file, text, document, lines);
  if (failure) return { source: whole, diagnostics: [diagnoseAt(whole, 'yaml-syntax', [0, 1], failure)] };
  const faults = telling(document.errors, lines).map((error) => explain(whole, error));
  const warnings = document.warnings.map((warning) => diagnoseAt(whole, 'yaml-warning', warning.pos, warning.message));
  const empty = faults.length === 0 && document.contents === null;
  return {
    source: whole,
    diagnostics: empty
      ? fault(file, 'empty-file', 'the file is empty; a descriptor begins with "type:"').diagnostics
      : [...faults, ...warnings],
  };
}

const TOO_DEEP = 'the YAML is nested too deeply';

/** Never throws: a text that exhausts the parser is a fault too. */
function parse(text: string, lineCounter: LineCounter): readonly [Document, string | undefined] {
  try {
    // Equal keys are found in the conversion to JSON: the parser would compare each key with every other.
    const options = {
      lineCounter,
      schema: 'core',
      merge: false,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
    } as const;
    return [parseDocument(text, options), undefined];
  } catch {
    return [new Document(null), TOO_DEEP];
  }
}

/** One error for each line, and one for neighbouring lines with the same error. */
function telling(errors: readonly YAMLError[], lines: LineCounter): readonly YAMLError[] {
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (exhausted) return [exhausted];
  const told: YAMLError[] = [];
  let [lastLine, lastCode] = [-1, ''];
  for (const error of errors) {
    const { line } = lines.linePos(error.pos[0]);
    const echo = line === lastLine || (line <= lastLine + NEIGHBOURS && error.code === lastCode);
    if (!echo) told.push(error);
    if (line !== lastLine) [lastLine, lastCode] = [line, error.code];
  }
  return told.slice(0, MAX_YAML_FAULTS);
}

/** Plain words for the parser's most common errors, by its code. */
const explained: Partial<Record<YAMLError['code'], readonly [DiagnosticCode, string]>> = {
  MULTIPLE_DOCS: ['several-documents', 'a second document begins here; put each descriptor into its own file'],
  RESOURCE_EXHAUSTION: ['yaml-syntax', TOO_DEEP],
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
