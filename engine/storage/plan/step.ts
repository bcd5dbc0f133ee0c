/** A migration as data: what is to change, why that may be a matter of concern, and the SQL that does it. */
import type { JsonObject } from '../../json.ts';
import type { AppliedModel, TableDefinition } from '../applied-model.ts';

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
export interface Check {
  /** Answers columns `identifier` and `value`. With `schema`, `value` is JSON text, and the rows that do not fit count. */
  readonly sql: string;
  readonly schema: JsonObject | undefined;
  /** fail: as long as there are such rows, the step cannot be made. */
  readonly effect: 'lose' | 'change' | 'fail';
  /** Ends the sentence that begins with how many records. */
  readonly says: string;
}

export interface Step {
  readonly code: StepCode;
  readonly type: string;
  readonly name: string | undefined;
  readonly risk: Risk;
  /** For people. */
  readonly description: string;
  readonly sql: readonly string[];
  readonly checks: readonly Check[];
  /** The table, as it is called before, whose rows are at stake. */
  readonly rowsIn: string | undefined;
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly applied: AppliedModel;
  readonly wanted: AppliedModel;
  /** The tables that it changes, as they should be before, by name. */
  readonly touched: Readonly<Record<string, TableDefinition>>;
}

/** What `--allow` takes: `drop-field:Book.isbn`. */
export const stepId = ({ code, type, name }: Pick<Step, 'code' | 'type' | 'name'>): string =>
  `${code}:${type}${name === undefined ? '' : `.${name}`}`;
