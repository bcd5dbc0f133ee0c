/** Builds the SQL for a record's JSON in a view, and for the limits on its related records. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { createShapeCache } from '../../memo.ts';
import { type Identifier, identifierJson, identifierSql } from '../../model/identifier.ts';
import {
  type Field,
  MAX_DEEP_RECORDS,
  MAX_SHOWN_BYTES,
  MAX_SHOWN_ROWS,
  OPEN_COLUMN,
  type RecordType,
  type Relation,
  wholeOf,
} from '../../model/model.ts';
import { dataOf, type Rights } from '../../model/rights.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { columnType } from '../columns.ts';
import { type Dialect, jsonObject, jsonOptional, type RecordStatement } from '../dialect.ts';
import type { Reader, RecordReader } from '../driver.ts';

/** The alias of the listed type's table. Every alias has a `$`, which names of fields and tables must not have. */
export const ROOT_ALIAS = 't$';

export function recordJson({ type, fields, relations, openKeys }: View, alias: string, dialect: Dialect): string {
  const column = (name: string): string => `${alias}.${dialect.quote(name)}`;
  const { name, inRecord, column: key } = type.identifier;
  const { links } = type;
  const entries = [
    ...(inRecord ? [[name, identifierJson(type.identifier, dialect.name, column(key))] as const] : []),
    ...fields.map((field) => {
      const json = columnType(field, dialect.name).json(column(field.column));
      return [field.name, field.nullable ? jsonOptional(json) : json] as const;
    }),
    ...[...(links ?? [])].flatMap(([link, relation]) => {
      if (relation.link.at !== 'source') return [];
      const { shown, column: linked } = relation.link.reference;
      const json = relation.target.identifier.type.columns[dialect.name].json(column(shown ?? linked));
      return [[link, jsonOptional(json)] as const];
    }),
    ...relations.map(({ relation, view }) => {
      const child = aliasOf(relation, alias);
      const [one, from] = [recordJson(view, child, dialect), relatedRows(relation, alias, child, dialect)];
      const json = relation.toMany
        ? dialect.array(one, from, typeOrder(view.type, child, dialect))
        : jsonOptional(`(select ${one} from ${from})`);
      return [relation.name, json] as const;
    }),
  ];
  return jsonObject(entries, openKeys ? dialect.log.valid(`cast(${column(OPEN_COLUMN)} as text)`) : undefined);
}

/** Aliases must differ among siblings and stay short at any depth. */
const aliasOf = (relation: Relation, parent: string): string =>
  `${parent}_${[...relation.source.relations.keys()].indexOf(relation.name)}`;

const tablesOf = ({ link, target, parts }: Relation): readonly string[] =>
  link.at === 'join' ? [link.table.name, target.table] : [parts ?? target.table];

/** The tables that lead to the record at the end of a path. */
export const tablesOfPath = (relations: readonly Relation[]): readonly string[] => relations.flatMap(tablesOf);

export const tablesOfView = ({ type, relations }: View): readonly string[] => [
  type.table,
  ...relations.flatMap(({ relation, view }) => [...tablesOf(relation), ...tablesOfView(view)]),
];

interface Joined {
  readonly tables: readonly string[];
  readonly conditions: readonly string[];
}

/** `conditions` lack the link: that `inner`, of a row of the tables, equals `outer`, of the parent. */
interface Link extends Joined {
  readonly inner: string;
  readonly outer: string;
}

export function linkTo(relation: Relation, parent: string, child: string, { quote }: Dialect): Link {
  const { link, source, target } = relation;
  const tables = [`${quote(relation.parts ?? target.table)} as ${child}`];
  const childId = `${child}.${quote(target.identifier.column)}`;
  const parentId = `${parent}.${quote(source.identifier.column)}`;
  if (link.at === 'source')
    return { tables, conditions: [], inner: childId, outer: `${parent}.${quote(link.reference.column)}` };
  if (link.at === 'target')
    return { tables, conditions: [], inner: `${child}.${quote(link.reference.column)}`, outer: parentId };
  const rows = `${child}_j`;
  return {
    tables: [`${quote(link.table.name)} as ${rows}`, ...tables],
    conditions: [`${childId} = ${rows}.${quote(link.targetColumn)}`],
    inner: `${rows}.${quote(link.sourceColumn)}`,
    outer: parentId,
  };
}

