/** A plan held against the rows: which records each step affects, and whether it may be made. */
import { createAjv } from '../../field-types/ajv-keywords.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader } from '../driver.ts';
import type { AppliedType } from './applied.ts';
import { type Catalogue, obstaclesTo, ownIndexes } from './catalogue.ts';
import type { TypeChange } from './match.ts';
import {
  isDrop,
  isQuestion,
  isSeed,
  type MigrationStep,
  type Plan,
  type RowQuery,
  type StepCheck,
  stepId,
} from './steps.ts';

/**
 * ready: it may be made. allow: only if somebody allows it. unclear: somebody has to say what is meant.
 * blocked: not before the records that stand in the way are changed. kept: it is made only if somebody asks for it.
 */
export type State = 'ready' | 'allow' | 'unclear' | 'blocked' | 'kept';

export interface AffectedRows extends Pick<StepCheck, 'effect' | 'says'> {
  readonly count: number;
  /** The first ten. */
  readonly identifiers: readonly number[];
}

export interface Assessed {
  readonly step: MigrationStep;
  readonly state: State;
  /** Whether its table has rows. */
  readonly isAtStake: boolean;
  readonly affected: readonly AffectedRows[];
  /** In words: what else stands in the way. */
  readonly obstacles: readonly string[];
}

const MAX_IDENTIFIERS = 10;
const PAGE = 2_000;

/** `allowed`: ids of steps. The reader must see the database as it was when the plan was made. */
export async function assess(
  plan: Plan,
  reader: Reader,
  { quote }: Pick<Dialect, 'quote'>,
  allowed: ReadonlySet<string>,
): Promise<readonly Assessed[]> {
  const filled = new Map<string, boolean>();
  const steps = [...plan.steps, ...plan.kept];
  for (const table of new Set(steps.flatMap(({ rowsIn }) => rowsIn ?? [])))
    filled.set(table, (await reader.get({ sql: `select 1 from ${quote(table)} limit 1` }, [])) !== undefined);
  const assessed: Assessed[] = [];
  const kept = new Set(plan.kept);
  for (const step of steps) {
    const isAtStake = step.rowsIn !== undefined && filled.get(step.rowsIn) === true;
    const affected = isAtStake || isSeed(step) ? await affectedBy(step, reader) : [];
    const state = kept.has(step) ? 'kept' : stateOf(step, isAtStake, affected, allowed);
    assessed.push({ step, affected, obstacles: [], isAtStake, state });
  }
  return assessed;
}

/** The same with what other objects of the database, and the database itself, would refuse. */
export async function assessIn(
  plan: Plan & { readonly catalogue: Catalogue },
  driver: Driver,
  allowed: ReadonlySet<string>,
): Promise<readonly Assessed[]> {
  const assessed = await assess(plan, driver, driver.dialect, allowed);
  const made = new Set(plan.steps);
  const found = assessed.map((one) =>
    made.has(one.step) ? blockedBy(one, obstaclesTo(one.step, plan.applied, plan.catalogue)) : one,
  );
  if (found.some(({ obstacles }) => obstacles.length > 0)) return found;
  const tasks = plan.steps.flatMap((step) => step.tasks);
  const failure = await driver.rehearse({ tasks, own: ownIndexes(plan.applied) });
  if (!failure) return found;
  return found.map((one) => (one.step.tasks.includes(failure.task) ? blockedBy(one, [failure.reason]) : one));
}

const blockedBy = (one: Assessed, obstacles: readonly string[]): Assessed =>
  obstacles.length === 0 ? one : { ...one, state: 'blocked', obstacles };

function stateOf(
  step: MigrationStep,
  isAtStake: boolean,
  affected: readonly AffectedRows[],
  allowed: ReadonlySet<string>,
): State {
  if (affected.some(({ effect }) => effect === 'fail')) return 'blocked';
  const isHarmless = !isDrop(step) && (!isAtStake || step.risk === 'safe');
  if (isHarmless || allowed.has(stepId(step))) return 'ready';
  return isQuestion(step) ? 'unclear' : 'allow';
}

