/** A migration as data: what each step changes, what that does to records, and the SQL that makes it. */
import type { JsonValue } from '../../json/json.ts';
import type { Model } from '../../model/model.ts';
import type { AppliedModel } from './applied.ts';
import type { Edit } from './driver.ts';
import type { Task } from './tasks.ts';

/** safe: no record can lose anything. needsCheck: records may stand in the way. destructive: something is lost. */
type Risk = 'safe' | 'needsCheck' | 'destructive';

/** The effect on a record. fail: as long as there is such a record, the step cannot be made. stay: nothing. */
type Effect = 'lose' | 'change' | 'fail' | 'stay';

/** The subject of a step's description. */
interface Subject {
  readonly type: string;
  /** Of the field, the relation or the members of the index. */
  readonly name: string;
  readonly was: string;
  readonly now: string;
  /** Whatever else the words of one kind need. */
  readonly detail: string;
}

type Words = (subject: Subject) => string;

interface StepKind {
  readonly risk: Risk;
  /** Describes the step for people. */
  readonly describe: Words;
  /** Its effect on the records that its `rows` find; completes a sentence that begins with their number. */
  readonly affects?: readonly [effect: Effect, says: Words];
}

const field: Words = ({ type, name }) => `field "${name}" of ${type}`;
const relation: Words = ({ type, name }) => `relation "${name}" of ${type}`;
const unfit: Words = ({ name, detail }) => `"${name}" is not ${detail}`;

