import type { Identifier } from '../../model/identifier.ts';
import type { Model } from '../../model/model.ts';
import type { AppliedModel } from './applied.ts';
import type { Edit, Task } from './task.ts';

/** safe: no record can lose data. needsCheck: records may conflict. destructive: data is lost. */
type Risk = 'safe' | 'needsCheck' | 'destructive';

type Effect = 'lose' | 'change' | 'fail';

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

type Traits = Partial<StepKind>;
const safe = (text: string, traits?: Traits): StepKind => ({ risk: 'safe', text, ...traits });
const checked = (text: string, traits?: Traits): StepKind => ({ risk: 'needsCheck', text, older: 'read', ...traits });
const lossy = (text: string, traits?: Traits): StepKind => ({ risk: 'destructive', text, ...traits });
const drop = (text: string, traits?: Traits): StepKind => lossy(text, { older: 'refuse', isDrop: true, ...traits });

/** Documented in docs/reference/changes.md. */
export const stepKinds = {
  'add-type': safe('Add type {type}, in table {now}'),
  'rename-type': safe('Rename {was} to {type}', { older: 'named' }),
  'rename-identifier': safe('Rename the identifier of {type} from "{was}" to "{now}"', { older: 'renamed' }),
  'replace-identifier': checked('Turn the identifier of {type} from {was} into {now}, in a new table', {
    older: 'refuse',
    fail: 'it has an identifier of type {was}, which cannot become {now}; export the records, and import them into a type of another name',
  }),
  'narrow-identifier': checked('Let the identifier of {type} accept less: {detail}', { fail: 'it is not {detail}' }),
  'widen-identifier': safe('Let the identifier of {type} accept more: {detail}', { older: 'refuse' }),
  'require-identifier': safe('Let only clients make identifiers of {type}: a create without one is refused'),
  'offer-identifier': safe('Let the service make identifiers of {type}, where a create has none'),
  'open-type': safe('Open {type} to keys of any name'),
  'claim-key': safe('Take the name "{name}" of {type} from open keys', {
    fail: 'there is an open key "{name}", which cannot be taken over; remove it',
  }),
  'close-type': drop('Close {type} to keys that no field names', { lose: 'the open keys are lost' }),
  'drop-type': drop('Drop type {type} and its table {was}', { lose: 'lost as a whole' }),
  'add-field': safe('Add {field}'),
  'add-required-field': checked('Add {field}', {
    fail: '"{name}" would have no value; give it a default, or let it be null',
  }),
  'rename-field': safe('Rename field "{was}" of {type} to "{name}"', { older: 'renamed' }),
  'convert-field': safe('Turn {field} from {was} into {now}', {
    older: 'refuse',
    isMisread: true,
    fail: '"{name}" is not {detail}',
  }),
  'replace-field': checked('Turn {field} from {was} into {now}', {
    older: 'refuse',
    isMisread: true,
    fail: '"{name}" has a value, and {was} cannot become {now}{detail}; add a field of another name, and copy the values',
  }),
  'narrow-field': checked('Let {field} accept less: {detail}', { fail: '"{name}" is not {detail}' }),
  'widen-field': safe('Let {field} accept more: {detail}'),
  'relax-field': safe('Let {field} be null', { isMisread: true }),
  'require-field': checked('Let {field} no longer be null', {
    fail: '"{name}" is null; give it a value, or the field a default',
  }),
  'fill-field': lossy('Let {field} no longer be null', {
    older: 'read',
    change: '"{name}" is null, and gets the default {now}',
  }),
  'change-default': safe('Give {field} the default {now}, not {was}'),
  'generate-field': safe('Let the service fill in {field}: {now}'),
  'stop-generating': safe('Let requests set {field}, which was {was}'),
  'add-caseless': safe('Ignore case in {field}'),
  'drop-caseless': safe('Let case count again in {field}, also where its values are unique', { older: 'refuse' }),
  'drop-field': drop('Drop {field}', { lose: 'the value of "{name}" is lost' }),
  'add-relation': safe('Add {relation}{detail}'),
  'add-required-relation': checked('Add {relation}', { fail: 'there would be no "{name}"; do not require it yet' }),
  'rename-relation': safe('Rename relation "{was}" of {type} to "{name}"', { older: 'renamed' }),
  'retype-relation': safe('Turn {relation} from {was} into {now}, like the identifier that it holds', {
    older: 'refuse',
  }),
  'relax-relation': safe('Let {relation} be null'),
  'require-relation': checked('Let {relation} no longer be null', { fail: 'there is no "{name}"; link one' }),
  'share-relation': safe('Let several {detail} share {relation}', { older: 'refuse' }),
  'unshare-relation': checked('Let no two {detail} share {relation}', { fail: 'another one has the same "{name}"' }),
  'forbid-cycles': checked('Let {relation} no longer lead in circles', {
    fail: '"{name}" leads into a circle; unlink one record of it',
  }),
  'allow-cycles': safe('Let {relation} lead in circles'),
  'change-deletion': safe('On deletion, {relation}: {now}, not {was}', { older: 'read' }),
  'drop-relation': drop('Drop {relation}', { lose: '{detail} "{name}" is lost' }),
  'add-unique': checked('Add a unique index over {detail} of {type}', {
    fail: 'another one would have the same {detail}',
  }),
  'drop-unique': safe('Drop the unique index over {detail} of {type}'),
  'add-index': safe('Add an index over {detail} of {type}'),
  'drop-index': drop('Drop the index over {detail} of {type}', { older: undefined, risk: 'safe' }),
  'add-check': safe('Add a check to {type}: {detail}', { older: 'read' }),
  'drop-check': safe('Drop the check {detail} of {type}'),
  'keep-history': safe('Keep a history of {detail}'),
  'adapt-history': safe('Adapt the history of {detail} to what is recorded now'),
  'end-history': safe('Keep no history of {detail} any more'),
  'remake-indexes': safe('Rebuild the indexes of {type}'),
  'rebuild-table': safe('Rebuild table {now}: what ALTER TABLE cannot do, in one pass over its rows'),
  'add-seed': safe('Insert seed {detail} of {type}: seeds are tried when this is applied'),
  'not-renamed': lossy(
    '"{was}" is gone, and {now} is new and looks the same. If it is the same, write "renamedFrom: {was}" there; this step says that it is not',
    { isQuestion: true },
  ),
  'not-moved': lossy('{detail}', { isQuestion: true }),
} satisfies Readonly<Record<string, StepKind>>;

export type StepCode = keyof typeof stepKinds;

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
  /** An identifier before all others, if there is one. */
  readonly before?: Identifier;
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
  const { risk, text } = kindOf({ code });
  const words = { ...parts, type };
  const own = rows ? [checkOf(code, words, rows)] : [];
  const step = { code, type, name, risk, description: filled(text, words), checks: [...own, ...checks] };
  return { ...step, edits, tasks, rowsIn, creates, seeds };
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
