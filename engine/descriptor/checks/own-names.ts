/** The names of one type: identifier, fields and relations, and the columns that follow from them. */
import type { TypeDraft } from '../draft.ts';
import { finding, quoted } from '../finding.ts';
import { grouped } from '../grouped.ts';
import { hiddenColumn, ownColumn } from '../naming.ts';
import type { Schema, Side } from '../schema.ts';
import type { At, Path } from '../source.ts';
import { type Claim, conflicts, type Found, type SchemaCheck } from './check.ts';

export const checkNames: SchemaCheck = ({ types }) => types.flatMap(doubledNames);

function doubledNames(type: TypeDraft): readonly Found[] {
  const member = (name: string, owner: string, path: Path, at: At): Claim => ({
    name,
    owner,
    type,
    found: (earlier) =>
      finding(
        'doubled-name',
        path,
        at,
        `${owner} has the name of ${earlier} already; upper and lower case count as the same`,
      ),
  });
  return conflicts([
    member(type.identifier, `the identifier ${quoted(type.identifier)}`, ['identifier', 'name'], 'value'),
    ...[...type.fields.keys()].map((name) => member(name, `field ${quoted(name)}`, ['fields', name], 'key')),
    ...[...type.relations.keys()].map((name) => member(name, `relation ${quoted(name)}`, ['relations', name], 'key')),
  ]);
}

/** The columns of each table: those of identifier and fields, then those that relations of any type bring. */
export const checkColumns: SchemaCheck = (schema) => {
  const brought = grouped(
    schema.sides.flatMap((side) => foreignColumn(side, schema) ?? []),
    ({ table }) => table,
  );
  return [...brought].flatMap(([table, columns]) => conflicts([...ownColumns(table), ...columns]));
};

/** Doubled names among these were found before, and are not found again here. */
function ownColumns(type: TypeDraft): readonly Claim[] {
  const names = new Map([...type.fields.keys()].map((name) => [name.toLowerCase(), `field ${quoted(name)}`]));
  names.set(type.identifier.toLowerCase(), 'the identifier');
  return [...names].map(([name, owner]) => ({
    name,
    owner,
    type,
    found: (earlier) => finding('doubled-name', [], 'value', earlier),
  }));
}

/** The column that a relation brings, and the table that has it: its own, or that of its children. */
function foreignColumn(side: Side, schema: Schema): (Claim & { readonly table: TypeDraft }) | undefined {
  const { type, name, relation, target } = side;
  const own = relation.kind === 'belongsTo';
  const table = own ? type : target;
  if (!table || (!own && !isHidden(side, schema))) return undefined;
  const column = relation.column ?? (own ? ownColumn(name) : hiddenColumn(type.name, name));
  const [path, at]: readonly [Path, At] =
    relation.column === undefined ? [['relations', name], 'key'] : [['relations', name, 'column'], 'value'];
  const found = (earlier: string) =>
    finding(
      'doubled-column',
      path,
      at,
      `relation ${quoted(name)} would have the column ${quoted(column)} of ${table.name}, which is that of ${earlier}; give it another "column"`,
    );
  return { name: column, owner: `relation ${quoted(name)} of ${type.name}`, type, table, found };
}

const isHidden = (side: Side, schema: Schema): boolean =>
  (side.relation.kind === 'hasOne' || side.relation.kind === 'hasMany') &&
  side.relation.inverse === undefined &&
  !schema.inverse(side);
