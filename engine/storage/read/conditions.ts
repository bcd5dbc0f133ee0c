/** Builds joins for paths through to-one relations, and SQL for conditions, the same for all operands. */
import { foldedValue } from '../../field-types/case-folding.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json/json.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import type { Filter, Group, Path, SetCount, SetFilter, ValueFilter } from '../../query/list-query.ts';
import { valueAt } from '../../model/filters.ts';
import { countOf, operandsOf, operators, rangeOfPattern } from '../../query/operators.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { comparedBy, fromTables, linkTo, relatedRows, relatedTables, ROOT_ALIAS } from './views.ts';

export interface PathSql {
  /** SQL for the stored column, and for the input of `decode`. */
  readonly stored: string;
  readonly read: string;
  /** SQL for ordering and comparing. */
  readonly comparable: string;
  readonly nullable: boolean;
  /** The identifier of the listed record, which is never null. */
  readonly present: boolean;
  operand(value: JsonValue): SqlValue;
  decode(value: SqlValue): JsonValue;
}

export type JoinedTables = ReturnType<typeof createJoinedTables>;

/** Builds FROM for a statement, with each join once. `root`: alias of the table where paths start. */
export function createJoinedTables(type: RecordType, dialect: Dialect, root = ROOT_ALIAS) {
  const joins = new Map<string, { readonly alias: string; readonly sql: string }>();
  let sets = 0;

  const row = (relations: readonly Relation[]): string =>
    relations.reduce((parent, relation) => {
      const key = `${parent}.${relation.name}`;
      const known = joins.get(key);
      if (known) return known.alias;
      const alias = `${root}_j${joins.size}`;
      const { tables, conditions } = relatedTables(relation, parent, alias, dialect);
      joins.set(key, { alias, sql: `left join ${tables.join()} on ${conditions.join()}` });
      return alias;
    }, root);

  function path({ relations, type: target, field }: Path): PathSql {
    const last = relations.at(-1);
    // A link stored in the preceding row needs no join.
    const { reference } = field === undefined && last?.link.at === 'source' ? last.link : { reference: undefined };
    const column = reference?.shown ?? reference?.column;
    const alias = row(column === undefined ? relations : relations.slice(0, -1));
    const named = (name: string): string => `${alias}.${dialect.quote(name)}`;
    const stored = named(column ?? field?.column ?? target.identifier.column);
    const isRelated = relations.length > 0;
    if (!field) {
      const { operand } = target.identifier.type.columns[dialect.name];
      const same = { stored, read: stored, comparable: stored, operand, decode: (value: SqlValue) => value };
      return { ...same, nullable: isRelated, present: !isRelated };
    }
    const { decode, read, operand } = columnType(field, dialect.name);
    return {
      stored,
      read: read?.(stored) ?? stored,
      comparable: comparedBy(field, named, dialect),
      nullable: field.nullable || isRelated,
      present: false,
      operand: field.caseless ? (value) => operand(foldedValue(value)) : operand,
      decode: (value) => (value === null ? null : decode(value)),
    };
  }

  return {
    from: `${dialect.quote(type.table)} as ${root}`,
    path,
    row,
    set: () => `${root}_s${sets++}`,
    joins: () => [...joins.values()].map(({ sql }) => sql).join(' '),
  };
}

export interface SqlCondition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Joins conditions by AND; empty SQL if there are none. */
export const all = (conditions: readonly SqlCondition[]): SqlCondition => joined(conditions, ' and ');
export const any = (conditions: readonly SqlCondition[]): SqlCondition =>
  conditions.length === 0 ? { sql: '1 = 0', values: [] } : joined(conditions, ' or ');

function joined(conditions: readonly SqlCondition[], word: string): SqlCondition {
  const parts = conditions.flatMap(({ sql }) => (sql === '' ? [] : sql));
  const sql = parts.length > 1 ? `(${parts.join(word)})` : parts.join('');
  return { sql, values: conditions.flatMap(({ values }) => values) };
}

/** In SQL, a comparison with null is null; here it is false, and its negation true. */
const not = ({ sql, values }: SqlCondition): SqlCondition => ({ sql: `(${sql}) is not true`, values });

