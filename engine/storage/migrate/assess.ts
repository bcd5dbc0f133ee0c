/** A plan held against the rows: which records each step affects, and whether it may be made. */
import type { JsonValue } from '../../json/json.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader } from '../driver.ts';
import { type Catalogue, obstaclesTo, ownIndexes } from './catalogue.ts';
import { isDrop, isQuestion, isSeed, type MigrationStep, type Plan, type StepCheck, stepId } from './steps.ts';

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
  readonly isAtStake: boolean;
  readonly affected: readonly AffectedRows[];
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
