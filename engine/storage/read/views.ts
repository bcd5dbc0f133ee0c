/** View -> the SQL expression of a record's JSON text, related records included. */
import { type Field, OPEN_COLUMN, type RecordType, type Relation } from '../../model/model.ts';
import type { Path, View } from '../../query/list-query.ts';
import { foldedValue } from '../../field-types/case-folding.ts';
import { columnType, comparedColumn } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json/json.ts';

/** The JSON text of the record that `alias` stands for. */
export const recordJson = (view: View, alias: string, dialect: Dialect): string =>
  jsonOf(view, alias, dialect, (relation, related) => relatedJson(relation, related, alias, dialect));

/** The same of a record that has just been made without links. */
export const newRecordJson = (view: View, alias: string, dialect: Dialect): string =>
  jsonOf(view, alias, dialect, ({ toMany }) => (toMany ? `'[]'` : `'null'`));

function jsonOf(
  view: View,
  alias: string,
  dialect: Dialect,
  related: (relation: Relation, view: View) => string,
): string {
  const { type } = view;
  const column = (name: string): string => `${alias}.${dialect.quote(name)}`;
  const identifier = type.identifier.inRecord ? [[type.identifier.name, column(type.identifier.column)] as const] : [];
  const fields = view.fields.map((field) => {
    const json = columnType(field, dialect.name).json(column(field.column));
    return [field.name, field.nullable ? dialect.nullable(json) : json] as const;
  });
  const relations = view.relations.map(
    ({ relation, view: shown }) => [relation.name, related(relation, shown)] as const,
  );
  return dialect.object([...identifier, ...fields, ...relations], view.openKeys ? column(OPEN_COLUMN) : undefined);
}

function relatedJson(relation: Relation, view: View, parent: string, dialect: Dialect): string {
  const child = aliasOf(relation, parent);
  const json = recordJson(view, child, dialect);
  const from = relatedRows(relation, parent, child, dialect);
  return relation.toMany
    ? dialect.array(json, from, typeOrder(view.type, child, dialect))
    : dialect.optional(json, from);
}

/** Aliases must differ among siblings and stay short at any depth. */
export const aliasOf = (relation: Relation, parent: string): string =>
  `${parent}_${[...relation.source.relations.keys()].indexOf(relation.name)}`;

/** Tables in order, each with the conditions that join it to those before. */
interface Joined {
  readonly tables: readonly string[];
  readonly conditions: readonly string[];
}

/** The rows that a relation leads to, from `parent` to `child`. */
export function relatedTables(relation: Relation, parent: string, child: string, { quote }: Dialect): Joined {
  const { link, source, target } = relation;
  const table = `${quote(target.table)} as ${child}`;
  const childId = `${child}.${quote(target.identifier.column)}`;
  const parentId = `${parent}.${quote(source.identifier.column)}`;
  if (link.at === 'source')
    return { tables: [table], conditions: [`${childId} = ${parent}.${quote(link.reference.column)}`] };
  if (link.at === 'target')
    return { tables: [table], conditions: [`${child}.${quote(link.reference.column)} = ${parentId}`] };
  const rows = `${child}_j`;
  return {
    tables: [`${quote(link.table.name)} as ${rows}`, table],
    conditions: [
      `${rows}.${quote(link.sourceColumn)} = ${parentId}`,
      `${childId} = ${rows}.${quote(link.targetColumn)}`,
    ],
  };
}

/** The same as FROM and WHERE; `joins` are optional rows beside them. SQLite keeps the order of a cross join. */
export const fromTables = ({ tables, conditions }: Joined, joins = ''): string =>
  `${tables.join(' cross join ')}${joins} where ${conditions.join(' and ')}`;

/** A path of relations from ROOT; `alias`: that of the rows that it leads to. */
export function pathTables(relations: readonly Relation[], dialect: Dialect): Joined & { readonly alias: string } {
  const aliases = [ROOT_ALIAS, ...relations.map((_, index) => `d${index}$`)];
  const steps = relations.map((relation, index) =>
    relatedTables(relation, aliases[index] ?? '', aliases[index + 1] ?? '', dialect),
  );
  const { source } = relations[0] ?? {};
  const root = source ? [`${dialect.quote(source.table)} as ${ROOT_ALIAS}`] : [];
  return {
    tables: [...root, ...steps.flatMap(({ tables }) => tables)],
    conditions: steps.flatMap(({ conditions }) => conditions),
    alias: aliases.at(-1) ?? ROOT_ALIAS,
  };
}

