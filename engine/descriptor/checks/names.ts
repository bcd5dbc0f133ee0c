/** Names that clash: within one type, between types, and in the database. */
import { type RelationEnd, type Schema, type TypeDraft } from '../draft.ts';
import { finding, type Finding, quoted } from '../report.ts';
import { hiddenColumn, joinTable, ownColumn, pathOf, sideName, tableOf } from '../descriptor.ts';
import { nameFault, orderField, pathFault, tableFault, type TextFault } from '../texts.ts';
import type { At, YamlPath } from '../source.ts';
import {
  folded,
  type NameClaim,
  nameConflicts,
  notComparable,
  relationKey,
  repeated,
  type SchemaCheck,
  type TypeCheck,
  type TypeFinding,
  unknownField,
} from './check.ts';

export const checkNames: SchemaCheck = ({ types }) =>
  types.flatMap((type) => [...duplicateNames(type), ...hiddenIds(type)]);

/** The name that the dialects give to every identifier. */
const ID = 'id';

function hiddenIds(type: TypeDraft): readonly TypeFinding[] {
  if (type.identifier.toLowerCase() === ID || type.operations?.size === 0) return [];
  return (['fields', 'relations'] as const).flatMap((kind): readonly TypeFinding[] => {
    if (!type[kind].has(ID)) return [];
    const message = `/json-server and /simple-rest show the identifier ${quoted(type.identifier)} as "${ID}", and hide this; give it another name if their clients need it`;
    return [[type, finding('hidden-id', [kind, ID], message, 'key')]];
  });
}

