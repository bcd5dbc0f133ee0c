/** Diagnostics as people read them: in the order of the files, each with its place, and a count at the end. */
import type { Diagnostic, Severity } from '../diagnostic.ts';
import { printable } from './frame.ts';

export function formatDiagnostics(diagnostics: readonly Diagnostic[]): string {
  if (diagnostics.length === 0) return 'No faults found.';
  return [...sortDiagnostics(diagnostics).map(format), summary(diagnostics)].join('\n\n');
}

export const sortDiagnostics = (diagnostics: readonly Diagnostic[]): readonly Diagnostic[] =>
  diagnostics.toSorted(
    (a, b) => order(a.file, b.file) || a.line - b.line || a.column - b.column || order(a.code, b.code),
  );

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function format({ file, line, column, severity, code, message, frame }: Diagnostic): string {
  const head = `${printable(file)}:${line}:${column} ${severity} ${code}`;
  return [head, indented(printable(message)), ...(frame === '' ? [] : [indented(frame)])].join('\n');
}

const indented = (text: string): string => text.replace(/^/gm, '  ');

function summary(diagnostics: readonly Diagnostic[]): string {
  const count = (severity: Severity) => diagnostics.filter((one) => one.severity === severity).length;
  const files = new Set(diagnostics.map(({ file }) => file)).size;
  return `${plural(count('error'), 'error')}, ${plural(count('warning'), 'warning')} in ${plural(files, 'file')}`;
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;
