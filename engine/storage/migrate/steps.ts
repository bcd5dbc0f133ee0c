import type { Model } from '../../model/model.ts';
import type { AppliedModel } from './applied.ts';
import kinds from './steps.json';
import type { Edit, Task } from './task.ts';

/** safe: no record can lose data. needsCheck: records may conflict. destructive: data is lost. */
type Risk = 'safe' | 'needsCheck' | 'destructive';

type Effect = 'lose' | 'change' | 'fail';

/** Of `steps.json`. */
interface StepKind {
  readonly risk: Risk;
  /** What the step does. `{name}` and the like are filled in. */
  readonly text: string;
  /** How older instances react. refuse: not use the type. read: only read. named, renamed: go on (see `olderInstances`). */
  readonly older?: 'refuse' | 'read' | 'named' | 'renamed' | undefined;
  /** Whether it drops what the descriptors do not name, which otherwise stays. A start drops rules. */
  readonly isDrop?: true;
  /** Whether older statements would misread the column afterwards. */
  readonly isMisread?: true;
  /** Whether the operator must say what is meant. */
  readonly isQuestion?: true;
  /** The effect on the records that it counts, worded to follow their number; those that fail stand in the way. */
  readonly lose?: string;
  readonly change?: string;
  readonly fail?: string;
}

export type StepCode = keyof typeof kinds;

/** Documented in docs/reference/changes.md. */
export const stepKinds = kinds as Readonly<Record<StepCode, StepKind>>;

type Coded = Pick<MigrationStep, 'code'>;

export const kindOf = ({ code }: Coded): StepKind => stepKinds[code];

export const isSeed = ({ code }: Coded): boolean => code === 'add-seed';

/** An open type would store the other name of a part as an open key. */
export function olderInstances(step: Coded, isOpen: boolean): 'refuse' | 'read' | 'named' | undefined {
  const { older } = kindOf(step);
  return older === 'renamed' ? (isOpen ? 'refuse' : 'named') : older;
}

/** Finds rows before the plan runs. Columns: `identifier`, `value`. */
export interface RowQuery {
  readonly sql: string;
  /** If `value` is JSON: count only rows that this refuses. */
  readonly accepts?: (json: string) => boolean;
  /** The table whose open keys the check reads as values of fields. */
  readonly takesKeysOf?: string;
}

export interface StepCheck extends RowQuery {
  readonly effect: Effect;
  readonly says: string;
}

export interface MigrationStep {
  readonly code: StepCode;
  readonly type: string;
  readonly name: string | undefined;
  readonly risk: Risk;
  readonly description: string;
  readonly checks: readonly StepCheck[];
  readonly edits: readonly Edit[];
  readonly tasks: readonly Task[];
  readonly rowsIn: string | undefined;
  readonly creates: readonly string[];
  /** The tables of which seeds insert or link records. */
  readonly seeds: readonly string[];
  /** The tables to which new foreign keys refer. */
  readonly refersTo: readonly string[];
}

export interface Plan {
  readonly steps: readonly MigrationStep[];
  readonly kept: readonly MigrationStep[];
  readonly applied: AppliedModel;
  readonly model: Model;
  readonly wanted: AppliedModel;
  /** Names in descriptors that have no effect. */
  readonly unused: readonly string[];
}

/** Values of placeholders. `{field}` and `{relation}` consist of name and type. */
interface Words {
  readonly type?: string;
  readonly name?: string | undefined;
  readonly was?: string | undefined;
  readonly now?: string | undefined;
  readonly detail?: string;
}

export type StepParts = Partial<
  Pick<MigrationStep, 'rowsIn' | 'edits' | 'tasks' | 'checks' | 'creates' | 'seeds' | 'refersTo'>
> &
  Omit<Words, 'type'> & { readonly rows?: RowQuery | undefined };

export function createStep(code: StepCode, type: string, parts: StepParts = {}): MigrationStep {
  const { name, rows, checks = [], edits = [], tasks = [], rowsIn, creates = [], seeds = [], refersTo = [] } = parts;
  const { risk, text } = kindOf({ code });
  const words = { ...parts, type };
  const own = rows ? [checkOf(code, words, rows)] : [];
  const step = { code, type, name, risk, description: filled(text, words), checks: [...own, ...checks] };
  return { ...step, edits, tasks, rowsIn, creates, seeds, refersTo };
}

export function checkOf(code: StepCode, words: Words, rows: RowQuery): StepCheck {
  const kind = kindOf({ code });
  const effect = (['fail', 'change', 'lose'] as const).find((one) => kind[one] !== undefined) ?? 'lose';
  return { ...rows, effect, says: filled(kind[effect] ?? '', words) };
}

function filled(text: string, words: Words): string {
  const named = `"${words.name}" of ${words.type}`;
  const all: Readonly<Record<string, unknown>> = { ...words, field: `field ${named}`, relation: `relation ${named}` };
  return text.replaceAll(/\{(\w+)\}/g, (_, key: string) => String(all[key] ?? ''));
}

export const stepId = ({ code, type, name }: Pick<MigrationStep, 'code' | 'type' | 'name'>): string =>
  `${code}:${type}${name === undefined ? '' : `.${name}`}`;