export function relatedTables(relation: Relation, parent: string, child: string, dialect: Dialect): Joined {
  const { tables, conditions, inner, outer } = linkTo(relation, parent, child, dialect);
  return { tables, conditions: [`${inner} = ${outer}`, ...conditions] };
}

/** The FROM and WHERE clauses; `joins` follow the tables. CROSS JOIN keeps SQLite from reordering. */
export const fromTables = ({ tables, conditions }: Joined, joins = ''): string =>
  `${tables.join(' cross join ')}${joins} where ${conditions.join(' and ')}`;

export const relatedRows = (relation: Relation, parent: string, child: string, dialect: Dialect): string =>
  fromTables(relatedTables(relation, parent, child, dialect));

function typeOrder({ order, identifier }: RecordType, alias: string, dialect: Dialect): string {
  const named = (column: string): string => `${alias}.${dialect.quote(column)}`;
  const terms = [...order, { field: undefined, descending: order.at(-1)?.descending ?? false }];
  return terms
    .map(({ field, descending }) =>
      dialect.orderBy(field ? comparedBy(field, named, dialect) : named(identifier.column), descending, !field),
    )
    .join(', ');
}

export function comparedBy(field: Field, named: (column: string) => string, { name }: Dialect): string {
  if (field.caseless && field.folded !== undefined) return named(field.folded);
  return columnType(field, name).comparable(named(field.column));
}

// Limits: one statement counts the rows and bytes of sets before it builds their JSON.

/** Starts the string that replaces a record over a limit. JSON never contains it. */
export const MARK = '\u0001';
/** Records whose sets are all smaller are not measured, to save time. */
const UNCOUNTED_ROWS = 16;
const VALUE_BYTES = 16;

/** Related rows and their bytes, of one record or of a page beyond the first level. */
export interface ShownLimits {
  readonly rows: number;
  readonly bytes: number;
  readonly deep: number;
}

export const SHOWN_LIMITS: ShownLimits = { rows: MAX_SHOWN_ROWS, bytes: MAX_SHOWN_BYTES, deep: MAX_DEEP_RECORDS };

/** Lower limits, which only choose who reads, also count rows that the role does not see: to leave them out, they are read. */
const counting = (most: ShownLimits, { rights }: View, relation: Relation): Relation =>
  most !== SHOWN_LIMITS && rights.tables ? { ...relation, parts: dataOf(relation.target.table) } : relation;

/** The JSON of the record at ROOT_ALIAS; over a limit, MARK and `identifier,relation index,limit`. */
export function limitedJson(view: View, dialect: Dialect, most = SHOWN_LIMITS): string {
  const json = recordJson(view, ROOT_ALIAS, dialect);
  const sets = view.relations.flatMap(({ relation }, index) => {
    const rows = relatedRows(counting(most, view, relation), ROOT_ALIAS, aliasOf(relation, ROOT_ALIAS), dialect);
    return relation.toMany ? { index, rows } : [];
  });
  if (sets.length === 0) return json;
  const isLarge = sets.map(({ rows }) => `exists (select 1 from ${rows} limit 1 offset ${UNCOUNTED_ROWS})`);
  const counts = sets.map(({ index, rows }) => ({ index, amount: countSql(rows, most.rows) }));
  const bytes = view.relations.map(({ relation, view: related }, index) => ({
    index,
    amount: bytesOf(relation, related, ROOT_ALIAS, dialect),
  }));
  const excess = `coalesce(${firstBeyond(counts, most.rows, 'related records')}, ${firstBeyond(bytes, most.bytes, 'bytes')})`;
  const identifier = `${ROOT_ALIAS}.${dialect.quote(view.type.identifier.column)}`;
  return `coalesce(case when ${isLarge.join(' or ')} then '${MARK}' || ${identifier} || ',' || ${excess} end, ${json})`;
}

