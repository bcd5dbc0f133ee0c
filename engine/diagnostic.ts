/** A fault in a descriptor, said so that the maintainer finds the place: the one catalogue of their codes. */
export type Severity = 'error' | 'warning';

export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: Severity;
  /** Path of the descriptor, relative to the working directory. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 code units, as editors count. */
  readonly column: number;
  /** What is wrong and what was expected, in one sentence, the nearest valid name included. */
  readonly message: string;
  /** The source line and, below it, carets under the place. */
  readonly frame: string;
}

/** Every diagnostic code and its severity. Cause and cure of each stand in schema/README.md. */
export const diagnosticCodes = {
  'yaml-syntax': 'error',
} as const satisfies Record<string, Severity>;

export type DiagnosticCode = keyof typeof diagnosticCodes;