function duplicateNames(type: TypeDraft): readonly TypeFinding[] {
  const claim = (name: string, owner: string, path: YamlPath, at: At): NameClaim => {
    const says = (earlier: string): string =>
      `${owner} has the same name as ${earlier}; upper and lower case count as the same`;
    return { name, owner, type, says, code: 'duplicate-name', path, at };
  };
  return nameConflicts([
    claim(type.identifier, `the identifier ${quoted(type.identifier)}`, ['identifier', 'name'], 'value'),
    ...[...type.fields.keys()].map((name) => claim(name, `field ${quoted(name)}`, ['fields', name], 'key')),
    ...[...type.relations.keys()].map((name) => claim(name, `relation ${quoted(name)}`, ['relations', name], 'key')),
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
  return [[type, finding('bad-value', ['fields'], message, 'key')]];
}

/** Duplicate names among these have been reported already, and are not reported again. */
function ownColumns(type: TypeDraft): readonly NameClaim[] {
  const names = new Map([...type.fields.keys()].map((name) => [name.toLowerCase(), `field ${quoted(name)}`]));
  names.set(type.identifier.toLowerCase(), 'the identifier');
  return [...names].map(([name, owner]) => ({ name, owner, type, says: String, code: 'duplicate-name', path: [] }));
}

/** The column of a relation and its table: the type's own, or that of its children. */
function foreignColumn(side: RelationEnd, schema: Schema): (NameClaim & { readonly table: TypeDraft }) | undefined {
  const { type, name, relation, target } = side;
  const own = relation.kind === 'belongsTo';
  const table = own ? type : target;
  if (!table || (!own && !isHidden(side, schema))) return undefined;
  const column = relation.column ?? (own ? ownColumn(name) : hiddenColumn(type.name, name));
  const says = (earlier: string): string =>
    `relation ${quoted(name)} would use the column ${quoted(column)} of ${table.name}, which belongs to ${earlier}; set another "column"`;
  const owner = `relation ${quoted(name)} of ${type.name}`;
  return { name: column, owner, type, table, says, code: 'duplicate-column', ...relationKey(side, 'column') };
}

const isHidden = (side: RelationEnd, schema: Schema): boolean =>
  (side.relation.kind === 'hasOne' || side.relation.kind === 'hasMany') &&
  side.relation.inverse === undefined &&
  !schema.inverse(side);

// Names between types: of types, paths and tables.

/** Types that have the name of an earlier one. */
export const duplicateTypes = (types: readonly TypeDraft[]): readonly TypeFinding[] =>
  nameConflicts(
    types.map((type) => {
      const says = (earlier: string): string => `the type ${quoted(type.name)} is already described in ${earlier}`;
      return { name: type.name, owner: type.where.file, type, says, code: 'duplicate-type', path: ['type'] };
    }),
  );

/** Default names that cannot be used, so that the descriptor must set others. */
export const checkDefaultNames: TypeCheck = ({ draft, lost, name, operations }) => {
  if (name === '' || nameFault(name)) return [];
  const fault = (key: string, wrong: TextFault | undefined): readonly Finding[] =>
    wrong ? [finding(wrong.code, ['type'], `the default ${key}: ${wrong.message}; set "${key}"`)] : [];
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
  const says = (earlier: string): string =>
    `the ${key} ${quoted(name)} is already used by ${earlier}; give one of them another "${key}"`;
  const path = [type.draft[key] === undefined ? 'type' : key];
  return { name, owner: type.name, type, says, code: `duplicate-${key}`, path };
}

/** The table is named after the side that comes first by name. */
function namingSide(side: RelationEnd, schema: Schema): RelationEnd {
  const other = schema.inverse(side);
  return other && sideName(other) < sideName(side) ? other : side;
}

function joinClaim(side: RelationEnd, schema: Schema): NameClaim {
  const { type, name, relation } = side;
  const table = relation.through ?? schema.inverse(side)?.relation.through ?? joinTable(tableOf(type.draft), name);
  const says = (earlier: string): string =>
    `the table ${quoted(table)} of this relation is already used by ${earlier}; set "through"`;
  return { name: table, owner: sideName(side), type, says, code: 'duplicate-table', ...relationKey(side, 'through') };
}

// Former names: each is used once, so that existing data moves to one place.

interface FormerName {
  readonly name: string;
  readonly former: string | undefined;
  readonly type: TypeDraft;
  readonly path: YamlPath;
}

/** Fields and relations of one type. */
export const checkRenames: TypeCheck = (type) => {
  const members = (['fields', 'relations'] as const).flatMap((section) =>
    [...type[section]].map(([name, { renamedFrom }]) => {
      return { name, former: renamedFrom, type, path: [section, name, 'renamedFrom'] };
    }),
  );
  return renameFaults(members, [type.identifier]).map(([, fault]) => fault);
};

export const checkTypeRenames: SchemaCheck = ({ types }) =>
  renameFaults(types.map((type) => ({ name: type.name, former: type.draft.renamedFrom, type, path: ['renamedFrom'] })));

function renameFaults(members: readonly FormerName[], others: readonly string[] = []): readonly TypeFinding[] {
  const taken = [...others, ...members.map(({ name }) => name)];
  return members.flatMap(({ name, former, type, path }, index): readonly TypeFinding[] => {
    if (former === undefined) return [];
    if (taken.some((one) => (one === name ? one === former : folded(one) === folded(former)))) {
      const message = `${quoted(former)} still exists, so ${quoted(name)} cannot be its new name`;
      return [[type, finding('former-name-taken', path, message)]];
    }
    const rival = members.slice(0, index).find((one) => one.former === former);
    const message = `${quoted(former)} was already renamed to ${quoted(rival?.name)}`;
    return rival ? [[type, finding('duplicate-rename', path, message)]] : [];
  });
}

// The fields in order, label, unique and indexes.

export const checkMembers: TypeCheck = (type) => {
  const { draft, fields, relations, identifier } = type;
  const order = (draft.order ?? []).map((item) => orderField(item) ?? item);
  const columns = [...relations].filter(([, { kind }]) => kind === undefined || kind === 'belongsTo');
  const indexed = [...fields.keys(), ...columns.map(([name]) => name)];
  const member = (name: string, known: readonly string[], ...path: YamlPath): readonly Finding[] => [
    ...unknownField(type, name, known, path),
    ...notComparable(type, name, path),
  ];
  return [
    ...order.flatMap((name, index) => member(name, [...fields.keys(), identifier], 'order', index)),
    // Two equal items are reported by the grammar.
    ...repeated(order)
      .filter((index) => draft.order?.indexOf(draft.order[index] ?? '') === index)
      .map((index) => finding('repeated-item', ['order', index], `${quoted(order[index])} is already in the order`)),
    ...(draft.label === undefined ? [] : member(draft.label, [...fields.keys()], 'label')),
    ...(['unique', 'indexes'] as const).flatMap((key) =>
      (draft[key] ?? []).flatMap((group, row) =>
        group.flatMap((name, index) => {
          const message = `${quoted(name)} is the identifier, which is always unique and indexed`;
          if (name === identifier) return [finding('bad-value', [key, row, index], message)];
          return member(name, indexed, key, row, index);
        }),
      ),
    ),
  ];
};
