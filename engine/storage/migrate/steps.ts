import type { Model } from '../../model/model.ts';
import type { AppliedModel } from './applied.ts';
import type { Edit, Task } from './task.ts';

/** safe: no record can lose data. needsCheck: records may conflict. destructive: data is lost. */
type Risk = 'safe' | 'needsCheck' | 'destructive';

type Effect = 'lose' | 'change' | 'fail';

/** Documented in docs/reference/changes.md. */
export const stepKinds = {
  'add-type': ['safe', 'Add type {type}, in table {now}'],
  'rename-type': ['safe', 'Rename {was} to {type}'],
  'rename-identifier': ['safe', 'Rename the identifier of {type} from "{was}" to "{now}"'],
  'open-type': ['safe', 'Open {type} to keys of any name'],
  'claim-key': ['safe', 'Take the name "{name}" of {type} from open keys'],
  'close-type': ['destructive', 'Close {type} to keys that no field names'],
  'drop-type': ['destructive', 'Drop type {type} and its table {was}'],
  'add-field': ['safe', 'Add {field}'],
  'add-required-field': ['needsCheck', 'Add {field}'],
  'rename-field': ['safe', 'Rename field "{was}" of {type} to "{name}"'],
  'convert-field': ['safe', 'Turn {field} from {was} into {now}'],
  'replace-field': ['needsCheck', 'Turn {field} from {was} into {now}'],
  'narrow-field': ['needsCheck', 'Let {field} accept less: {detail}'],
  'widen-field': ['safe', 'Let {field} accept more: {detail}'],
  'relax-field': ['safe', 'Let {field} be null'],
  'require-field': ['needsCheck', 'Let {field} no longer be null'],
  'fill-field': ['destructive', 'Let {field} no longer be null'],
  'change-default': ['safe', 'Give {field} the default {now}, not {was}'],
  'generate-field': ['safe', 'Let the service fill in {field}: {now}'],
  'stop-generating': ['safe', 'Let requests set {field}, which was {was}'],
  'add-caseless': ['safe', 'Ignore case in {field}'],
  'drop-caseless': ['safe', 'Let case count again in {field}, also where its values are unique'],
  'drop-field': ['destructive', 'Drop {field}'],
  'add-relation': ['safe', 'Add {relation}{detail}'],
  'add-required-relation': ['needsCheck', 'Add {relation}'],
  'rename-relation': ['safe', 'Rename relation "{was}" of {type} to "{name}"'],
  'relax-relation': ['safe', 'Let {relation} be null'],
  'require-relation': ['needsCheck', 'Let {relation} no longer be null'],
  'share-relation': ['safe', 'Let several {detail} share {relation}'],
  'unshare-relation': ['needsCheck', 'Let no two {detail} share {relation}'],
  'forbid-cycles': ['needsCheck', 'Let {relation} no longer lead in circles'],
  'allow-cycles': ['safe', 'Let {relation} lead in circles'],
  'change-deletion': ['safe', 'On deletion, {relation}: {now}, not {was}'],
  'drop-relation': ['destructive', 'Drop {relation}'],
  'add-unique': ['needsCheck', 'Add a unique index over {detail} of {type}'],
  'drop-unique': ['safe', 'Drop the unique index over {detail} of {type}'],
  'add-index': ['safe', 'Add an index over {detail} of {type}'],
  'drop-index': ['safe', 'Drop the index over {detail} of {type}'],
  'add-check': ['safe', 'Add a check to {type}: {detail}'],
  'drop-check': ['safe', 'Drop the check {detail} of {type}'],
  'remake-indexes': ['safe', 'Rebuild the indexes of {type}'],
  'rebuild-table': ['safe', 'Rebuild table {now}: what ALTER TABLE cannot do, in one pass over its rows'],
  'add-seed': ['safe', 'Insert seed {detail} of {type}: seeds are tried when this is applied'],
  'not-renamed': [
    'destructive',
    '"{was}" is gone, and {now} is new and looks the same. If it is the same, write "renamedFrom: {was}" there; this step says that it is not',
  ],
  'not-moved': ['destructive', '{detail}'],
} as const satisfies Record<string, readonly [risk: Risk, description: string]>;

export type StepCode = keyof typeof stepKinds;

