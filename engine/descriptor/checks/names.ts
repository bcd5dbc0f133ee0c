/** Names that clash: within one type, between types, and in the database. */
import { type RelationEnd, type Schema, type TypeDraft } from '../draft.ts';
import { finding, type Finding, quoted } from '../report.ts';
import { hiddenColumn, joinTable, ownColumn, pathOf, tableOf } from '../defaults.ts';
import { nameFault, orderField, pathFault, tableFault, type TextFault } from '../texts.ts';
import type { At, YamlPath } from '../source.ts';
import {
  folded,
  label,
  type NameClaim,
  nameConflicts,
  relationKey,
  repeated,
  type SchemaCheck,
  type TypeCheck,
  type TypeFinding,
  unknownField,
} from './check.ts';
import { fieldTypes } from '../../field-types/registry.ts';

export const checkNames: SchemaCheck = ({ types }) =>
  types.flatMap((type) => [...duplicateNames(type), ...hiddenIds(type)]);

/** What the dialects call the identifier of every type. */
const ID = 'id';

function hiddenIds(type: TypeDraft): readonly TypeFinding[] {
  if (type.identifier.toLowerCase() === ID || type.operations?.size === 0) return [];
  return (['fields', 'relations'] as const).flatMap((kind): readonly TypeFinding[] => {
    if (!type[kind].has(ID)) return [];
    const message = `/json-server and /simple-rest show the identifier ${quoted(type.identifier)} as "${ID}", and hide this; give it another name if their clients need it`;
    return [[type, finding('hidden-id', [kind, ID], 'key', message)]];
  });
}

function duplicateNames(type: TypeDraft): readonly TypeFinding[] {
  const member = (name: string, owner: string, path: YamlPath, at: At): NameClaim => ({
    name,
    owner,
    type,
    found: (earlier) =>
      finding(
        'duplicate-name',
        path,
        at,
        `${owner} has the same name as ${earlier}; upper and lower case count as the same`,
      ),
  });
  return nameConflicts([
    member(type.identifier, `the identifier ${quoted(type.identifier)}`, ['identifier', 'name'], 'value'),
    ...[...type.fields.keys()].map((name) => member(name, `field ${quoted(name)}`, ['fields', name], 'key')),
    ...[...type.relations.keys()].map((name) => member(name, `relation ${quoted(name)}`, ['relations', name], 'key')),
  ]);
}

/** PostgreSQL allows 1,600; the rest is for columns that a migration adds before it drops others. */
const MAX_COLUMNS = 1500;

/** The columns of each table: those of the identifier and the fields, then those of relations of any type. */
export const checkColumns: SchemaCheck = (schema) => {
  const brought = Map.groupBy(
    schema.sides.flatMap((side) => foreignColumn(side, schema) ?? []),
    ({ table }) => table,
  );
  return [
    ...[...brought].flatMap(([table, columns]) => nameConflicts([...ownColumns(table), ...columns])),
    ...schema.types.flatMap((type) => tooManyColumns(type, brought.get(type)?.length ?? 0)),
  ];
};

function tooManyColumns(type: TypeDraft, brought: number): readonly TypeFinding[] {
  const caseless = [...type.fields.values()].filter((field) => field.caseless === true).length;
  const columns = 1 + type.fields.size + caseless + brought + (type.draft.open === true ? 1 : 0);
  if (columns <= MAX_COLUMNS) return [];
  const message = `the table would have ${columns} columns, and can have at most ${MAX_COLUMNS}: one for each field, another one for each caseless field, and one for each belongsTo relation`;
  return [[type, finding('bad-value', ['fields'], 'key', message)]];
}

/** Duplicate names among these have been reported already, and are not reported again. */
function ownColumns(type: TypeDraft): readonly NameClaim[] {
  const names = new Map([...type.fields.keys()].map((name) => [name.toLowerCase(), `field ${quoted(name)}`]));
  names.set(type.identifier.toLowerCase(), 'the identifier');
  return [...names].map(([name, owner]) => ({
    name,
    owner,
    type,
    found: (earlier) => finding('duplicate-name', [], 'value', earlier),
  }));
}

