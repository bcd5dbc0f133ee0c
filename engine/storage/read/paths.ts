/** Paths through to-one relations -> SQL expressions, and the joins that they need. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import type { Path } from '../../query/list-query.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../driver.ts';

/** The alias of the listed type's own table. */
export const ROOT = 't';

export interface PathSql {
  /** The column as it is stored. */
  readonly stored: string;
  /** The column as it is ordered and compared. */
  readonly comparable: string;
  readonly nullable: boolean;
  /** It is the identifier of the listed record itself. */
  readonly present: boolean;
  operand(value: JsonValue): SqlValue;
  decode(value: SqlValue): JsonValue;
}

/** FROM of one statement: collects each join once. */
export interface Source {
  readonly from: string;
  path(path: Path): PathSql;
  /** The joins that the paths asked for so far need. */
  joins(): string;
}

export function createSource(type: RecordType, dialect: Dialect): Source {
  const joins = new Map<string, { readonly alias: string; readonly sql: string }>();

  function join(relation: Relation, parent: string, key: string): string {
    const known = joins.get(key);
    if (known) return known.alias;
    const alias = `j${joins.size}`;
    joins.set(key, {
      alias,
      sql: `left join ${dialect.quote(relation.target.table)} as ${alias} on ${condition(relation, parent, alias, dialect)}`,
    });
    return alias;
  }

  function path({ relations, type: target, field }: Path): PathSql {
    const last = relations.at(-1);
    // A link that is kept in the row before it is read there, without a join.
    const column = field === undefined && last?.link.at === 'source' ? last.link.reference.column : undefined;
    const hops = column === undefined ? relations : relations.slice(0, -1);
    const alias = hops.reduce((parent, relation, index) => join(relation, parent, keyOf(hops, index)), ROOT);
    const stored = `${alias}.${dialect.quote(column ?? field?.column ?? target.identifier.column)}`;
    if (!field)
      return {
        stored,
        comparable: stored,
        nullable: relations.length > 0,
        present: relations.length === 0,
        operand: Number,
        decode: (value) => value,
      };
    const { comparable, operand, decode } = columnType(field, dialect.name);
    return {
      stored,
      comparable: comparable(stored),
      nullable: field.nullable || relations.length > 0,
      present: false,
      operand,
      decode: (value) => (value === null ? null : decode(value)),
    };
  }

  return {
    from: `${dialect.quote(type.table)} as ${ROOT}`,
    path,
    joins: () => [...joins.values()].map(({ sql }) => sql).join(' '),
  };
}

const keyOf = (relations: readonly Relation[], index: number): string =>
  relations
    .slice(0, index + 1)
    .map(({ name }) => name)
    .join('.');

function condition(
  { link, source, target, name }: Relation,
  parent: string,
  child: string,
  { quote }: Dialect,
): string {
  if (link.at === 'source')
    return `${child}.${quote(target.identifier.column)} = ${parent}.${quote(link.reference.column)}`;
  if (link.at === 'target')
    return `${child}.${quote(link.reference.column)} = ${parent}.${quote(source.identifier.column)}`;
  throw new Error(`"${name}" is no to-one relation`);
}