export const shapeOfConditions = (conditions: readonly Filter[]): string => conditions.map(shapeOf).join(',');

function shapeOf(condition: Filter): string {
  if ('items' in condition) return `${condition.kind}(${condition.items.map(shapeOfConditions).join(';')})`;
  if ('conditions' in condition)
    return `${condition.kind} ${condition.path.name}(${shapeOfConditions(condition.conditions)})`;
  const { kind, path, operator, value } = condition;
  return `${kind} ${path.name} ${operator} ${countOf(operator, value)}${rangeOf(condition) ? ' range' : ''}`;
}

/** Where few records are read, each asks for its own sets, since those of all would be read first. */
export const perRecord = (dialect: Dialect): Dialect => ({ ...dialect, plansSets: true });

export function sqlOf(conditions: readonly Filter[], source: JoinedTables, dialect: Dialect): SqlCondition {
  return all(conditions.map((condition) => oneCondition(condition, source, dialect)));
}

export const valuesOf = (conditions: readonly Filter[], dialect: Dialect): readonly SqlValue[] =>
  conditions.flatMap((condition) => {
    if ('items' in condition) return condition.items.flatMap((item) => valuesOf(item, dialect));
    return 'conditions' in condition ? valuesOf(condition.conditions, dialect) : boundBy(condition, dialect);
  });

function boundBy(condition: ValueFilter | SetCount, dialect: Dialect): readonly SqlValue[] {
  const operand = condition.kind === 'value' ? valueAt(condition.path).type.columns[dialect.name].operand : Number;
  return [...(rangeOf(condition) ?? []), ...operandsOf(condition.operator, condition.value)].map(operand);
}

/** The range of strings with the pattern's prefix, so that a case-insensitive index can serve it: LIKE uses none. */
const rangeOf = (condition: ValueFilter | SetCount): ReturnType<typeof rangeOfPattern> =>
  condition.kind === 'value' && condition.operator === 'like' && condition.path.field?.caseless === true
    ? rangeOfPattern(String(condition.value))
    : undefined;

function oneCondition(condition: Filter, source: JoinedTables, dialect: Dialect): SqlCondition {
  if ('items' in condition) return groupCondition(condition, source, dialect);
  if ('conditions' in condition) return setCondition(condition, source, dialect);
  const column =
    condition.kind === 'value' ? source.path(condition.path).comparable : countSql(condition, source, dialect);
  const { operator, value } = condition;
  const sql = operators[operator].condition(column, countOf(operator, value), dialect.like);
  const range = rangeOf(condition) ? `${column} >= ? and ${column} < ? and ` : '';
  return { sql: `${range}${sql}`, values: boundBy(condition, dialect) };
}

function groupCondition({ kind, items }: Group, source: JoinedTables, dialect: Dialect): SqlCondition {
  const conditions = items.map((item) => sqlOf(item, source, dialect));
  if (kind === 'none') return not(any(conditions));
  return kind === 'any' ? any(conditions) : all(conditions);
}

function setCondition({ kind, path, conditions }: SetFilter, source: JoinedTables, dialect: Dialect): SqlCondition {
  const child = source.set();
  const records = createJoinedTables(path.set.target, dialect, child);
  const inner = sqlOf(conditions, records, dialect);
  const { sql, values } = kind === 'every' ? not(inner) : inner;
  const { tables, conditions: links, inner: key, outer } = linkTo(path.set, source.row(path.relations), child, dialect);
  if (!dialect.plansSets) {
    const rows = `${tables.join(' join ')} ${records.joins()} where ${[...links, sql].join(' and ')}`;
    const found = { sql: `${outer} in (select ${key} from ${rows})`, values };
    return kind === 'some' ? found : not(found);
  }
  const rows = fromTables({ tables, conditions: [`${key} = ${outer}`, ...links, sql] }, ` ${records.joins()}`);
  return { sql: `${kind === 'some' ? '' : 'not '}exists (select 1 from ${rows})`, values };
}

function countSql({ path }: SetCount, source: JoinedTables, dialect: Dialect): string {
  return `(select count(*) from ${relatedRows(path.set, source.row(path.relations), source.set(), dialect)})`;
}
