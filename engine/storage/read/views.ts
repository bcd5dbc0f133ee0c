/** View -> the SQL expression that puts a record's JSON text together, related records included, in the database. */
import { OPEN_COLUMN, type RecordType, type Relation } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../driver.ts';

/** The JSON text of the record that `alias` stands for. */
export function recordJson(view: View, alias: string, dialect: Dialect): string {
  const { type } = view;
  const column = (name: string): string => `${alias}.${dialect.quote(name)}`;
  const identifier = type.identifier.inRecord ? [[type.identifier.name, column(type.identifier.column)] as const] : [];
  const fields = view.fields.map((field) => {
    const json = columnType(field, dialect.name).json(column(field.column));
    return [field.name, field.nullable ? dialect.nullable(json) : json] as const;
  });
  const relations = view.relations.map(
    ({ relation, view: related }) => [relation.name, relatedJson(relation, related, alias, dialect)] as const,
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

/** Tables that come one after the other, each with what it has to do with those before it. */
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

/** The same as FROM and WHERE. SQLite keeps to the order of a cross join. */
export const fromTables = ({ tables, conditions }: Joined): string =>
  `${tables.join(' cross join ')} where ${conditions.join(' and ')}`;

export const relatedRows = (relation: Relation, parent: string, child: string, dialect: Dialect): string =>
  fromTables(relatedTables(relation, parent, child, dialect));

/** The default order of a type, as sets inside records have it; the identifier breaks ties. */
function typeOrder(type: RecordType, alias: string, dialect: Dialect): string {
  const terms = type.order.map(({ field, descending }) => {
    const column = `${alias}.${dialect.quote(field?.column ?? type.identifier.column)}`;
    return dialect.orderBy(field ? columnType(field, dialect.name).comparable(column) : column, descending, !field);
  });
  const tieBreak = dialect.orderBy(
    `${alias}.${dialect.quote(type.identifier.column)}`,
    type.order.at(-1)?.descending ?? false,
    true,
  );
  return [...terms, tieBreak].join(', ');
}
