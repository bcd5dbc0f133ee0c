/** Faults of descriptors, and diagnostics as text. */
import type { Diagnostic, DiagnosticCode } from '../diagnostic.ts';
import { printable } from '../process.ts';
import { type At, diagnose, type FileLocator, type YamlPath } from './source.ts';
import { shortened } from '../names.ts';

export function formatDiagnostics(diagnostics: readonly Diagnostic[]): string {
  if (diagnostics.length === 0) return 'No faults found.';
  const sorted = diagnostics.toSorted(
    (a, b) => order(a.file, b.file) || a.line - b.line || a.column - b.column || order(a.code, b.code),
  );
  const counted = (['error', 'warning'] as const).map((severity) =>
    plural(diagnostics.filter((one) => one.severity === severity).length, severity),
  );
  const files = plural(new Set(diagnostics.map(({ file }) => file)).size, 'file');
  return [...sorted.map(format), `${counted.join(', ')} in ${files}`].join('\n\n');
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

function format({ file, line, column, severity, code, message, frame }: Diagnostic): string {
  const below = printable(message) + (frame === '' ? '' : `\n${frame}`);
  return `${printable(file)}:${line}:${column} ${severity} ${code}\n${below.replace(/^/gm, '  ')}`;
}

/** A fault at a path of the descriptor, whose line is looked up later. */
export interface Finding {
  readonly code: DiagnosticCode;
  readonly path: YamlPath;
  readonly at: At;
  readonly message: string;
  /** Ends the message. `written`: the value in the file. */
  readonly advice: (written: string) => string;
}

export const finding = (
  code: DiagnosticCode,
  path: YamlPath,
  message: string,
  at: At = 'value',
  advice: Finding['advice'] = () => '',
): Finding => ({ code, path, at, message, advice });

export const diagnosed = (where: FileLocator, { code, path, at, message, advice }: Finding): Diagnostic =>
  diagnose(where, code, path, at, message + advice(where.written(path)));

/** Advice about a string that YAML has read as another value. `accepts`: whether a string would be valid. */
export const inQuotes =
  (type: unknown, value: unknown, accepts: (text: string) => boolean): Finding['advice'] =>
  (written) => {
    const isOther = type === 'string' && (typeof value === 'number' || typeof value === 'boolean');
    const text = isOther ? [written, String(value)].find(accepts) : undefined;
    return text === undefined ? '' : `; write it in quotes: ${quoted(text)}`;
  };

const MAX_SHOWN = 60;

/** A value in a message: as in JSON, and shortened if long. */
export const quoted = (value: unknown): string =>
  shortened(typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value)), MAX_SHOWN);

/** `"a", "b" or "c"`. */
export function anyOf(names: readonly string[]): string {
  const all = names.map((name) => quoted(name));
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}