export const relatedRows = (relation: Relation, parent: string, child: string, dialect: Dialect): string =>
  fromTables(relatedTables(relation, parent, child, dialect));

/** The default order of a type, used for sets inside records; the identifier breaks ties. */
function typeOrder(type: RecordType, alias: string, dialect: Dialect): string {
  const terms = type.order.map(({ field, descending }) => {
    const named = (column: string): string => `${alias}.${dialect.quote(column)}`;
    const compared = field ? comparedBy(field, named, dialect) : named(type.identifier.column);
    return dialect.orderBy(compared, descending, !field);
  });
  const tieBreak = dialect.orderBy(
    `${alias}.${dialect.quote(type.identifier.column)}`,
    type.order.at(-1)?.descending ?? false,
    true,
  );
  return [...terms, tieBreak].join(', ');
}

// Paths through to-one relations -> SQL expressions, and the joins that they need.

/** The alias of the listed type's own table. Every alias has a `$`, which no name of a field or table may have. */
export const ROOT_ALIAS = 't$';

export interface PathSql {
  /** The column as it is stored, and as it is read: `decode` takes that. */
  readonly stored: string;
  readonly read: string;
  /** The column as it is ordered and compared. */
  readonly comparable: string;
  readonly nullable: boolean;
  /** It is the identifier of the listed record itself. */
  readonly present: boolean;
  operand(value: JsonValue): SqlValue;
  decode(value: SqlValue): JsonValue;
}

/** SQL: what the field's values are ordered and compared by. */
const comparedBy = (field: Field, named: (column: string) => string, { name }: Dialect): string =>
  comparedColumn(field, named, name, field.caseless ? field.folded : undefined);

/** How a value of the field, or an identifier, is bound where it is compared; a text in which case is ignored is folded before. */
export const operandOf = (field: Field | undefined, dialect: Dialect): PathSql['operand'] =>
  field ? columnType(field, dialect.name).operand : Number;

/** FROM of one statement: collects each join once. */
export interface JoinedTables {
  readonly from: string;
  path(path: Path): PathSql;
  /** The alias of the record that relations to one record lead to. */
  row(relations: readonly Relation[]): string;
  /** A new alias for the records of a set. */
  set(): string;
  /** The joins needed by the paths asked for so far. */
  joins(): string;
}

/** `root`: the alias of the table that the paths start at. */
export function createJoinedTables(type: RecordType, dialect: Dialect, root = ROOT_ALIAS): JoinedTables {
  const joins = new Map<string, { readonly alias: string; readonly sql: string }>();
  let sets = 0;

  function join(relation: Relation, parent: string, key: string): string {
    const known = joins.get(key);
    if (known) return known.alias;
    const alias = `${root}_j${joins.size}`;
    const { tables, conditions } = relatedTables(relation, parent, alias, dialect);
    joins.set(key, { alias, sql: `left join ${tables.join()} on ${conditions.join()}` });
    return alias;
  }

  const row = (relations: readonly Relation[]): string =>
    relations.reduce((parent, relation, index) => join(relation, parent, keyOf(relations, index)), root);

  function path({ relations, type: target, field }: Path): PathSql {
    const last = relations.at(-1);
    // A link that is stored in the row before is read there, without a join.
    const column = field === undefined && last?.link.at === 'source' ? last.link.reference.column : undefined;
    const hops = column === undefined ? relations : relations.slice(0, -1);
    const alias = row(hops);
    const named = (name: string): string => `${alias}.${dialect.quote(name)}`;
    const stored = named(column ?? field?.column ?? target.identifier.column);
    const operand = operandOf(field, dialect);
    if (!field)
      return {
        stored,
        read: stored,
        comparable: stored,
        nullable: relations.length > 0,
        present: relations.length === 0,
        operand,
        decode: (value) => value,
      };
    const { decode, read } = columnType(field, dialect.name);
    return {
      stored,
      read: read?.(stored) ?? stored,
      comparable: comparedBy(field, named, dialect),
      nullable: field.nullable || relations.length > 0,
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

const keyOf = (relations: readonly Relation[], index: number): string =>
  relations
    .slice(0, index + 1)
    .map(({ name }) => name)
    .join('.');
