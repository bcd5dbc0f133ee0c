/**
 * How much of sets one answer may show. Sets are counted before their JSON is put together, in the same statement: a
 * record that would show too much comes as a mark with its identifier, and is then examined.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { MAX_DEEP_RECORDS, MAX_SHOWN_BYTES, MAX_SHOWN_ROWS, OPEN_COLUMN, type Relation } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader, Statement } from '../driver.ts';
import { aliasOf, fromTables, recordJson, relatedRows, relatedTables, ROOT_ALIAS } from './views.ts';

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
export function limitedJson(view: View, bytes: number, dialect: Dialect): string {
  const json = recordJson(view, ROOT_ALIAS, dialect);
  const sets = view.relations.filter(({ relation }) => relation.toMany);
  if (sets.length === 0) return json;
  const isLarge = sets.map(({ relation }) => {
    const rows = relatedRows(relation, ROOT_ALIAS, aliasOf(relation, ROOT_ALIAS), dialect);
    return `exists (select 1 from ${rows} limit 1 offset ${UNCOUNTED_ROWS})`;
  });
  const rows = sets.map(({ relation }) => countOf(relation, dialect));
  const tooLarge = `case when ${rows.join(' + ')} > ${MAX_SHOWN_ROWS} then 1 when ${relatedBytes(view, ROOT_ALIAS, dialect)} > ${bytes} then 1 else 0 end`;
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

interface CountedSet {
  readonly name: string;
  readonly count: Statement;
  readonly bytes: Statement;
}

/** Measures a marked record: throws `too-many-related` if it shows too much, else returns the number of bytes. */
export type Weigh = (reader: Reader, view: View, identifier: number) => Promise<number>;

export function createWeigh(compiledFor: View, dialect: Dialect): Weigh {
  const { type, relations } = compiledFor;
  const { quote } = dialect;
  const of = (expression: string): Statement => ({
    sql: `select ${expression} from ${quote(type.table)} as ${ROOT_ALIAS} where ${ROOT_ALIAS}.${quote(type.identifier.column)} = ?`,
  });
  const sets = relations.map(({ relation, view }): CountedSet => ({
    name: relation.name,
    count: of(relation.toMany ? countOf(relation, dialect) : '0'),
    bytes: of(bytesOf(relation, view, ROOT_ALIAS, dialect)),
  }));
  return async (reader, view, identifier) => {
    const what = `${type.name} ${identifier}`;
    let rows = 0;
    for (const { name, count } of sets) {
      rows += Number((await reader.value(count, [identifier])) ?? 0);
      if (rows > MAX_SHOWN_ROWS) throw tooMany(view, name, `more than ${MAX_SHOWN_ROWS} related records of ${what}`);
    }
    let total = 0;
    for (const { name, bytes } of sets) {
      total += Number((await reader.value(bytes, [identifier])) ?? 0);
      if (total > MAX_SHOWN_BYTES) throw tooMany(view, name, `more than ${MAX_SHOWN_BYTES} bytes of ${what}`);
    }
    return total;
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

interface DeepPath {
  readonly name: string;
  /** Bound as the statement that selects the identifiers. */
  readonly count: Statement;
}

/** Throws `too-many-related`, naming the path that passes the limit. */
export type DeepLimit = (reader: Reader, view: View, values: readonly SqlValue[]) => Promise<void>;

/** `identifiers` selects the identifiers of the records of the answer. Undefined if the view has one level only. */
export function createDeepLimit(compiledFor: View, identifiers: Statement, dialect: Dialect): DeepLimit | undefined {
  const paths = deepPaths(compiledFor, []).map((relations) => countPath(compiledFor, relations, identifiers, dialect));
  if (paths.length === 0) return undefined;
  return async (reader, view, values) => {
    let total = 0;
    for (const { name, count } of paths) {
      total += Number(await reader.value(count, values));
      if (total > MAX_DEEP_RECORDS)
        throw tooMany(view, name, `more than ${MAX_DEEP_RECORDS} related records beyond the first level`);
    }
  };
}

/** Every path of two or more relations. */
function deepPaths(view: View, above: readonly Relation[]): readonly (readonly Relation[])[] {
  return view.relations.flatMap(({ relation, view: related }) => {
    const path = [...above, relation];
    return [...(path.length > 1 ? [path] : []), ...deepPaths(related, path)];
  });
}

function countPath({ type }: View, relations: readonly Relation[], identifiers: Statement, dialect: Dialect): DeepPath {
  const { quote } = dialect;
  const steps = relations.map((relation, index) =>
    relatedTables(relation, index === 0 ? ROOT_ALIAS : `d${index}$`, `d${index + 1}$`, dialect),
  );
  const rows = fromTables({
    tables: [`${quote(type.table)} as ${ROOT_ALIAS}`, ...steps.flatMap(({ tables }) => tables)],
    conditions: [
      `${ROOT_ALIAS}.${quote(type.identifier.column)} in (${identifiers.sql})`,
      ...steps.flatMap(({ conditions }) => conditions),
    ],
  });
  return {
    name: relations.map(({ name }) => name).join('.'),
    count: { sql: `select count(*) from (select 1 from ${rows} limit ${MAX_DEEP_RECORDS + 1}) as counted$` },
  };
}
