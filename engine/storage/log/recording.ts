/**
 * What is written to the log of changes: an entry for each change of a row of a recorded type, and of a link of one, by
 * triggers, so that no writer is missed. Entries name tables and columns, which keep their names when types and fields
 * get others; values are made by the SQL that makes records. The context says who writes, and up to where entries were deleted.
 */
import { createHash } from 'node:crypto';
import type { Identifier } from '../../model/identifier.ts';
import {
  ENGINE_PREFIX,
  type JoinTable,
  type Model,
  OPEN_COLUMN,
  owningReferences,
  type RecordType,
} from '../../model/model.ts';
import { generatedName } from '../../names.ts';
import { columnType } from '../columns.ts';
import { type Dialect, inGroups, jsonOptional, literal, type LogStatement, type LogTrigger } from '../dialect.ts';
import type { Writer } from '../driver.ts';
import { sidesOf } from '../tables.ts';

export const LOG_TABLE = `${ENGINE_PREFIX}log`;
export const CONTEXT_TABLE = `${ENGINE_PREFIX}context`;

/**
 * `tx`: the number of the write, negative for other programs; apart from that, at most the first position of its entries.
 * `at`: milliseconds. `record`, `owner`: identifiers as text. `log`: another number if the entries are others.
 */
export function logTables({ tableOptions, log: { position, number, indexes }, integer }: Dialect): readonly string[] {
  const columns = `source text not null, record text not null, owner text, operation text not null, at ${integer} not null, tx ${integer} not null, actor text, request text, "old" text, "new" text, unrecorded text`;
  const context = `id integer primary key, log ${integer} not null, expired ${integer} not null, tx ${integer}, at ${integer}, actor text, request text`;
  return [
    `create table if not exists ${LOG_TABLE} (position ${position}, ${columns}) ${tableOptions(true)}`,
    ...indexes,
    `create index if not exists ${LOG_TABLE}_deleted on ${LOG_TABLE} (source, position) where operation = 'delete'`,
    `create table if not exists ${CONTEXT_TABLE} (${context}) ${tableOptions(true)}`,
    `insert into ${CONTEXT_TABLE} (id, log, expired) select 1, ${number}, 0 where not exists (select 1 from ${CONTEXT_TABLE})`,
  ];
}

/** For a table that is dropped: another one may get its name, and must not get its parts. */
export const forgetTable = (table: string): readonly string[] => [
  `delete from ${LOG_TABLE} where source = ${literal(table)}`,
  `update ${LOG_TABLE} set owner = null where ${literal(`${table}/`)} = substr(owner, 1, length(${literal(`${table}/`)}))`,
];

/** Takes out of the entries of a record, of its links and of all that it owned what they say. Returns their number. */
export async function eraseEntries(
  writer: Writer,
  { log: { own, owned } }: Dialect,
  { joinTables }: Model,
  { table }: RecordType,
  identifier: Identifier,
): Promise<number> {
  const erase = `update ${LOG_TABLE} set "old" = null, "new" = null, unrecorded = null, actor = null where ${own}`;
  const eraseLinks = { sql: `${erase} and replace(coalesce("old", "new"), ?, '') <> coalesce("old", "new")` };
  const parts = { sql: `select distinct source || '/' || record from ${LOG_TABLE} where ${owned}` };
  const found = new Set([`${table}/${identifier}`]);
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const part of await writer.column(parts, [JSON.stringify([...found])])) found.add(String(part));
  }
  const places = [...found].map((place) => place.split(/\/(.*)/s).slice(0, 2));
  let { changes } = await writer.run({ sql: erase }, [JSON.stringify(places)]);
  for (const { name, left, right } of joinTables)
    for (const [{ type }, { column }] of [[left, right] as const, [right, left] as const]) {
      const linked = places.filter(([source]) => source === type.table).map(([, record]) => [name, record]);
      changes += (await writer.run(eraseLinks, [JSON.stringify(linked), `"${column}":`])).changes;
    }
  return changes;
}

/** The name of a table's triggers, or the beginning of it. */
export const triggerName = (table: string): string => generatedName(LOG_TABLE, table);

type RowAlias = 'old' | 'new';

const DIGEST_LENGTH = 16;

/** Databases limit how deep expressions are. */
const MAX_TERMS = 100;

function chained(terms: readonly string[], operator: string, none: string): string {
  if (terms.length === 0) return none;
  if (terms.length <= MAX_TERMS) return terms.join(operator);
  const groups = inGroups(terms, MAX_TERMS).map((some) => `(${some.join(operator)})`);
  return chained(groups, operator, none);
}

interface RecordedColumn {
  readonly name: string;
  /** SQL for the JSON of a value that is not null; undefined if it is confidential. */
  readonly json: ((value: string) => string) | undefined;
}

const linkJson = ({ identifier }: RecordType, { name }: Dialect): ((value: string) => string) =>
  identifier.type.columns[name].json;

const recordedColumns = (type: RecordType, dialect: Dialect): readonly RecordedColumn[] => [
  ...[...type.fields.values(), ...type.hidden].map((field) => ({
    name: field.column,
    json: field.sensitive ? undefined : columnType(field, dialect.name).json,
  })),
  ...type.references.map(({ column, target }) => ({ name: column, json: linkJson(target, dialect) })),
  ...(type.open ? [{ name: OPEN_COLUMN, json: (column: string) => dialect.log.valid(textOf(column)) }] : []),
];

const textOf = (column: string): string => `cast(${column} as text)`;

interface Entry {
  readonly operation: string;
  /** SQL of the columns, by their names. */
  readonly values: Readonly<Partial<Record<'record' | 'owner' | RowAlias | 'unrecorded', string>>>;
  readonly when?: string | undefined;
}