/** Every kind of step. The manual lists them; a test compares both ways. */
export const stepKinds = {
  'add-type': { risk: 'safe', describe: ({ type, now }) => `Add type ${type}, in table ${now}` },
  'rename-type': { risk: 'safe', describe: ({ type, was }) => `Rename ${was} to ${type}` },
  'rename-identifier': {
    risk: 'safe',
    describe: ({ type, was, now }) => `Rename the identifier of ${type} from "${was}" to "${now}"`,
  },
  'open-type': { risk: 'safe', describe: ({ type }) => `Open ${type} to keys of any name` },
  'claim-key': {
    risk: 'safe',
    describe: ({ type, name }) => `Take the name "${name}" of ${type} from open keys`,
    affects: ['fail', ({ name }) => `there is an open key "${name}", which cannot be taken over; remove it`],
  },
  'close-type': {
    risk: 'destructive',
    describe: ({ type }) => `Close ${type} to keys that no field names`,
    affects: ['lose', () => 'the open keys are lost'],
  },
  'drop-type': {
    risk: 'destructive',
    describe: ({ type, was }) => `Drop type ${type} and its table ${was}`,
    affects: ['lose', () => 'lost as a whole'],
  },
  'add-field': { risk: 'safe', describe: (one) => `Add ${field(one)}` },
  'add-required-field': {
    risk: 'needsCheck',
    describe: (one) => `Add ${field(one)}`,
    affects: ['fail', ({ name }) => `"${name}" would have no value; give it a default, or let it be null`],
  },
  'rename-field': { risk: 'safe', describe: ({ type, name, was }) => `Rename field "${was}" of ${type} to "${name}"` },
  'convert-field': {
    risk: 'safe',
    describe: (one) => `Turn ${field(one)} from ${one.was} into ${one.now}`,
    affects: ['fail', unfit],
  },
  'replace-field': {
    risk: 'needsCheck',
    describe: (one) => `Turn ${field(one)} from ${one.was} into ${one.now}`,
    affects: [
      'fail',
      ({ name, was, now, detail }) =>
        `"${name}" has a value, and ${was} cannot become ${now}${detail}; add a field of another name, and copy the values`,
    ],
  },
  'narrow-field': {
    risk: 'needsCheck',
    describe: (one) => `Let ${field(one)} accept less: ${one.detail}`,
    affects: ['fail', unfit],
  },
  'widen-field': { risk: 'safe', describe: (one) => `Let ${field(one)} accept more: ${one.detail}` },
  'relax-field': { risk: 'safe', describe: (one) => `Let ${field(one)} be null` },
  'require-field': {
    risk: 'needsCheck',
    describe: (one) => `Let ${field(one)} no longer be null`,
    affects: ['fail', ({ name }) => `"${name}" is null; give it a value, or the field a default`],
  },
  'fill-field': {
    risk: 'destructive',
    describe: (one) => `Let ${field(one)} no longer be null`,
    affects: ['change', ({ name, now }) => `"${name}" is null, and gets the default ${now}`],
  },
  'change-default': { risk: 'safe', describe: (one) => `Give ${field(one)} the default ${one.now}, not ${one.was}` },
  'generate-field': { risk: 'safe', describe: (one) => `Let the service fill in ${field(one)}: ${one.now}` },
  'stop-generating': { risk: 'safe', describe: (one) => `Let requests set ${field(one)}, which was ${one.was}` },
  'add-caseless': { risk: 'safe', describe: (one) => `Ignore case in ${field(one)}` },
  'drop-caseless': { risk: 'safe', describe: (one) => `Let case count again in ${field(one)}` },
  'drop-field': {
    risk: 'destructive',
    describe: (one) => `Drop ${field(one)}`,
    affects: ['lose', ({ name }) => `the value of "${name}" is lost`],
  },
  'add-relation': { risk: 'safe', describe: (one) => `Add ${relation(one)}${one.detail}` },
  'add-required-relation': {
    risk: 'needsCheck',
    describe: (one) => `Add ${relation(one)}`,
    affects: ['fail', ({ name }) => `there would be no "${name}"; do not require it yet`],
  },
  'rename-relation': {
    risk: 'safe',
    describe: ({ type, name, was }) => `Rename relation "${was}" of ${type} to "${name}"`,
  },
  'relax-relation': { risk: 'safe', describe: (one) => `Let ${relation(one)} be null` },
  'require-relation': {
    risk: 'needsCheck',
    describe: (one) => `Let ${relation(one)} no longer be null`,
    affects: ['fail', ({ name }) => `there is no "${name}"; link one`],
  },
  'share-relation': { risk: 'safe', describe: (one) => `Let several ${one.detail} share ${relation(one)}` },
  'unshare-relation': {
    risk: 'needsCheck',
    describe: (one) => `Let no two ${one.detail} share ${relation(one)}`,
    affects: ['fail', ({ name }) => `another one has the same "${name}"`],
  },
  'forbid-cycles': {
    risk: 'needsCheck',
    describe: (one) => `Let ${relation(one)} no longer lead in circles`,
    affects: ['fail', ({ name }) => `"${name}" leads into a circle; unlink one record of it`],
  },
  'allow-cycles': { risk: 'safe', describe: (one) => `Let ${relation(one)} lead in circles` },
  'change-deletion': { risk: 'safe', describe: (one) => `On deletion, ${relation(one)}: ${one.now}, not ${one.was}` },
  'drop-relation': {
    risk: 'destructive',
    describe: (one) => `Drop ${relation(one)}`,
    affects: ['lose', ({ name, detail }) => `${detail} "${name}" is lost`],
  },
  'add-unique': {
    risk: 'needsCheck',
    describe: ({ type, detail }) => `Add a unique index over ${detail} of ${type}`,
    affects: ['fail', ({ detail }) => `another one would have the same ${detail}`],
  },
  'drop-unique': { risk: 'safe', describe: ({ type, detail }) => `Drop the unique index over ${detail} of ${type}` },
  'add-index': { risk: 'safe', describe: ({ type, detail }) => `Add an index over ${detail} of ${type}` },
  'drop-index': { risk: 'safe', describe: ({ type, detail }) => `Drop the index over ${detail} of ${type}` },
  'add-check': {
    risk: 'safe',
    describe: ({ type, detail }) => `Add a check to ${type}: ${detail}`,
    affects: ['stay', () => 'the check is not met, and applies once somebody changes a field that it names'],
  },
  'drop-check': { risk: 'safe', describe: ({ type, detail }) => `Drop the check ${detail} of ${type}` },
  'remake-indexes': { risk: 'safe', describe: ({ type }) => `Rebuild the indexes of ${type}` },
  'rebuild-table': {
    risk: 'safe',
    describe: ({ now }) => `Rebuild table ${now}: what ALTER TABLE cannot do, in one pass over its rows`,
  },
  'add-seed': { risk: 'safe', describe: ({ type, detail }) => `Insert seed ${detail} of ${type}` },
  /** Something vanished, and something new looks the same: a rename, unless somebody says that it is not. */
  'not-renamed': {
    risk: 'destructive',
    describe: ({ was, now }) =>
      `"${was}" is gone, and ${now} is new and looks the same. If it is the same, write "renamedFrom: ${was}" there; this step says that it is not`,
  },
  /** A former name, or a name that meant something else, whose data the plan does not move. */
  'not-moved': { risk: 'destructive', describe: ({ detail }) => detail },
} as const satisfies Record<string, StepKind>;