/** The effect of a step on its `rows`, worded to follow their number: `3 records: the open keys are lost`. */
const effects: Readonly<Partial<Record<StepCode, readonly [effect: Effect, says: string]>>> = {
  'claim-key': ['fail', 'there is an open key "{name}", which cannot be taken over; remove it'],
  'close-type': ['lose', 'the open keys are lost'],
  'drop-type': ['lose', 'lost as a whole'],
  'add-required-field': ['fail', '"{name}" would have no value; give it a default, or let it be null'],
  'convert-field': ['fail', '"{name}" is not {detail}'],
  'replace-field': [
    'fail',
    '"{name}" has a value, and {was} cannot become {now}{detail}; add a field of another name, and copy the values',
  ],
  'narrow-field': ['fail', '"{name}" is not {detail}'],
  'require-field': ['fail', '"{name}" is null; give it a value, or the field a default'],
  'fill-field': ['change', '"{name}" is null, and gets the default {now}'],
  'drop-field': ['lose', 'the value of "{name}" is lost'],
  'add-required-relation': ['fail', 'there would be no "{name}"; do not require it yet'],
  'require-relation': ['fail', 'there is no "{name}"; link one'],
  'unshare-relation': ['fail', 'another one has the same "{name}"'],
  'forbid-cycles': ['fail', '"{name}" leads into a circle; unlink one record of it'],
  'drop-relation': ['lose', '{detail} "{name}" is lost'],
  'add-unique': ['fail', 'another one would have the same {detail}'],
};

type Coded = Pick<MigrationStep, 'code'>;
/** Whether it drops what the descriptors do not name, which otherwise stays. A start drops rules. */
export const isDrop = ({ code }: Coded): boolean => /^(drop-(?!check|unique|caseless)|close-)/.test(code);
export const isRename = ({ code }: Coded): boolean => code.startsWith('rename-');
export const isQuestion = ({ code }: Coded): boolean => code.startsWith('not-');
export const isSeed = ({ code }: Coded): boolean => code === 'add-seed';
/** Whether older statements would misread the column afterwards. */
export const isReadOtherwise = ({ code }: Coded): boolean => /^(relax|convert|replace)-field$/.test(code);

/** How older instances react. refuse: not use the type. read: only read. named: continue. */
export function olderInstances({ code }: Coded, isOpen: boolean): 'refuse' | 'read' | 'named' | undefined {
  // They would store the other name as an open key.
  if (isRename({ code })) return isOpen && code !== 'rename-type' ? 'refuse' : 'named';
  if (/^(convert-field|replace-field|share-relation)$/.test(code)) return 'refuse';
  if ((isDrop({ code }) && code !== 'drop-index') || code === 'drop-caseless') return 'refuse';
  const isNarrowing = /^(fill-field|add-check|change-deletion)$/.test(code) || stepKinds[code][0] === 'needsCheck';
  return isNarrowing ? 'read' : undefined;
}

/** Finds rows before the plan runs. Columns: `identifier`, `value`. */
export interface RowQuery {
  readonly sql: string;
  /** If `value` is JSON: count only rows that do not fit. */
  readonly fits?: (json: string) => boolean;
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

export type StepParts = Partial<Pick<MigrationStep, 'rowsIn' | 'edits' | 'tasks' | 'checks' | 'creates' | 'seeds'>> &
  Omit<Words, 'type'> & { readonly rows?: RowQuery | undefined };

export function createStep(code: StepCode, type: string, parts: StepParts = {}): MigrationStep {
  const { name, rows, checks = [], edits = [], tasks = [], rowsIn, creates = [], seeds = [] } = parts;
  const [risk, description] = stepKinds[code];
  const words = { ...parts, type };
  const own = rows ? [checkOf(code, words, rows)] : [];
  const step = { code, type, name, risk, description: filled(description, words), checks: [...own, ...checks] };
  return { ...step, edits, tasks, rowsIn, creates, seeds };
}

export function checkOf(code: StepCode, words: Words, rows: RowQuery): StepCheck {
  const [effect, says] = effects[code] ?? ['lose', ''];
  return { ...rows, effect, says: filled(says, words) };
}

function filled(text: string, words: Words): string {
  const named = `"${words.name}" of ${words.type}`;
  const all: Readonly<Record<string, unknown>> = { ...words, field: `field ${named}`, relation: `relation ${named}` };
  return text.replaceAll(/\{(\w+)\}/g, (_, key: string) => String(all[key] ?? ''));
}

export const stepId = ({ code, type, name }: Pick<MigrationStep, 'code' | 'type' | 'name'>): string =>
  `${code}:${type}${name === undefined ? '' : `.${name}`}`;
