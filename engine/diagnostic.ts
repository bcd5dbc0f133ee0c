/** Faults in descriptors, with their location. The catalogue of their codes is `diagnostics.json`. */
import sections from './diagnostics.json';

type Severity = 'error' | 'warning';

export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: Severity;
  readonly file: string;
  readonly line: number;
  /** 1-based, in UTF-16 code units. */
  readonly column: number;
  /** The fault, the expected value, and the nearest valid name. */
  readonly message: string;
  /** The source line, with carets under the location. */
  readonly frame: string;
}

export const isError = ({ severity }: Diagnostic): boolean => severity === 'error';

type Sections = typeof sections;
export type DiagnosticCode = { [S in keyof Sections]: keyof Sections[S] }[keyof Sections];

/** The severity of each code; docs/reference/diagnostics.md has causes and cures. */
export const severities: Readonly<Record<DiagnosticCode, Severity>> = Object.assign({}, ...Object.values(sections));
