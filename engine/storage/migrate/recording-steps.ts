/** The steps of the log of changes: the triggers of tables are made, made anew, or dropped. */
import type { Dialect } from '../dialect.ts';
import { forgetTable, LOG_TABLE, logTables, triggerName } from '../log/recording.ts';
import type { AppliedJoin, AppliedModel, AppliedType } from './applied.ts';
import { type Catalogue, found } from './catalogue.ts';
import { createStep, type MigrationStep } from './steps.ts';
import { plainTasks, type Task } from './task.ts';

/** The triggers of these tables are missing, or write to a schema that has another name now: they differ from any others. */
export function withLost(applied: AppliedModel, catalogue: Catalogue): AppliedModel {
  const asFound = <T extends AppliedType | AppliedJoin>(one: T): T =>
    one.history === undefined || found(catalogue, one.table, 'recording').length > 0
      ? one
      : { ...one, history: 'lost' };
  const types = Object.fromEntries(Object.entries(applied.types).map(([name, type]) => [name, asFound(type)]));
  return { ...applied, types, joins: applied.joins.map(asFound) };
}

export interface Recording {
  readonly table: string;
  /** Digests of the triggers. */
  readonly before?: string | undefined;
  readonly after: string | undefined;
  /** The statements that make them. */
  readonly made: readonly string[];
  /** The type, and the relation for a table of links. */
  readonly type: string;
  readonly name?: string;
}

/** Around the other steps of the table: what these do to its rows is no change of records, and SQLite drops triggers with a table. */
export function withRecording(
  steps: readonly MigrationStep[],
  { table, before, after, made, type, name }: Recording,
  dialect: Dialect,
): readonly MigrationStep[] {
  const isLost = steps.some(({ tasks }) => tasks.some(({ forgets }) => forgets ?? !dialect.locks));
  if (before === after && (after === undefined || !isLost)) return steps;
  const trigger = triggerName(table);
  const rowsIn = steps.some(({ creates }) => creates.includes(table)) ? undefined : table;
  const drop = before === undefined ? [] : plainTasks('define', dialect.log.drop(trigger), table);
  const make = [
    ...plainTasks('create', after === undefined ? [] : logTables(dialect)),
    ...plainTasks('link', made, rowsIn),
  ];
  if (before !== undefined && after !== undefined && steps.length > 0)
    return steps.map((step, at) => ({
      ...step,
      tasks: [...(at === 0 ? drop : []), ...step.tasks, ...(at === steps.length - 1 ? make : [])],
    }));
  const code = after === undefined ? 'end-history' : before === undefined ? 'keep-history' : 'adapt-history';
  const detail = name === undefined ? type : `the links "${name}" of ${type}`;
  const own = createStep(code, type, {
    name,
    detail,
    tasks: [...drop, ...make],
    rowsIn,
    creates: make.length === 0 ? [] : [trigger],
  });
  return code === 'end-history' ? [own, ...steps] : [...steps, own];
}

/** What the log has of dropped tables goes with them: others may get their names. */
export const withoutEntries =
  (relations: ReadonlySet<string>, dialect: Dialect) =>
  (step: MigrationStep): MigrationStep =>
    relations.has(LOG_TABLE)
      ? { ...step, tasks: step.tasks.flatMap((task) => [task, ...forgetting(task, dialect)]) }
      : step;

/** The function of a trigger stays when that goes with its table. */
const forgetting = ({ forgets, table = '' }: Task, { log }: Dialect): readonly Task[] =>
  forgets ? plainTasks('define', [...log.drop(triggerName(table)), ...forgetTable(table)]) : [];
