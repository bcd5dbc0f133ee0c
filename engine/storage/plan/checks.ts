/** The questions to the rows, as SQL over the database before the plan. */
import type { JsonObject } from '../../json.ts';
import type { TypeChange } from './draft.ts';
import type { Check } from './step.ts';

type Effect = Pick<Check, 'effect' | 'says'>;

/** Rows that a condition holds for. */
export function rowsWhere({ before, dialect: { quote } }: TypeChange, condition: string, effect: Effect): Check {
  const from = `select ${quote(before.identifier)} as identifier, null as value from ${quote(before.table)}`;
  return { sql: `${from} where ${condition}`, schema: undefined, ...effect };
}

export const everyRow = (change: TypeChange, effect: Effect): Check => rowsWhere(change, '1 = 1', effect);

/** Rows whose value, as JSON text, does not fit the schema. */
export function rowsUnfit(
  { before, dialect: { quote } }: TypeChange,
  json: string,
  condition: string,
  schema: JsonObject,
  says: string,
): Check {
  const columns = `${quote(before.identifier)} as identifier, ${json} as value`;
  return { sql: `select ${columns} from ${quote(before.table)} where ${condition}`, schema, effect: 'fail', says };
}

/** Rows that share their values with another one, null apart. */
export function rowsAlike({ before, dialect: { quote } }: TypeChange, values: readonly string[], says: string): Check {
  const given = values.map((value) => `(${value}) is not null`).join(' and ');
  const counted = `select ${quote(before.identifier)} as identifier, count(*) over (partition by ${values.join(', ')}) as alike from ${quote(before.table)} where ${given}`;
  return {
    sql: `select identifier, null as value from (${counted}) as counted where alike > 1`,
    schema: undefined,
    effect: 'fail',
    says,
  };
}