/** The column of a relation and its table: the type's own, or that of its children. */
function foreignColumn(side: RelationEnd, schema: Schema): (NameClaim & { readonly table: TypeDraft }) | undefined {
  const { type, name, relation, target } = side;
  const own = relation.kind === 'belongsTo';
  const table = own ? type : target;
  if (!table || (!own && !isHidden(side, schema))) return undefined;
  const column = relation.column ?? (own ? ownColumn(name) : hiddenColumn(type.name, name));
  const [path, at] = relationKey(side, 'column');
  const found = (earlier: string) =>
    finding(
      'duplicate-column',
      path,
      at,
      `relation ${quoted(name)} would use the column ${quoted(column)} of ${table.name}, which belongs to ${earlier}; set another "column"`,
    );
  return { name: column, owner: `relation ${quoted(name)} of ${type.name}`, type, table, found };
}

const isHidden = (side: RelationEnd, schema: Schema): boolean =>
  (side.relation.kind === 'hasOne' || side.relation.kind === 'hasMany') &&
  side.relation.inverse === undefined &&
  !schema.inverse(side);

// Names between types: of types, paths and tables.

/** Types that have the name of an earlier one. */
export const duplicateTypes = (types: readonly TypeDraft[]): readonly TypeFinding[] =>
  nameConflicts(
    types.map((type) => ({
      name: type.name,
      owner: type.where.file,
      type,
      found: (earlier) =>
        finding(
          'duplicate-type',
          ['type'],
          'value',
          `the type ${quoted(type.name)} is already described in ${earlier}`,
        ),
    })),
  );