async function affectedBy({ checks }: MigrationStep, reader: Reader): Promise<readonly AffectedRows[]> {
  const affected: AffectedRows[] = [];
  for (const { sql, fits, effect, says } of checks) {
    const found = fits ? await countUnfit(sql, fits, reader) : await countRows(sql, reader);
    if (found.count > 0) affected.push({ effect, says, ...found });
  }
  return affected;
}

type Count = Pick<AffectedRows, 'count' | 'identifiers'>;

async function countRows(sql: string, reader: Reader): Promise<Count> {
  const count = Number(await reader.value({ sql: `select count(*) from (${sql}) as found` }, []));
  if (count === 0) return { count, identifiers: [] };
  const first = `select identifier from (${sql}) as found order by identifier limit ${MAX_IDENTIFIERS}`;
  return { count, identifiers: (await reader.column({ sql: first }, [])).map(Number) };
}

/** Read in pages, by identifier. */
async function countUnfit(sql: string, fits: (value: JsonValue) => boolean, reader: Reader): Promise<Count> {
  const page = {
    sql: `select identifier, value from (${sql}) as found where identifier > ? order by identifier limit ${PAGE}`,
  };
  const identifiers: number[] = [];
  let count = 0;
  for (let last = 0; ;) {
    const rows = await reader.all(page, [last]);
    for (const [identifier = null, value = null] of rows) {
      last = Number(identifier);
      if (fits(JSON.parse(String(value)))) continue;
      if (count++ < MAX_IDENTIFIERS) identifiers.push(last);
    }
    if (rows.length < PAGE) return { count, identifiers };
  }
}

// The questions of steps about rows, as SQL over the database before the plan.

/** All rows of a table; both names in quotes. */
export const rowsOf = (table: string, identifier: string): RowQuery => ({
  sql: `select ${identifier} as identifier, null as value from ${table}`,
  fits: undefined,
});

export function rowsWhere({ before, dialect: { quote } }: TypeChange, condition: string): RowQuery {
  const { sql, fits } = rowsOf(quote(before.table), quote(before.identifier));
  return { sql: `${sql} where ${condition}`, fits };
}

/** Rows whose value, as JSON text, does not fit the schema. */
export function rowsUnfit(
  { before, dialect: { quote } }: TypeChange,
  json: string,
  condition: string,
  schema: JsonObject,
): RowQuery {
  const columns = `${quote(before.identifier)} as identifier, ${json} as value`;
  let validate: ((value: JsonValue) => unknown) | undefined;
  return {
    sql: `select ${columns} from ${quote(before.table)} where ${condition}`,
    fits: (value) => {
      validate ??= createAjv().compile(schema);
      return validate(value) === true;
    },
  };
}

/**
 * Rows from which a link leads into a circle: all but those that can be reached from a row without one. `identifier` and
 * `column` are of one table.
 */
export const rowsInCircles = (
  { table, identifier }: Pick<AppliedType, 'table' | 'identifier'>,
  { column }: { readonly column: string },
  { quote }: Pick<Dialect, 'quote'>,
): RowQuery => {
  const [rows, id, link] = [quote(table), quote(identifier), quote(column)];
  const free = [
    `with recursive free$ (id$) as (select ${id} from ${rows} where ${link} is null`,
    `union all select below$.${id} from ${rows} as below$ join free$ on below$.${link} = free$.id$) select id$ from free$`,
  ].join(' ');
  const sql = `select one$.${id} as identifier, null as value from ${rows} as one$ left join (${free}) as known$ on known$.id$ = one$.${id} where known$.id$ is null`;
  return { sql, fits: undefined };
};

/** Rows that share their values with another one; nulls are never the same. */
export function rowsAlike({ before, dialect: { quote } }: TypeChange, values: readonly string[]): RowQuery {
  const alike = `count(*) over (partition by ${values.join(', ')}) as alike`;
  const given = values.map((value) => `(${value}) is not null`).join(' and ');
  const counted = `select ${quote(before.identifier)} as identifier, ${alike} from ${quote(before.table)} where ${given}`;
  return { sql: `select identifier, null as value from (${counted}) as counted where alike > 1`, fits: undefined };
}