function insertInto(source: string, { operation, values, when }: Entry, { log: { writer }, quote }: Dialect) {
  const columns = Object.entries(values);
  const names = ['source', 'operation', 'at, tx, actor, request', ...columns.map(([name]) => quote(name))].join(', ');
  const given = [literal(source), literal(operation), writer.columns, ...columns.map(([, sql]) => sql)].join(', ');
  return { when, sql: `insert into ${LOG_TABLE} (${names}) select ${given}${writer.from}` };
}

function typeTrigger(type: RecordType, dialect: Dialect): LogTrigger {
  const { quote, log } = dialect;
  const of = (row: RowAlias, column: string): string => `${row}.${quote(column)}`;
  const columns = recordedColumns(type, dialect);
  const differ = ({ name }: { readonly name: string }): string => log.differ(of('old', name), of('new', name));
  /** A JSON object or array of those columns for which a condition is true. */
  const members = (brackets: string, parts: readonly (readonly [condition: string, text: string])[]): string => {
    const terms = parts.map(([condition, text]) => `case when ${condition} then ${text} else '' end`);
    return `${literal(brackets.charAt(0))} || substr(${chained(terms, ' || ', `''`)}, 2) || ${literal(brackets.charAt(1))}`;
  };
  const key = (name: string): string => `,${JSON.stringify(name)}`;
  const object = (row: RowAlias, isShown: (column: RecordedColumn) => string): string =>
    members(
      '{}',
      columns.flatMap((column) => {
        const { name, json } = column;
        if (json === undefined) return [];
        return [[isShown(column), `${literal(`${key(name)}:`)} || ${jsonOptional(json(of(row, name)))}`] as const];
      }),
    );
  const secret = columns.filter(({ json }) => json === undefined);
  const unrecorded = (isChanged: (column: RecordedColumn) => string) =>
    secret.length === 0
      ? {}
      : {
          unrecorded: `nullif(${members(
            '[]',
            secret.map((column) => [isChanged(column), literal(key(column.name))]),
          )}, '[]')`,
        };
  const owners = owningReferences(type).filter(({ target }) => target.history);
  const identity = (...rows: readonly RowAlias[]) => {
    const [row = 'new'] = rows;
    const owner = rows.flatMap((one) =>
      owners.map(({ column, target }) => `${literal(`${target.table}/`)} || ${textOf(of(one, column))}`),
    );
    const first = owner.length > 1 ? `coalesce(${owner.join(', ')})` : owner.join();
    const record = textOf(of(row, type.identifier.column));
    return owner.length === 0 ? { record } : { record, owner: first };
  };
  const whole = (row: RowAlias, operation: string, when?: string): LogStatement => {
    const isPresent = ({ name }: RecordedColumn): string => `${of(row, name)} is not null`;
    const values = { ...identity(row), [row]: object(row, isPresent), ...unrecorded(isPresent) };
    return insertInto(type.table, { operation, values, when }, dialect);
  };
  const isOther = log.differ(of('old', type.identifier.column), of('new', type.identifier.column));
  const changes = {
    ...identity('new', 'old'),
    old: object('old', differ),
    new: object('new', differ),
    ...unrecorded(differ),
  };
  const isChange = `not (${isOther}) and (${chained(columns.map(differ), ' or ', '1 = 0')})`;
  return {
    insert: [whole('new', 'create')],
    update: [
      insertInto(type.table, { operation: 'update', values: changes, when: isChange }, dialect),
      // Other programs may give a record another identifier.
      whole('old', 'delete', isOther),
      whole('new', 'create', isOther),
    ],
    delete: [whole('old', 'delete')],
  };
}

/** The triggers of a table of links: an entry for each side that has a history, named by the column of the other side. */
function joinTrigger(join: JoinTable, dialect: Dialect): LogTrigger {
  const { quote, log } = dialect;
  const [left, right] = sidesOf(join);
  const pairs = [
    { own: left, other: right },
    { own: right, other: left },
  ].filter(({ own }) => own.type.history);
  const entries = (row: RowAlias, operation: string, when?: string): readonly LogStatement[] =>
    pairs.map(({ own, other }) => {
      const json = linkJson(other.type, dialect)(`${row}.${quote(other.column)}`);
      const values = {
        record: textOf(`${row}.${quote(own.column)}`),
        [row]: `${literal(`{${JSON.stringify(other.column)}:`)} || ${json} || '}'`,
      };
      return insertInto(join.name, { operation, values, when }, dialect);
    });
  const isOther = [left, right]
    .map(({ column }) => log.differ(`old.${quote(column)}`, `new.${quote(column)}`))
    .join(' or ');
  return {
    insert: entries('new', 'link'),
    update: [...entries('old', 'unlink', isOther), ...entries('new', 'link', isOther)],
    delete: entries('old', 'unlink'),
  };
}

/** The statements that make the triggers of a table; none if it is not recorded. */
export function recordingOf(source: RecordType | JoinTable, dialect: Dialect): readonly string[] {
  const isType = 'table' in source;
  const isRecorded = isType ? source.history : source.left.type.history || source.right.type.history;
  if (!isRecorded) return [];
  const table = isType ? source.table : source.name;
  const trigger = isType ? typeTrigger(source, dialect) : joinTrigger(source, dialect);
  return dialect.log.create(triggerName(table), table, trigger, !isType);
}

/** A digest of the log and the triggers of a table, to find that they have changed; undefined if there are none. */
export function recordingDigest(made: readonly string[], dialect: Dialect): string | undefined {
  const all = [...logTables(dialect), ...made].join('\n');
  return made.length === 0 ? undefined : createHash('sha256').update(all).digest('hex').slice(0, DIGEST_LENGTH);
}