/** Default names that cannot be used, so that the descriptor must set others. */
export const checkDefaultNames: TypeCheck = ({ draft, lost, name, operations }) => {
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
  nameConflicts(
    types.filter((type) => isKnown(type, 'path')).map((type) => typeClaim(type, 'path', pathOf(type.draft))),
  );

/** The tables of types, and those of manyToMany relations. */
export const checkTables: SchemaCheck = (schema) =>
  nameConflicts([
    ...schema.types
      .filter((type) => isKnown(type, 'table'))
      .map((type) => typeClaim(type, 'table', tableOf(type.draft))),
    ...schema.sides
      .filter((side) => side.relation.kind === 'manyToMany' && namingSide(side, schema) === side)
      .map((side) => joinClaim(side, schema)),
  ]);

function typeClaim(type: TypeDraft, key: 'path' | 'table', name: string): NameClaim {
  const place = type.draft[key] === undefined ? 'type' : key;
  const message = (earlier: string) =>
    `the ${key} ${quoted(name)} is already used by ${earlier}; give one of them another "${key}"`;
  return {
    name,
    owner: type.name,
    type,
    found: (earlier) => finding(`duplicate-${key}`, [place], 'value', message(earlier)),
  };
}

/** The table is named after the side that comes first by name. */
function namingSide(side: RelationEnd, schema: Schema): RelationEnd {
  const other = schema.inverse(side);
  return other && label(other) < label(side) ? other : side;
}

function joinClaim(side: RelationEnd, schema: Schema): NameClaim {
  const { type, name, relation } = side;
  const table = relation.through ?? schema.inverse(side)?.relation.through ?? joinTable(tableOf(type.draft), name);
  const [path, at] = relationKey(side, 'through');
  const found = (earlier: string) =>
    finding(
      'duplicate-table',
      path,
      at,
      `the table ${quoted(table)} of this relation is already used by ${earlier}; set "through"`,
    );
  return { name: table, owner: label(side), type, found };
}

// Former names: each is used once, so that existing data moves to one place.

interface FormerName {
  readonly name: string;
  readonly former: string | undefined;
  readonly path: YamlPath;
}

/** Fields and relations of one type. */
export const checkRenames: TypeCheck = (type) => {
  const members = (section: 'fields' | 'relations'): readonly FormerName[] =>
    [...type[section]].map(([name, { renamedFrom }]) => ({
      name,
      former: renamedFrom,
      path: [section, name, 'renamedFrom'],
    }));
  const taken = [type.identifier, ...type.fields.keys(), ...type.relations.keys()];
  return [...members('fields'), ...members('relations')].flatMap((one, index, all) => faults(one, index, all, taken));
};

export const checkTypeRenames: SchemaCheck = ({ types }) => {
  const renamed = (type: TypeDraft): FormerName => ({
    name: type.name,
    former: type.draft.renamedFrom,
    path: ['renamedFrom'],
  });
  const all = types.map(renamed);
  const taken = types.map(({ name }) => name);
  return types.flatMap((type, index) =>
    faults(renamed(type), index, all, taken).map((one): TypeFinding => [type, one]),
  );
};

function faults(
  { name, former, path }: FormerName,
  index: number,
  all: readonly FormerName[],
  taken: readonly string[],
): readonly Finding[] {
  if (former === undefined) return [];
  const holder = taken.find((one) => (one === name ? one === former : folded(one) === folded(former)));
  if (holder !== undefined) {
    const message = `${quoted(former)} still exists, so ${quoted(name)} cannot be its new name`;
    return [finding('former-name-taken', path, 'value', message)];
  }
  const rival = all.slice(0, index).find((one) => one.former === former);
  if (!rival) return [];
  return [finding('duplicate-rename', path, 'value', `${quoted(former)} was already renamed to ${quoted(rival.name)}`)];
}

// The fields in order, label, unique and indexes.

export const checkMembers: TypeCheck = (type) => [
  ...checkOrder(type),
  ...checkLabel(type),
  ...checkGroups(type, 'unique', type.draft.unique ?? []),
  ...checkGroups(type, 'indexes', type.draft.indexes ?? []),
];

function checkOrder(type: TypeDraft): readonly Finding[] {
  const order = (type.draft.order ?? []).map((item) => orderField(item) ?? item);
  const known = [...type.fields.keys(), type.identifier];
  const twice = repeated(order).filter((index) => type.draft.order?.indexOf(type.draft.order[index] ?? '') === index);
  return [
    ...order.flatMap((name, index) => [
      ...unknownField(type, name, known, ['order', index]),
      ...notComparable(type, name, ['order', index]),
    ]),
    ...twice.map((index) =>
      finding('repeated-item', ['order', index], 'value', `${quoted(order[index])} is already in the order`),
    ),
  ];
}

function checkLabel(type: TypeDraft): readonly Finding[] {
  const { label: name } = type.draft;
  if (name === undefined) return [];
  return [...unknownField(type, name, [...type.fields.keys()], ['label']), ...notComparable(type, name, ['label'])];
}

function checkGroups(type: TypeDraft, key: string, groups: readonly (readonly string[])[]): readonly Finding[] {
  const columns = [...type.relations]
    .filter(([, { kind }]) => kind === undefined || kind === 'belongsTo')
    .map(([name]) => name);
  const known = [...type.fields.keys(), ...columns];
  return groups.flatMap((group, row) =>
    group.flatMap((name, index) => {
      const path = [key, row, index];
      if (name === type.identifier)
        return [
          finding('bad-value', path, 'value', `${quoted(name)} is the identifier, which is always unique and indexed`),
        ];
      return [...unknownField(type, name, known, path), ...notComparable(type, name, path)];
    }),
  );
}

function notComparable(type: TypeDraft, name: string, path: YamlPath): readonly Finding[] {
  const fieldType = fieldTypes.get(type.fields.get(name)?.type ?? '');
  if (!fieldType || fieldType.operators.length > 0) return [];
  return [
    finding(
      'not-comparable',
      path,
      'value',
      `${quoted(name)} is of type ${fieldType.name}, whose values cannot be compared`,
    ),
  ];
}
