/** A plan held against the rows: what each step would hurt, and whether it may be made. */
import { createAjv } from '../../ajv.ts';
import type { JsonObject } from '../../json.ts';
import type { Dialect, Reader } from '../driver.ts';
import { type Check, type Plan, type Step, stepId } from './step.ts';

/**
 * ready: it may be made. allow: only where somebody allows it. unclear: somebody has to say what is meant.
 * blocked: not before the rows that stand in its way are changed.
 */
export type State = 'ready' | 'allow' | 'unclear' | 'blocked';

export interface Hurt {
  readonly effect: Check['effect'];
  readonly count: number;
  /** The first ten. */
  readonly identifiers: readonly number[];
  readonly says: string;
}

export interface Assessed {
  readonly step: Step;
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

function stateOf(step: Step, isAtStake: boolean, hurts: readonly Hurt[], allowed: ReadonlySet<string>): State {
  if (hurts.some(({ effect }) => effect === 'fail')) return 'blocked';
  if (!isAtStake || step.risk === 'safe' || allowed.has(stepId(step))) return 'ready';
  return step.code === 'not-renamed' ? 'unclear' : 'allow';
}

async function hurtsOf({ checks }: Step, reader: Reader): Promise<readonly Hurt[]> {
  const hurts: Hurt[] = [];
  for (const check of checks) {
    const found = check.schema ? await unfit(check.sql, check.schema, reader) : await counted(check.sql, reader);
    if (found.count > 0) hurts.push({ effect: check.effect, says: check.says, ...found });
  }
  return hurts;
}

type Found = Pick<Hurt, 'count' | 'identifiers'>;

async function counted(sql: string, reader: Reader): Promise<Found> {
  const count = Number(await reader.value({ sql: `select count(*) from (${sql}) as found` }, []));
  if (count === 0) return { count, identifiers: [] };
  const first = `select identifier from (${sql}) as found order by identifier limit ${MAX_IDENTIFIERS}`;
  return { count, identifiers: (await reader.column({ sql: first }, [])).map(Number) };
}

/** Read in pages, by identifier. */
async function unfit(sql: string, schema: JsonObject, reader: Reader): Promise<Found> {
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
