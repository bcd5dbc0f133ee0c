/** The steps of a type's checks: which are new, which are gone, and which rows do not meet a new one. */
import type { JsonObject, JsonValue } from '../../json.ts';
import { fieldsOf, ruleKey, ruleOf, sentence } from '../../model/checks.ts';
import type { Check, Field } from '../../model/model.ts';
import { meets } from '../../query/checks.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { ColumnChanges, TypeChange } from './match.ts';
import { createStep, type MigrationStep, type RowQuery } from './steps.ts';

/** Rows stay as they are: a check is about what is written from now on. */
export function checkSteps(change: TypeChange, columns: ColumnChanges): readonly MigrationStep[] {
  const { type, before } = change;
  const formers = new Map(columns.fields.map(({ field, former }) => [field, former ?? field.name]));
  const keyOf = (check: Check): string => ruleKey(ruleOf(check, (field) => formers.get(field) ?? field.name));
  const known = new Map((before.checks ?? []).map((rule) => [ruleKey(rule), rule]));
  const kept = new Set(type.checks.map(keyOf));
  const parts = { rowsIn: before.table };
  return [
    ...[...known]
      .filter(([key]) => !kept.has(key))
      .map(([, rule]) =>
        createStep('drop-check', type.name, { ...parts, name: namesIn(fieldsOf(rule)), detail: sentence(rule) }),
      ),
    ...type.checks
      .filter((check) => !known.has(keyOf(check)))
      .map((check) =>
        createStep('add-check', type.name, {
          ...parts,
          name: namesIn(check.fields.map(({ name }) => name)),
          detail: check.message,
          rows: unmet(change, columns, check),
        }),
      ),
  ];
}

const namesIn = (names: Iterable<string>): string => [...names].join(',');

/** Each row as a JSON object of the values that the check names; those of new fields are their defaults. */
function unmet({ before, dialect }: TypeChange, { fields }: ColumnChanges, check: Check): RowQuery {
  const stored = fields.filter((one) => check.fields.includes(one.field) && (one.before !== undefined || before.open));
  const members = stored.map(({ field, value }) => member(field, value, dialect));
  const json = ["'{'", members.join(" || ',' || "), "'}'"].filter((part) => part !== '').join(' || ');
  const isStored = new Set(stored.map(({ field }) => field));
  const valueOf = (row: JsonObject, field: Field): JsonValue =>
    isStored.has(field) ? (row[field.name] ?? null) : (field.default ?? null);
  const { quote } = dialect;
  return {
    sql: `select ${quote(before.identifier)} as identifier, ${json} as value from ${quote(before.table)}`,
    fits: (row) => meets(check, (field) => valueOf(row as JsonObject, field)),
  };
}

function member(field: Field, value: string, dialect: Dialect): string {
  // A bare literal has no type in PostgreSQL; within coalesce it is a text.
  const typed = `coalesce(${value}, null)`;
  const json = columnType(field, dialect.name).json(typed);
  return `${dialect.literal(`${JSON.stringify(field.name)}:`)} || case when ${typed} is null then 'null' else ${json} end`;
}
