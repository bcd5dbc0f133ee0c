/**
 * How much of sets one answer may show. Sets are counted before their JSON is put together, in the same statement: a
 * record that would show too much comes as a mark with its identifier, and is then examined.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { createShapeCache } from '../../memo.ts';
import {
  MAX_DEEP_RECORDS,
  MAX_SHOWN_BYTES,
  MAX_SHOWN_ROWS,
  OPEN_COLUMN,
  type RecordType,
  type Relation,
} from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader, Statement } from '../driver.ts';
import { aliasOf, fromTables, pathTables, recordJson, relatedRows, ROOT_ALIAS } from './views.ts';

/** JSON texts never contain this character. */
const MARK = '\u0001';
/** Sets with at most this many rows are not measured, so that usual records cost nothing more. */
const UNCOUNTED_ROWS = 16;
/** What a key, or a value that is not a text, counts. */
const SMALL_BYTES = 16;

export const isMarked = (text: string): boolean => text.startsWith(MARK);

/** The identifier of the first record that is marked; undefined where none is. */
export function markedAmong(records: readonly string[]): number | undefined {
  const marked = records.find(isMarked);
  return marked === undefined ? undefined : Number(marked.slice(MARK.length));
}

/** The JSON text of the record that ROOT stands for, or its mark where the rows or the bytes of its relations are too many. */
export function limitedJson(view: View, dialect: Dialect): string {
  const json = recordJson(view, ROOT_ALIAS, dialect);
  const sets = view.relations.filter(({ relation }) => relation.toMany);
  if (sets.length === 0) return json;
  const isLarge = sets.map(({ relation }) => {
    const rows = relatedRows(relation, ROOT_ALIAS, aliasOf(relation, ROOT_ALIAS), dialect);
    return `exists (select 1 from ${rows} limit 1 offset ${UNCOUNTED_ROWS})`;
  });
  const rows = sets.map(({ relation }) => countOf(relation, dialect));
  const tooLarge = `case when ${rows.join(' + ')} > ${MAX_SHOWN_ROWS} then 1 when ${relatedBytes(view, ROOT_ALIAS, dialect)} > ${MAX_SHOWN_BYTES} then 1 else 0 end`;
  const { quote } = dialect;
  const mark = `concat('${MARK}', ${ROOT_ALIAS}.${quote(view.type.identifier.column)})`;
  return `case case when ${isLarge.join(' or ')} then ${tooLarge} else 0 end when 0 then ${json} else ${mark} end`;
}

/** How many rows a set of ROOT has; of more than may be shown, one more. */
function countOf(relation: Relation, dialect: Dialect): string {
  const rows = relatedRows(relation, ROOT_ALIAS, aliasOf(relation, ROOT_ALIAS), dialect);
  return `(select count(*) from (select 1 from ${rows} limit ${MAX_SHOWN_ROWS + 1}) as counted$)`;
}

/** About as many bytes as the relations of a record take: the texts as they are stored, and something for the rest. */
const relatedBytes = ({ relations }: View, alias: string, dialect: Dialect): string =>
  relations.map(({ relation, view }) => bytesOf(relation, view, alias, dialect)).join(' + ');

function bytesOf(relation: Relation, view: View, parent: string, dialect: Dialect): string {
  const child = aliasOf(relation, parent);
  const from = relatedRows(relation, parent, child, dialect);
  const column = (name: string): string => `${child}.${dialect.quote(name)}`;
  const texts = view.fields.flatMap((field) => {
    const { sqlType } = columnType(field, dialect.name);
    return /text|json/.test(sqlType) ? [dialect.bytes(column(field.column), sqlType)] : [];
  });
  const open = view.openKeys ? [dialect.bytes(column(OPEN_COLUMN), dialect.openKeys)] : [];
  const keys = view.fields.reduce((sum, { name }) => sum + name.length + SMALL_BYTES, SMALL_BYTES);
  const below = view.relations.length > 0 ? [relatedBytes(view, child, dialect)] : [];
  const row = [String(keys), ...[...texts, ...open].map((text) => `coalesce(${text}, 0)`), ...below].join(' + ');
  return `(select coalesce(sum(${row}), 0) from ${from})`;
}

/** Examines a marked record: throws `too-many-related` if it shows too much. */
export type Weigh = (reader: Reader, view: View, identifier: number) => Promise<void>;

export function createWeigh({ type, relations }: View, dialect: Dialect): Weigh {
  const { quote } = dialect;
  const root = `${quote(type.table)} as ${ROOT_ALIAS} where ${ROOT_ALIAS}.${quote(type.identifier.column)} = ?`;
  const of = (sqlOf: (relation: Relation, view: View) => string) =>
    relations.map(({ relation, view }) => ({
      name: relation.name,
      statement: { sql: `select ${sqlOf(relation, view)} from ${root}` },
    }));
  const counts = of((relation) => (relation.toMany ? countOf(relation, dialect) : '0'));
  const bytes = of((relation, view) => bytesOf(relation, view, ROOT_ALIAS, dialect));
  return async (reader, view, identifier) => {
    for (const [sets, most, what] of [
      [counts, MAX_SHOWN_ROWS, 'related records'],
      [bytes, MAX_SHOWN_BYTES, 'bytes'],
    ] as const) {
      let total = 0;
      for (const { name, statement } of sets) {
        total += Number((await reader.value(statement, [identifier])) ?? 0);
        if (total > most) throw tooMany(view, name, `more than ${most} ${what} of ${type.name} ${identifier}`);
      }
    }
  };
}