export type StepCode = keyof typeof stepKinds;

/** Steps that take something away which the descriptors do not name: without them, it stays. */
const DROPS: ReadonlySet<StepCode> = new Set([
  'close-type',
  'drop-type',
  'drop-caseless',
  'drop-field',
  'drop-relation',
  'drop-unique',
  'drop-index',
]);

/** Steps after which a column may hold what statements compiled before them take for something else. */
const READ_OTHERWISE: ReadonlySet<StepCode> = new Set(['relax-field', 'convert-field', 'replace-field']);

const RENAMES: ReadonlySet<StepCode> = new Set(['rename-type', 'rename-identifier', 'rename-field', 'rename-relation']);

/** Steps that change names, and nothing else. */
export const isRename = ({ code }: MigrationStep): boolean => RENAMES.has(code);

/** Records are inserted once the tables are as they should be. */
export const isSeed = ({ code }: MigrationStep): boolean => code === 'add-seed';

export const isReadOtherwise = ({ code }: MigrationStep): boolean => READ_OTHERWISE.has(code);

const QUESTIONS: ReadonlySet<StepCode> = new Set(['not-renamed', 'not-moved']);

/** Somebody has to say what is meant. */
export const isQuestion = ({ code }: Pick<MigrationStep, 'code'>): boolean => QUESTIONS.has(code);

export const isDrop = ({ code }: Pick<MigrationStep, 'code'>): boolean => DROPS.has(code);

/** Finds rows in the database as it is before the plan. */
export interface RowQuery {
  /** Answers columns `identifier` and `value`. */
  readonly sql: string;
  /** If present, `value` is JSON text, and only rows that do not fit count. */
  readonly fits: ((value: JsonValue) => boolean) | undefined;
}

/** Rows that a step affects, and how. */
export interface StepCheck extends RowQuery {
  readonly effect: Effect;
  readonly says: string;
}

export interface MigrationStep {
  readonly code: StepCode;
  readonly type: string;
  readonly name: string | undefined;
  readonly risk: Risk;
  /** For people. */
  readonly description: string;
  readonly checks: readonly StepCheck[];
  /** Changes of the type's table. The dialect makes tasks of all edits of one table together. */
  readonly edits: readonly Edit[];
  readonly tasks: readonly Task[];
  /** The table, by its name before the plan, whose rows are at stake. */
  readonly rowsIn: string | undefined;
  /** Names of the tables and indexes that it makes besides those of its edits. */
  readonly creates: readonly string[];
  /** The columns of the table, or the table itself, that it drops. */
  readonly drops: readonly string[];
}

export interface Plan {
  readonly steps: readonly MigrationStep[];
  /** Drops that were not allowed: the tables keep these parts. */
  readonly kept: readonly MigrationStep[];
  readonly applied: AppliedModel;
  /** The Model, where the database keeps it. */
  readonly model: Model;
  readonly wanted: AppliedModel;
}

type StepParts = Partial<
  Pick<MigrationStep, 'rowsIn' | 'edits' | 'tasks' | 'checks' | 'creates' | 'drops'> & Omit<Subject, 'type'>
> & {
  /** Those that this kind of step affects. */
  readonly rows?: RowQuery | undefined;
};

export function createStep(code: StepCode, type: string, parts: StepParts = {}): MigrationStep {
  const { rows, checks = [], edits = [], tasks = [], rowsIn, creates = [], drops = [] } = parts;
  const subject = { ...NO_WORDS, ...parts, type };
  const { risk, describe } = stepKinds[code];
  const own = rows ? [checkOf(code, subject, rows)] : [];
  const step = { code, type, name: parts.name, risk, description: describe(subject), edits, tasks, rowsIn };
  return { ...step, creates, drops, checks: [...own, ...checks] };
}

/** The effect of a kind of step on these rows. */
export function checkOf(code: StepCode, about: Partial<Subject>, rows: RowQuery): StepCheck {
  const { affects }: StepKind = stepKinds[code];
  if (!affects) throw new Error(`${code} affects no rows`);
  const [effect, says] = affects;
  return { ...rows, effect, says: says({ ...NO_WORDS, ...about }) };
}

const NO_WORDS: Subject = { type: '', name: '', was: '', now: '', detail: '' };

/** The argument of `--allow`: `drop-field:Book.isbn`. */
export const stepId = ({ code, type, name }: Pick<MigrationStep, 'code' | 'type' | 'name'>): string =>
  `${code}:${type}${name === undefined ? '' : `.${name}`}`;
