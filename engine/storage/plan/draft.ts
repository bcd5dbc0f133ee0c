/** Steps before their SQL is known, and what those of one type share. */
import type { Field, RecordType } from '../../model/model.ts';
import type { Edit } from '../alteration.ts';
import type { AppliedField, AppliedReference, AppliedType } from '../applied-model.ts';
import type { Column } from '../columns.ts';
import type { Dialect } from '../driver.ts';
import { type Check, type Step, type StepCode, stepRisks } from './step.ts';

export interface DraftStep {
  readonly code: StepCode;
  readonly type: string;
  readonly name: string | undefined;
  readonly description: string;
  readonly edits: readonly Edit[];
  readonly checks: readonly Check[];
  /** Statements apart from those of the table, made first. */
  readonly also: readonly string[];
}

interface Parts {
  readonly name?: string;
  readonly edits?: readonly Edit[];
  readonly checks?: readonly Check[];
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
): Step => ({ code, type, name, risk: stepRisks[code], description, sql, checks, rowsIn });

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