/** SQL for `index,most what` of the first relation where the running total exceeds `most`; null if none. */
function firstBeyond(
  amounts: readonly { readonly index: number; readonly amount: string }[],
  most: number,
  what: string,
): string {
  const columns = amounts.map(({ amount }, at) => `${amount} as a${at}$`);
  const cases = amounts.map(({ index }, at) => {
    const sum = amounts.slice(0, at + 1).map((_, before) => `a${before}$`);
    return `when ${sum.join(' + ')} > ${most} then '${index},${most} ${what}'`;
  });
  return `(select case ${cases.join(' ')} end from (select ${columns.join(', ')}) as counted$)`;
}

const countSql = (rows: string, most: number): string =>
  `(select count(*) from (select 1 from ${rows} limit ${most + 1}) as counted$)`;

/** SQL for the approximate bytes of a relation and of the relations within it. */
function bytesOf(relation: Relation, view: View, parent: string, dialect: Dialect): string {
  const child = aliasOf(relation, parent);
  // SQLite computes octet_length without reading the value.
  const lengthOf = (name: string, sqlType: string): string => {
    const column = `${child}.${dialect.quote(name)}`;
    return `coalesce(octet_length(${sqlType === 'json' ? `cast(${column} as text)` : column}), 0)`;
  };
  const texts = view.fields.flatMap((field) => {
    const { sqlType } = columnType(field, dialect.name);
    return /text|json/.test(sqlType) ? [lengthOf(field.column, sqlType)] : [];
  });
  const open = view.openKeys ? [lengthOf(OPEN_COLUMN, dialect.openKeys)] : [];
  const keys = view.fields.reduce((sum, { name }) => sum + name.length + VALUE_BYTES, VALUE_BYTES);
  const below = view.relations.map((related) => bytesOf(related.relation, related.view, child, dialect));
  const row = [String(keys), ...texts, ...open, ...below].join(' + ');
  return `(select coalesce(sum(${row}), 0) from ${relatedRows(relation, parent, child, dialect)})`;
}

/** The fault names the parameter that chose the relation, if any. */
export function tooMany(view: View, path: string, what: string): Problem {
  const message =
    `"${path}" leads to ${what}: leave it out with include=, or show less of it with fields=; ` +
    `a descriptor keeps it out of answers that do not ask for it with shown: false`;
  const source = view.chosenBy === undefined ? { relation: path } : { parameter: view.chosenBy };
  return faultyRequest('too-many-related', [{ ...source, code: 'too-many-related', message }]);
}

export const pathsOf = (
  view: View,
  above: readonly Relation[] = [],
): readonly { readonly relations: readonly Relation[]; readonly type: RecordType }[] =>
  view.relations.flatMap(({ relation, view: related }) => {
    const relations = [...above, relation];
    return [{ relations, type: related.type }, ...pathsOf(related, relations)];
  });

/** Builds FROM and WHERE for a path from ROOT_ALIAS, whose steps have the aliases `d0$`, `d1$` etc. */
function pathRows(relations: readonly Relation[], root: Joined, dialect: Dialect): string {
  const steps = relations.map((relation, index) =>
    relatedTables(relation, index === 0 ? ROOT_ALIAS : `d${index - 1}$`, `d${index}$`, dialect),
  );
  return fromTables({
    tables: [...root.tables, ...steps.flatMap(({ tables }) => tables)],
    conditions: [...root.conditions, ...steps.flatMap(({ conditions }) => conditions)],
  });
}

