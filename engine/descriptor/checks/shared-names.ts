/** The names that types have among each other: types, paths, tables. */
import type { TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import { joinTable, pathOf, tableOf } from '../naming.ts';
import type { Schema, Side } from '../schema.ts';
import type { At, Path } from '../source.ts';
import { nameFault, pathFault, tableFault, type TextFault } from '../texts.ts';
import { type Check, type Claim, conflicts, type Found, type SchemaCheck } from './check.ts';

/** Types whose name an earlier one has. */
export const doubledTypes = (types: readonly TypeDraft[]): readonly Found[] =>
  conflicts(
    types.map((type) => ({
      name: type.name,
      owner: type.where.file,
      type,
      found: (earlier) =>
        finding('doubled-type', ['type'], 'value', `the type ${quoted(type.name)} is described in ${earlier} already`),
    })),
  );

/** Default names that cannot be used: the descriptor has to give others. */
export const checkDefaultNames: Check = ({ draft, lost, name, operations }) => {
  if (name === '' || nameFault(name)) return [];
  const fault = (key: string, wrong: TextFault | undefined): readonly Finding[] =>
    wrong ? [finding(wrong.code, ['type'], 'value', `the default ${key}: ${wrong.message}; set "${key}"`)] : [];
  return [
    ...(draft.path === undefined && !lost.has('path') && operations?.size !== 0
      ? fault('path', pathFault(pathOf(draft)))
      : []),
    ...(draft.table === undefined && !lost.has('table') ? fault('table', tableFault(tableOf(draft))) : []),
  ];
};

const isKnown = (type: TypeDraft, key: string): boolean => type.name !== '' && type.complete && !type.lost.has(key);

export const checkPaths: SchemaCheck = ({ types }) =>
  conflicts(types.filter((type) => isKnown(type, 'path')).map((type) => typeClaim(type, 'path', pathOf(type.draft))));

/** The tables of types, and those that keep manyToMany relations. */
export const checkTables: SchemaCheck = (schema) =>
  conflicts([
    ...schema.types
      .filter((type) => isKnown(type, 'table'))
      .map((type) => typeClaim(type, 'table', tableOf(type.draft))),
    ...schema.sides
      .filter((side) => side.relation.kind === 'manyToMany' && namingSide(side, schema) === side)
      .map((side) => joinClaim(side, schema)),
  ]);

function typeClaim(type: TypeDraft, key: 'path' | 'table', name: string): Claim {
  const place = type.draft[key] === undefined ? 'type' : key;
  const message = (earlier: string) =>
    `the ${key} ${quoted(name)} is that of ${earlier} already; give one of them another "${key}"`;
  return {
    name,
    owner: type.name,
    type,
    found: (earlier) => finding(`doubled-${key}`, [place], 'value', message(earlier)),
  };
}

const keyOf = ({ type, name }: Side): string => `${type.name}.${name}`;

/** Of two sides, the one whose name comes first gives the table its name. */
function namingSide(side: Side, schema: Schema): Side {
  const other = schema.inverse(side);
  return other && keyOf(other) < keyOf(side) ? other : side;
}

function joinClaim(side: Side, schema: Schema): Claim {
  const { type, name, relation } = side;
  const table = relation.through ?? schema.inverse(side)?.relation.through ?? joinTable(tableOf(type.draft), name);
  const [path, at]: readonly [Path, At] =
    relation.through === undefined ? [['relations', name], 'key'] : [['relations', name, 'through'], 'value'];
  const found = (earlier: string) =>
    finding(
      'doubled-table',
      path,
      at,
      `the table ${quoted(table)} of the relation is that of ${earlier} already; set "through"`,
    );
  return { name: table, owner: keyOf(side), type, found };
}
