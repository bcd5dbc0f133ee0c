/** Faults in descriptors, with their location, and the catalogue of their codes. */
export type Severity = 'error' | 'warning';

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

/** The severity of each code; docs/reference/diagnostics.md has causes and cures. */
export const severities = {
  // Files
  'no-schema': 'error',
  'unreadable-file': 'error',
  'file-too-large': 'error',
  'not-text': 'error',
  'empty-file': 'error',
  // YAML
  'yaml-syntax': 'error',
  'yaml-warning': 'warning',
  'duplicate-key': 'error',
  'several-documents': 'error',
  'too-many-aliases': 'error',
  'not-json': 'error',
  'too-many-faults': 'error',
  // Grammar
  'wrong-type': 'error',
  'unknown-key': 'error',
  'misplaced-key': 'error',
  'missing-key': 'error',
  'unknown-value': 'error',
  'bad-value': 'error',
  'repeated-item': 'error',
  'bad-name': 'error',
  'reserved-name': 'error',
  'bad-path': 'error',
  'bad-order': 'error',
  'bad-pattern': 'error',
  // Fields
  'contradictory-constraints': 'error',
  'bad-default': 'error',
  'null-default': 'error',
  'bad-example': 'error',
  'other-spelling': 'warning',
  'unused-default': 'warning',
  'missing-default': 'error',
  'read-only-required': 'error',
  'generated-conflict': 'error',
  'duplicate-generated': 'error',
  // Names
  'duplicate-type': 'error',
  'duplicate-path': 'error',
  'duplicate-table': 'error',
  'duplicate-name': 'error',
  'hidden-id': 'warning',
  'dialect-word': 'warning',
  'duplicate-column': 'error',
  'former-name-taken': 'error',
  'duplicate-rename': 'error',
  // Relations
  'unknown-type': 'error',
  'hidden-identifier': 'error',
  'unknown-inverse': 'error',
  'inverse-mismatch': 'error',
  'duplicate-inverse': 'error',
  'unpaired-relations': 'warning',
  'misplaced-column': 'error',
  'contradictory-deletion': 'error',
  'set-null-required': 'error',
  'required-cycle': 'error',
  'needless-acyclic': 'error',
  'blocked-deletion': 'warning',
  'unreachable-type': 'warning',
  // References to fields
  'unknown-field': 'error',
  'not-comparable': 'error',
  'bad-operand': 'error',
  'too-deep': 'error',
  'broken-default': 'error',
  'unknown-variant': 'error',
  'variant-omits-required': 'error',
  // Roles
  'unknown-role': 'error',
  'duplicate-role': 'error',
  'include-conflict': 'error',
  'bad-condition': 'error',
  'bad-history': 'error',
  'bad-scope': 'error',
  'bad-set': 'error',
  'create-without-required': 'error',
  'not-supported': 'error',
  // Seeds
  'seed-identifier': 'error',
  'duplicate-seed': 'error',
  'invalid-seed': 'error',
} as const satisfies Record<string, Severity>;

export type DiagnosticCode = keyof typeof severities;
