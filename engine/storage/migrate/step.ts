/** A migration as data: what is to change, why that may be a matter of concern, and the SQL that does it. */
import type { JsonObject } from '../../json.ts';
import type { AppliedField, AppliedModel, AppliedReference, AppliedType, TableDefinition } from './applied.ts';
import type { Field, RecordType } from '../../model/model.ts';
import type { Edit } from './driver.ts';
import type { Column } from '../columns.ts';
import type { Dialect } from '../driver.ts';

/** safe: no record can lose anything. needsCheck: records may stand in the way. destructive: something is lost. */
export type Risk = 'safe' | 'needsCheck' | 'destructive';

/** Every kind of step. The manual lists them; a test compares both ways. */
export const stepRisks = {
  'add-type': 'safe',
  'rename-type': 'safe',
  'move-table': 'safe',
  'rename-identifier': 'safe',
  'open-type': 'safe',
  'claim-key': 'safe',
  'close-type': 'destructive',
  'drop-type': 'destructive',
  'add-field': 'safe',
  'add-required-field': 'needsCheck',
  'rename-field': 'safe',
  'convert-field': 'safe',
  'replace-field': 'needsCheck',
  'narrow-field': 'needsCheck',
  'widen-field': 'safe',
  'relax-field': 'safe',
  'require-field': 'needsCheck',
  'fill-field': 'destructive',
  'change-default': 'safe',
  'drop-field': 'destructive',
  'add-relation': 'safe',
  'add-required-relation': 'needsCheck',
  'rename-relation': 'safe',
  'relax-relation': 'safe',
  'require-relation': 'needsCheck',
  'share-relation': 'safe',
  'unshare-relation': 'needsCheck',
  'change-deletion': 'safe',
  'drop-relation': 'destructive',
  'move-links': 'safe',
  'add-unique': 'needsCheck',
  'drop-unique': 'safe',
  'add-index': 'safe',
  'drop-index': 'safe',
  'remake-indexes': 'safe',
  'rebuild-table': 'safe',
  /** Something vanished beside something new that looks the same: a rename, unless somebody says that it is none. */
  'not-renamed': 'destructive',
} as const satisfies Record<string, Risk>;

export type StepCode = keyof typeof stepRisks;

/** Rows that the step would hurt. Its SQL runs on the database as it is before the plan. */
export interface StepCheck {
  /** Answers columns `identifier` and `value`. With `schema`, `value` is JSON text, and the rows that do not fit count. */
  readonly sql: string;
  readonly schema: JsonObject | undefined;
  /** fail: as long as there are such rows, the step cannot be made. */
  readonly effect: 'lose' | 'change' | 'fail';
  /** Ends the sentence that begins with how many records. */
  readonly says: string;
}

export interface MigrationStep {
  readonly code: StepCode;
  readonly type: string;
  readonly name: string | undefined;
  readonly risk: Risk;
  /** For people. */
  readonly description: string;
  readonly sql: readonly string[];
  readonly checks: readonly StepCheck[];
  /** The table, as it is called before, whose rows are at stake. */
  readonly rowsIn: string | undefined;
}

export interface Plan {
  readonly steps: readonly MigrationStep[];
  readonly applied: AppliedModel;
  readonly wanted: AppliedModel;
  /** The tables that it changes, as they should be before, by name. */
  readonly touched: Readonly<Record<string, TableDefinition>>;
}

/** What `--allow` takes: `drop-field:Book.isbn`. */
export const stepId = ({ code, type, name }: Pick<MigrationStep, 'code' | 'type' | 'name'>): string =>
  `${code}:${type}${name === undefined ? '' : `.${name}`}`;

// Steps before their SQL is known, and what those of one type share.

export interface DraftStep {
  readonly code: StepCode;
  readonly type: string;
  readonly name: string | undefined;
  readonly description: string;
  readonly edits: readonly Edit[];
  readonly checks: readonly StepCheck[];
  /** Statements apart from those of the table, made first. */
  readonly also: readonly string[];
}

interface Parts {
  readonly name?: string;
  readonly edits?: readonly Edit[];
  readonly checks?: readonly StepCheck[];
  readonly also?: readonly string[];
}

export const draft = (code: StepCode, type: string, description: string, parts: Parts = {}): DraftStep => ({
  code,
  type,
  description,
  name: undefined,
  edits: [],
  checks: [],
  also: [],
  ...parts,
});

/** A draft with the SQL that was found for it. */
export const finished = (
  { code, type, name, description, checks }: DraftStep,
  sql: readonly string[],
  rowsIn: string | undefined,
): MigrationStep => ({ code, type, name, risk: stepRisks[code], description, sql, checks, rowsIn });

/** A type that is there already, perhaps under another name. */
export interface TypeChange {
  readonly type: RecordType;
  readonly former: string;
  readonly before: AppliedType;
  readonly dialect: Dialect;
}

/** A field of the type, with what it was. */
export interface FieldChange {
  readonly field: Field;
  readonly column: Column;
  readonly former: string | undefined;
  readonly before: AppliedField | undefined;
  /** SQL of its value over the row before. */
  readonly value: string;
}

/** A foreign key of the type's table, with what it was. */
export interface ReferenceChange {
  readonly after: AppliedReference;
  readonly column: Column;
  readonly before: AppliedReference | undefined;
  readonly value: string;
}
