/** Faults in descriptors, with their location, and the catalogue of their codes. */
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
  /** One sentence with the fault, the expected value, and the nearest valid name. */
  readonly message: string;
  /** The source line, with carets under the location. */
  readonly frame: string;
}

interface DiagnosticKind {
  readonly severity: Severity;
  /** As Markdown, for docs/reference/diagnostics.md. */
  readonly cause: string;
  readonly cure: string;
}

/** Every diagnostic code. */
export const diagnosticCodes = {
  // Files
  'no-schema': {
    severity: 'error',
    cause: 'The schema folder is missing, cannot be read, or has no `.yaml` or `.yml` file.',
    cure: 'Check `SCHEMA_DIR`, and put at least one descriptor there.',
  },
  'unreadable-file': {
    severity: 'error',
    cause: 'The file cannot be opened.',
    cure: 'Check that it exists and that the service can read it.',
  },
  'file-too-large': {
    severity: 'error',
    cause: 'The file is larger than 512 KiB.',
    cure: 'Use one file for each type, and move large seeds elsewhere.',
  },
  'not-text': {
    severity: 'error',
    cause: 'The file is not UTF-8 text, or contains U+0000.',
    cure: 'Save it as UTF-8.',
  },
  'empty-file': {
    severity: 'error',
    cause: 'The file has no content.',
    cure: 'Write a descriptor that begins with `type:`, or delete the file.',
  },
  // YAML
  'yaml-syntax': {
    severity: 'error',
    cause: 'The file is not YAML: wrong indentation, an open quote or bracket, a tab.',
    cure: 'Repair the line that is shown. Quote values that contain `: ` or `#`.',
  },
  'yaml-warning': {
    severity: 'warning',
    cause: 'The file is YAML, but probably not what you meant: an unknown `!tag`, for example.',
    cure: 'Remove the tag or directive.',
  },
  'duplicate-key': { severity: 'error', cause: 'A mapping has the same key twice.', cure: 'Remove or rename one.' },
  'several-documents': {
    severity: 'error',
    cause: 'The file has more than one YAML document (`---`).',
    cure: 'Use one file for each type.',
  },
  'too-many-aliases': {
    severity: 'error',
    cause: 'Aliases (`*name`) repeat too much, or contain themselves.',
    cure: 'Write the values out.',
  },
  'not-json': {
    severity: 'error',
    cause:
      'JSON has no such value: `.inf`, `.nan`, an integer beyond 2^53-1 (except in values that are kept as text), a key that is not text, U+0000.',
    cure: 'Quote it, or write another value.',
  },
  'too-many-faults': {
    severity: 'error',
    cause: 'The file has more than 100 errors. The rest are counted, not shown.',
    cure: 'Repair those that are shown.',
  },
  // Grammar
  'wrong-type': {
    severity: 'error',
    cause: 'The key takes another kind of value: text where a list is expected, or `yes` instead of `true`.',
    cure: 'Write what the message expects.',
  },
  'unknown-key': {
    severity: 'error',
    cause: 'No such key exists here.',
    cure: 'Use the key that the message suggests, or remove it.',
  },
  'misplaced-key': {
    severity: 'error',
    cause:
      'The key exists, but not for this field type, relation kind or place: `precision` on a string, `sensitive` on a relation.',
    cure: 'Move or remove it, or change `type` or `kind`.',
  },
  'missing-key': {
    severity: 'error',
    cause: 'A required key is missing: `type` of a field, `kind` of a relation.',
    cure: 'Add it.',
  },
  'unknown-value': {
    severity: 'error',
    cause: 'The key takes one of a few words, and this is not one of them.',
    cure: 'Use the word that the message suggests.',
  },
  'bad-value': {
    severity: 'error',
    cause: 'A number or list is outside its limits: `maxLimit: 0`, an empty `enum`.',
    cure: 'Stay within the limits in the message.',
  },
  'repeated-item': { severity: 'error', cause: 'A list contains the same item twice.', cure: 'Remove one.' },
  'bad-name': {
    severity: 'error',
    cause:
      'A name must begin with a letter or `_`, contain only letters, digits and `_`, be in Unicode form NFC, and have at most 60 bytes.',
    cure: 'Choose another name.',
  },
  'reserved-name': { severity: 'error', cause: 'The name is reserved; see Names.', cure: 'Choose another name.' },
  'bad-path': {
    severity: 'error',
    cause:
      'A path is one URL segment: a lowercase letter or digit, then letters, digits, `-` and `_`. The default path of a type can break this rule too.',
    cure: 'Write another `path`.',
  },
  'bad-order': {
    severity: 'error',
    cause: 'An item of `order` is not a field with an optional `asc` or `desc`.',
    cure: 'Write `position` or `position desc`.',
  },
  'bad-pattern': {
    severity: 'error',
    cause:
      '`pattern` is not a regular expression (ECMA-262, flag `u`), or RE2 cannot match it: it has a look-around or back-reference, or repeats a part more than 1,000 times.',
    cure: 'Correct it. With the flag `u`, `\\` and `-` are stricter.',
  },
  // Fields
  'contradictory-constraints': {
    severity: 'error',
    cause:
      'Constraints of a field exclude each other: `minLength` above `maxLength`, or an `enum` value that another constraint rejects.',
    cure: 'Change one of them.',
  },
  'bad-default': {
    severity: 'error',
    cause: 'The field does not accept its own `default`.',
    cure: 'Change the default or the constraints. Quote decimals: `"0"`.',
  },
  'null-default': {
    severity: 'error',
    cause: '`default: null` on a field that is not nullable.',
    cure: 'Add `nullable: true`, or choose another default.',
  },
  'bad-example': {
    severity: 'error',
    cause: 'The field does not accept one of its `examples`.',
    cure: 'Change the example or the constraints.',
  },
  'other-spelling': {
    severity: 'warning',
    cause: 'A `default` or an example is answered in another form than it is written, such as a time with an offset.',
    cure: 'Write it as the message has it.',
  },
  'unused-default': {
    severity: 'warning',
    cause:
      'A field has `required` and `default`: a create must contain it, so only records that are there before the field get the default.',
    cure: 'Remove `required` if clients may leave the field out, otherwise `default`.',
  },
  'missing-default': {
    severity: 'error',
    cause: '`nullable: false` without `default` or `required`: a record created without the field would have no value.',
    cure: 'Add `default` or `required: true`.',
  },
  'read-only-required': {
    severity: 'error',
    cause: 'The field is `required` and `readOnly`: clients would have to send what they cannot set.',
    cure: 'Remove one of the two, or the operation `create`.',
  },
  'generated-conflict': {
    severity: 'error',
    cause:
      'A `generated` field has a word that says how requests set it, such as `required`, `default` or `maxLength`, or a `unique` group or a check names it.',
    cure: 'Remove the word, or `generated`.',
  },
  'duplicate-generated': {
    severity: 'error',
    cause: 'Two fields of a type are generated by the same word.',
    cure: 'Keep one of them.',
  },
  // Names
  'duplicate-type': {
    severity: 'error',
    cause: 'Two files describe the same type, or types whose names differ only in case.',
    cure: 'Rename or remove one.',
  },
  'duplicate-path': {
    severity: 'error',
    cause: 'Two types have the same path, given or by default.',
    cure: 'Give one of them another `path`.',
  },
  'duplicate-table': {
    severity: 'error',
    cause: 'Two types, or a type and a join table, have the same table.',
    cure: 'Give one of them another `table` or `through`.',
  },
  'duplicate-name': {
    severity: 'error',
    cause: 'Two of the identifier, fields and relations of a type have the same name, apart from case.',
    cure: 'Rename one.',
  },
  'hidden-id': {
    severity: 'warning',
    cause:
      'A field or relation is called `id`, and the identifier has another name: `/json-server` and `/simple-rest` show the identifier as `id` and leave this out.',
    cure: 'Rename it, if clients of these need it; `/api` has both.',
  },
  'duplicate-column': {
    severity: 'error',
    cause: 'Two fields or relations of a type use the same column. The hidden column of a hasMany counts too.',
    cure: 'Give the relation another `column`.',
  },
  'former-name-taken': {
    severity: 'error',
    cause: '`renamedFrom` names a type, field or relation that still exists.',
    cure: 'Remove `renamedFrom`, or the old one.',
  },
  'duplicate-rename': {
    severity: 'error',
    cause: 'Two `renamedFrom` have the same previous name, but the data can move to one place only.',
    cure: 'Keep the one that you mean.',
  },
  // Relations
  'unknown-type': {
    severity: 'error',
    cause: 'A relation leads to a type that no file describes.',
    cure: 'Use the type that the message suggests, or write its descriptor.',
  },
  'hidden-identifier': {
    severity: 'error',
    cause:
      'A relation leads to a type whose records do not show their identifier (`inRecord: false`), so they cannot be linked.',
    cure: 'Show the identifier, or remove the relation.',
  },
  'unknown-inverse': {
    severity: 'error',
    cause: 'The other type has no relation with the name in `inverse`.',
    cure: 'Use the relation that the message suggests, or add it there.',
  },
  'inverse-mismatch': {
    severity: 'error',
    cause:
      'The two relations are not two sides of one: they differ in type, `inverse` or `through`, or their kinds do not pair (belongsTo with hasOne or hasMany, manyToMany with manyToMany).',
    cure: 'Make both sides agree.',
  },
  'duplicate-inverse': {
    severity: 'error',
    cause: 'Two relations have the same inverse.',
    cure: 'Give one of them another inverse.',
  },
  'unpaired-relations': {
    severity: 'warning',
    cause:
      'A belongsTo leads to a type, and a hasOne or hasMany leads back, but neither names the other, so each has its own column.',
    cure: 'Add `inverse` if they are two sides of one.',
  },
  'misplaced-column': {
    severity: 'error',
    cause: '`column` is set on a hasOne or hasMany, but its inverse, a belongsTo, has the column.',
    cure: 'Set `column` on the belongsTo.',
  },
  'contradictory-deletion': {
    severity: 'error',
    cause:
      'The other side is `owned`, but the belongsTo says `onDelete: restrict` or `setNull`. Owned records are deleted with their owner.',
    cure: 'Remove `onDelete`, or `owned` on the other side.',
  },
  'set-null-required': {
    severity: 'error',
    cause: 'A `required` relation has `onDelete: setNull`.',
    cure: 'Remove one of the two.',
  },
  'required-cycle': {
    severity: 'error',
    cause: 'Required relations form a cycle, so no first record could be created.',
    cure: 'Remove `required` from one of them.',
  },
  'needless-acyclic': {
    severity: 'error',
    cause: '`acyclic` on a relation to another type, where no record can be above itself.',
    cure: 'Remove it.',
  },
  'blocked-deletion': {
    severity: 'warning',
    cause: 'Records of a type without operations would block a DELETE, and no client could remove them.',
    cure: 'Set `owned` on the other side, or `onDelete: cascade` or `setNull`.',
  },
  'unreachable-type': {
    severity: 'warning',
    cause: 'A type has no operations, and no relation leads to it.',
    cure: 'Give it operations or a relation, or delete the file.',
  },
  // References to fields
  'unknown-field': {
    severity: 'error',
    cause:
      "`order`, `unique`, `indexes`, `checks`, `variants`, a relation's `fields` or a seed names a field that does not exist.",
    cure: 'Use the field that the message suggests.',
  },
  'not-comparable': {
    severity: 'error',
    cause:
      '`order`, `unique`, `indexes` or a check names a field that cannot be compared (`any`, `array`), or a check compares it by an operator that its type lacks, or with a field of another type.',
    cure: 'Remove it there.',
  },
  'bad-operand': {
    severity: 'error',
    cause:
      'A check compares a field with something that is not a value of its type (a number where the field is a decimal, text where it is an integer), or with itself.',
    cure: "Write the value as in a body: `'10.50'` for a decimal.",
  },
  'too-deep': {
    severity: 'error',
    cause: 'A check has groups (`$any`, `$all`, `$none`) nested more than three deep.',
    cure: 'Take the check apart: several checks must all be met.',
  },
  'broken-default': {
    severity: 'error',
    cause: 'The defaults of the fields that a check names do not meet it together.',
    cure: 'Change one of the defaults.',
  },
  'unknown-variant': {
    severity: 'error',
    cause: '`variants.default` is not a key of `variants.omit`.',
    cure: 'Use one of the variants, or add one: `A: []` omits nothing.',
  },
  'variant-omits-required': {
    severity: 'error',
    cause: 'A variant omits a field that is required on create, so it could not create any record.',
    cure: 'Keep the field in the variant, give it a default instead of `required`, or remove the operation `create`.',
  },
  // Seeds
  'seed-identifier': {
    severity: 'error',
    cause: 'A seed record has no identifier, or one that is not an integer from 1 on.',
    cure: 'Add it: seeds are inserted once for each identifier.',
  },
  'duplicate-seed': { severity: 'error', cause: 'Two seed records have the same identifier.', cure: 'Change one.' },
  'invalid-seed': {
    severity: 'error',
    cause: 'The type does not accept a value of the seed record, or an earlier one has the same unique value.',
    cure: 'Write what the message expects.',
  },
} as const satisfies Record<string, DiagnosticKind>;

export type DiagnosticCode = keyof typeof diagnosticCodes;
