/** A plan held against the rows: what each step would hurt, and whether it may be made. */
import { createAjv } from '../../field-types/ajv-keywords.ts';
import type { JsonObject } from '../../json.ts';
import type { Dialect, Reader } from '../driver.ts';
import { type MigrationStep, type Plan, type StepCheck, stepId, type TypeChange } from './step.ts';

/**
 * ready: it may be made. allow: only where somebody allows it. unclear: somebody has to say what is meant.
 * blocked: not before the rows that stand in its way are changed.
 */
export type State = 'ready' | 'allow' | 'unclear' | 'blocked';

export interface Hurt {
  readonly effect: StepCheck['effect'];
  readonly count: number;
  /** The first ten. */
  readonly identifiers: readonly number[];
  readonly says: string;
}

export interface Assessed {
  readonly step: MigrationStep;
  readonly state: State;
  /** Whether there are rows that it could hurt. */
  readonly isAtStake: boolean;
  readonly hurts: readonly Hurt[];
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
  const hasRows = async (table: string): Promise<boolean> => {
    const known =
      filled.get(table) ?? (await reader.get({ sql: `select 1 from ${quote(table)} limit 1` }, [])) !== undefined;
    filled.set(table, known);
    return known;
  };
  const assessed: Assessed[] = [];
  for (const step of plan.steps) {
    const isAtStake = step.rowsIn !== undefined && (await hasRows(step.rowsIn));
    const hurts = isAtStake ? await hurtsOf(step, reader) : [];
    assessed.push({ step, hurts, isAtStake, state: stateOf(step, isAtStake, hurts, allowed) });
  }
  return assessed;
}

function stateOf(step: MigrationStep, isAtStake: boolean, hurts: readonly Hurt[], allowed: ReadonlySet<string>): State {
  if (hurts.some(({ effect }) => effect === 'fail')) return 'blocked';
  if (!isAtStake || step.risk === 'safe' || allowed.has(stepId(step))) return 'ready';
  return step.code === 'not-renamed' ? 'unclear' : 'allow';
}

async function hurtsOf({ checks }: MigrationStep, reader: Reader): Promise<readonly Hurt[]> {
  const hurts: Hurt[] = [];
  for (const check of checks) {
    const found = check.schema ? await unfit(check.sql, check.schema, reader) : await countRows(check.sql, reader);
    if (found.count > 0) hurts.push({ effect: check.effect, says: check.says, ...found });
  }
  return hurts;
}

type Count = Pick<Hurt, 'count' | 'identifiers'>;

async function countRows(sql: string, reader: Reader): Promise<Count> {
  const count = Number(await reader.value({ sql: `select count(*) from (${sql}) as found` }, []));
  if (count === 0) return { count, identifiers: [] };
  const first = `select identifier from (${sql}) as found order by identifier limit ${MAX_IDENTIFIERS}`;
  return { count, identifiers: (await reader.column({ sql: first }, [])).map(Number) };
}

/** Read in pages, by identifier. */
async function unfit(sql: string, schema: JsonObject, reader: Reader): Promise<Count> {
  const fits = createAjv().compile(schema);
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

// The questions to the rows, as SQL over the database before the plan.

type Effect = Pick<StepCheck, 'effect' | 'says'>;

/** Rows that a condition holds for. */
export function rowsWhere({ before, dialect: { quote } }: TypeChange, condition: string, effect: Effect): StepCheck {
  const from = `select ${quote(before.identifier)} as identifier, null as value from ${quote(before.table)}`;
  return { sql: `${from} where ${condition}`, schema: undefined, ...effect };
}

export const everyRow = (change: TypeChange, effect: Effect): StepCheck => rowsWhere(change, '1 = 1', effect);

/** Rows whose value, as JSON text, does not fit the schema. */
export function rowsUnfit(
  { before, dialect: { quote } }: TypeChange,
  json: string,
  condition: string,
  schema: JsonObject,
  says: string,
): StepCheck {
  const columns = `${quote(before.identifier)} as identifier, ${json} as value`;
  return { sql: `select ${columns} from ${quote(before.table)} where ${condition}`, schema, effect: 'fail', says };
}

/** Rows that share their values with another one, null apart. */
export function rowsAlike(
  { before, dialect: { quote } }: TypeChange,
  values: readonly string[],
  says: string,
): StepCheck {
  const given = values.map((value) => `(${value}) is not null`).join(' and ');
  const counted = `select ${quote(before.identifier)} as identifier, count(*) over (partition by ${values.join(', ')}) as alike from ${quote(before.table)} where ${given}`;
  return {
    sql: `select identifier, null as value from (${counted}) as counted where alike > 1`,
    schema: undefined,
    effect: 'fail',
    says,
  };
}