/** Makes the check that throws `too-many-related`; undefined without nesting. `identifiers`: SELECT of shown records. */
export function createDeepLimit(
  compiledFor: View,
  { query, sets = 0 }: Pick<RecordStatement, 'query' | 'sets'>,
  dialect: Dialect,
  most = SHOWN_LIMITS,
) {
  const { table, identifier } = compiledFor.type;
  const asked = `${ROOT_ALIAS}.${dialect.quote(identifier.column)} in (${query})`;
  const root = { tables: [`${dialect.quote(table)} as ${ROOT_ALIAS}`], conditions: [asked] };
  const counts = pathsOf(compiledFor).flatMap(({ relations }) => {
    if (relations.length === 1) return [];
    const counted = relations.map((relation) => counting(most, compiledFor, relation));
    const sql = `select ${countSql(pathRows(counted, root, dialect), most.deep)}`;
    const count = { query: sql, reads: [table, ...tablesOfPath(relations)], sets };
    return { name: relations.map(({ name }) => name).join('.'), count };
  });
  if (counts.length === 0) return undefined;
  const { deep } = most;
  return async (reader: RecordReader, view: View, values: readonly SqlValue[]): Promise<void> => {
    let total = 0;
    for (const { name, count } of counts) {
      total += Number(await reader.value(count, values));
      if (total > deep) throw tooMany(view, name, `more than ${deep} related records beyond the first level`);
    }
  };
}

export interface ViewRow {
  readonly type: RecordType;
  readonly identifier: Identifier;
}

/** Caps the factor of the limit for batches, since the found rows are held in memory and locked. */
const MAX_LOCKED_RECORDS = 10;

/** Finds the related records that preconditions lock; undefined if a relation has too many. */
export function createFindViewRows(dialect: Dialect, visibleTo: (rights: Rights, reader: Reader) => RecordReader) {
  const statementOf = createShapeCache((view: View) => viewRowsStatement(view, dialect));
  return async (
    reader: Reader,
    view: View,
    identifiers: readonly Identifier[],
  ): Promise<readonly ViewRow[] | undefined> => {
    const most = MAX_SHOWN_ROWS * Math.min(identifiers.length, MAX_LOCKED_RECORDS);
    const statement = statementOf(view.key, view);
    const rows = await visibleTo(view.rights, reader).all(statement, [JSON.stringify(identifiers)]);
    const found = Map.groupBy(rows, ([path]) => Number(path));
    if ([...found.values()].some(({ length }) => length > most)) return undefined;
    return pathsOf(view).flatMap(({ type }, path) =>
      (found.get(path) ?? []).map(([, number, text]) => {
        return { type: wholeOf(type), identifier: (number ?? text) as Identifier };
      }),
    );
  };
}

/** Returns the index in `pathsOf` and the identifier, in columns of their own if it may be a text. Bound: JSON array of identifiers. */
function viewRowsStatement(view: View, dialect: Dialect): RecordStatement {
  const { quote } = dialect;
  const { table, identifier } = view.type;
  const asked = `${ROOT_ALIAS}.${quote(identifier.column)} = asked$.id$`;
  const root = { tables: ['asked$', `${quote(table)} as ${ROOT_ALIAS}`], conditions: [asked] };
  const paths = pathsOf(view);
  const areNumbers = paths.every(({ type }) => type.identifier.kind.isCounted);
  const selects = paths.map(({ relations, type: { identifier: own } }, path) => {
    const id = `d${relations.length - 1}$.${quote(own.column)}`;
    const both = own.kind.isCounted ? [id, 'cast(null as text)'] : ['cast(null as bigint)', `cast(${id} as text)`];
    const row = [`${path} as path$`, ...(areNumbers ? [id] : both)].join(', ');
    const rows = pathRows(relations, root, dialect);
    return `select * from (select ${row} from ${rows} limit ${MAX_SHOWN_ROWS * MAX_LOCKED_RECORDS + 1}) as p${path}$`;
  });
  const listed = dialect.listed(identifierSql(identifier, dialect.name));
  const sql = `with asked$ as (select listed$.value as id$ from ${listed}) ${selects.join(' union all ')}`;
  return { query: sql, reads: tablesOfView(view) };
}