/** The fault names the parameter that chose the relation, or else the relation. */
function tooMany(view: View, path: string, what: string): Problem {
  const message =
    `"${path}" leads to ${what}: leave it out with include=, or show less of it with fields=; ` +
    `a descriptor keeps it out of answers that do not ask for it with shown: false`;
  const place = view.chosenBy === undefined ? { relation: path } : { parameter: view.chosenBy };
  return new Problem('too-many-related', message, { errors: [{ ...place, code: 'too-many-related', message }] });
}

interface ViewPath {
  readonly relations: readonly Relation[];
  readonly type: RecordType;
}

/** Every path of relations in a view. */
const pathsOf = (view: View, above: readonly Relation[] = []): readonly ViewPath[] =>
  view.relations.flatMap(({ relation, view: related }) => {
    const relations = [...above, relation];
    return [{ relations, type: related.type }, ...pathsOf(related, relations)];
  });

/** Throws `too-many-related`, naming the path that passes the limit. */
export type DeepLimit = (reader: Reader, view: View, values: readonly SqlValue[]) => Promise<void>;

/** `identifiers` selects the identifiers of the records of the answer. Undefined if the view has one level only. */
export function createDeepLimit(compiledFor: View, identifiers: Statement, dialect: Dialect): DeepLimit | undefined {
  const counts = pathsOf(compiledFor).flatMap(({ relations }) => {
    if (relations.length === 1) return [];
    const { tables, conditions } = pathTables(relations, dialect);
    const asked = `${ROOT_ALIAS}.${dialect.quote(compiledFor.type.identifier.column)} in (${identifiers.sql})`;
    const rows = fromTables({ tables, conditions: [asked, ...conditions] });
    const sql = `select count(*) from (select 1 from ${rows} limit ${MAX_DEEP_RECORDS + 1}) as counted$`;
    return { name: relations.map(({ name }) => name).join('.'), count: { sql } };
  });
  if (counts.length === 0) return undefined;
  return async (reader, view, values) => {
    let total = 0;
    for (const { name, count } of counts) {
      total += Number(await reader.value(count, values));
      if (total > MAX_DEEP_RECORDS)
        throw tooMany(view, name, `more than ${MAX_DEEP_RECORDS} related records beyond the first level`);
    }
  };
}

// The rows that a record's text is made from: whoever relies on the text locks them.

/** A related record that a view shows. */
export interface ViewRow {
  readonly type: RecordType;
  readonly identifier: number;
}

/** The related records that a view shows of some records; undefined if one relation leads to more than answers may show. */
export type FindViewRows = (
  reader: Reader,
  view: View,
  identifiers: readonly number[],
) => Promise<readonly ViewRow[] | undefined>;

/** Related records of one relation, for each record up to this many. They are held and locked. */
const MOST_RECORDS = 10;

export function createFindViewRows(dialect: Dialect): FindViewRows {
  const statementOf = createShapeCache((view: View) => viewRowsStatement(view, dialect));
  return async (reader, view, identifiers) => {
    const most = MAX_SHOWN_ROWS * Math.min(identifiers.length, MOST_RECORDS);
    const statement = statementOf(`${view.type.statementKey}|${view.key}`, view);
    const rows = await reader.all(statement, [JSON.stringify(identifiers), most + 1]);
    const found = Map.groupBy(rows, ([path]) => Number(path));
    if ([...found.values()].some(({ length }) => length > most)) return undefined;
    return pathsOf(view).flatMap(({ type }, path) =>
      (found.get(path) ?? []).map(([, identifier]) => ({ type, identifier: Number(identifier) })),
    );
  };
}

/** Rows of a path's number and an identifier. Bound: JSON array of identifiers, and how many rows of each path are enough. */
function viewRowsStatement(view: View, dialect: Dialect): Statement {
  const { quote } = dialect;
  const root = view.type;
  const selects = pathsOf(view).map(({ relations, type }, path) => {
    const { tables, conditions, alias } = pathTables(relations, dialect);
    const asked = `${ROOT_ALIAS}.${quote(root.identifier.column)} = asked$.id$`;
    const rows = fromTables({ tables: ['asked$', ...tables], conditions: [asked, ...conditions] });
    const row = `${path} as path$, ${alias}.${quote(type.identifier.column)}`;
    return `select * from (select ${row} from ${rows} limit (select most$ from bounds$)) as p${path}$`;
  });
  const asked = `select listed$.value as id$ from ${dialect.listed}`;
  return {
    sql: `with asked$ as (${asked}), bounds$ as (select cast(? as bigint) as most$) ${selects.join(' union all ')}`,
  };
}
