/** Names that clash: within one type, between types, and in the database. */
import type { DiagnosticCode } from '../../diagnostic.ts';
import { hiddenColumn, joinTable, labelPaths, ownColumn, pathOf, sideName, tableOf } from '../descriptor.ts';
import { isDialectWord } from '../dialect-words.ts';
import type { RelationEnd, Schema, TypeDraft } from '../draft.ts';
import { finding, type Finding, quoted } from '../report.ts';
import type { At, YamlPath } from '../source.ts';
import { nameFault, orderField, pathFault, tableFault, type TextFault } from '../texts.ts';
import {
  notComparable,
  relationKey,
  repeated,
  type SchemaCheck,
  type TypeCheck,
  type TypeFinding,
  unknownField,
} from './check.ts';

/** Databases compare names without regard to case. */
const folded = (name: string): string => name.normalize('NFC').toLowerCase();

interface NameClaim {
  readonly name: string;
  readonly owner: string;
  readonly type: TypeDraft;
  /** The fault if an earlier owner has the name; undefined if another check reports it. */
  readonly fault?: (earlier: string) => Finding;
}

function* nameConflicts(claims: Iterable<NameClaim>): Generator<TypeFinding, void> {
  const owners = new Map<string, string>();
  for (const { name, owner, type, fault } of claims) {
    const earlier = owners.get(folded(name));
    if (earlier === undefined) owners.set(folded(name), owner);
    else if (fault) yield [type, fault(earlier)];
  }
}

const SECTIONS = ['fields', 'relations'] as const;
/** The dialects show every identifier under this name. */
const ID = 'id';

export const checkNames: SchemaCheck = function* ({ types }) {
  for (const type of types) {
    const { identifier, operations } = type;
    const claim = (name: string, owner: string, path: YamlPath, at?: At): NameClaim => {
      const message = `${owner} ${quoted(name)} has the same name as`;
      const fault = (earlier: string): Finding =>
        finding('duplicate-name', path, `${message} ${earlier}; upper and lower case count as the same`, at);
      return { name, owner: `${owner} ${quoted(name)}`, type, fault };
    };
    yield* nameConflicts([
      claim(identifier, 'the identifier', ['identifier', 'name']),
      ...[...type.fields.keys()].map((name) => claim(name, 'field', ['fields', name], 'key')),
      ...[...type.relations.keys()].map((name) => claim(name, 'relation', ['relations', name], 'key')),
    ]);
    if (operations?.size === 0) continue;
    const names = new Set([ID, ...type.fields.keys(), ...type.relations.keys()]);
    const links = [...type.relations].filter(([, { kind, shown }]) => kind === 'belongsTo' && shown !== false);
    const linkWords = new Set(links.map(([name]) => `${name}_${ID}`));
    for (const section of SECTIONS)
      for (const name of type[section].keys())
        if (linkWords.has(name) || isDialectWord(name, names)) {
          const taken = `${quoted(name)} is a word of /json-server and /simple-rest, and means this here; give it another name if their clients need the word`;
          yield [type, finding('dialect-word', [section, name], taken, 'key')];
        }
    if (identifier.toLowerCase() === ID) continue;
    const message = `/json-server and /simple-rest show the identifier ${quoted(identifier)} as "${ID}", and hide this; give it another name if their clients need it`;
    for (const section of SECTIONS)
      if (type[section].has(ID)) yield [type, finding('hidden-id', [section, ID], message, 'key')];
  }
};

/** PostgreSQL allows 1,600; a migration adds columns before it drops others. */
const MAX_COLUMNS = 1500;

/** Counts columns: relations of any type can add them. */
export const checkColumns: SchemaCheck = function* (schema) {
  const foreign = Map.groupBy(
    schema.sides.flatMap((side) => foreignColumn(side, schema) ?? []),
    ({ table }) => table,
  );
  for (const type of schema.types) {
    const { identifier, fields, draft } = type;
    const brought = foreign.get(type) ?? [];
    yield* nameConflicts([
      { name: identifier, owner: 'the identifier', type },
      ...[...fields.keys()].map((name) => ({ name, owner: `field ${quoted(name)}`, type })),
      ...brought,
    ]);
    const caseless = [...fields.values()].filter((field) => field.caseless === true).length;
    const columns = 1 + fields.size + caseless + brought.length + (draft.open === true ? 1 : 0);
    if (columns <= MAX_COLUMNS) continue;
    const message = `the table would have ${columns} columns, and can have at most ${MAX_COLUMNS}: one for each field, another one for each caseless field, and one for each belongsTo relation`;
    yield [type, finding('bad-value', ['fields'], message, 'key')];
  }
};

function foreignColumn(side: RelationEnd, schema: Schema): (NameClaim & { readonly table: TypeDraft }) | undefined {
  const { type, name, relation, target } = side;
  const { kind, inverse } = relation;
  const isOwn = kind === 'belongsTo';
  const isHidden = (kind === 'hasOne' || kind === 'hasMany') && inverse === undefined && !schema.inverse(side);
  const table = isOwn ? type : target;
  if (!table || (!isOwn && !isHidden)) return undefined;
  const column = relation.column ?? (isOwn ? ownColumn(name) : hiddenColumn(type.name, name));
  const message = `relation ${quoted(name)} would use the column ${quoted(column)} of ${table.name}, which belongs to`;
  const { path, at } = relationKey(side, 'column');
  const fault = (earlier: string): Finding =>
    finding('duplicate-column', path, `${message} ${earlier}; set another "column"`, at);
  return { name: column, owner: `relation ${quoted(name)} of ${type.name}`, type, table, fault };
}

export const duplicateTypes = (types: readonly TypeDraft[]): Iterable<TypeFinding> =>
  nameConflicts(
    types.map((type) => ({
      name: type.name,
      owner: type.where.file,
      type,
      fault: (earlier: string) =>
        finding('duplicate-type', ['type'], `the type ${quoted(type.name)} is already described in ${earlier}`),
    })),
  );

export const checkDefaultNames: TypeCheck = function* ({ draft, lost, name, operations }) {
  if (name === '' || nameFault(name)) return;
  const fault = (key: 'path' | 'table', wrong: TextFault | undefined): readonly Finding[] =>
    draft[key] === undefined && !lost.has(key) && wrong
      ? [finding(wrong.code, ['type'], `the default ${key}: ${wrong.message}; set "${key}"`)]
      : [];
  if (operations?.size !== 0) yield* fault('path', pathFault(pathOf(draft)));
  yield* fault('table', tableFault(tableOf(draft)));
};

export const checkPaths: SchemaCheck = ({ types }) => nameConflicts(types.flatMap((type) => typeClaim(type, 'path')));

export const checkTables: SchemaCheck = (schema) =>
  nameConflicts([
    ...schema.types.flatMap((type) => typeClaim(type, 'table')),
    ...schema.sides.filter(({ relation }) => relation.kind === 'manyToMany').flatMap((side) => joinClaim(side, schema)),
  ]);

function typeClaim(type: TypeDraft, key: 'path' | 'table'): readonly NameClaim[] {
  if (type.name === '' || !type.isRead || type.lost.has(key)) return [];
  const name = key === 'path' ? pathOf(type.draft) : tableOf(type.draft);
  const path = [type.draft[key] === undefined ? 'type' : key];
  const message = (earlier: string): string =>
    `the ${key} ${quoted(name)} is already used by ${earlier}; give one of them another "${key}"`;
  return [{ name, owner: type.name, type, fault: (earlier) => finding(`duplicate-${key}`, path, message(earlier)) }];
}

/** The side that comes first by name gives the table its name. */
function joinClaim(side: RelationEnd, schema: Schema): readonly NameClaim[] {
  const { type, name, relation } = side;
  const other = schema.inverse(side);
  if (other && sideName(other) < sideName(side)) return [];
  const table = relation.through ?? other?.relation.through ?? joinTable(tableOf(type.draft), name);
  const { path, at } = relationKey(side, 'through');
  const message = `the table ${quoted(table)} of this relation is already used by`;
  const fault = (earlier: string): Finding =>
    finding('duplicate-table', path, `${message} ${earlier}; set "through"`, at);
  return [{ name: table, owner: sideName(side), type, fault }];
}

/** Each former name is unique, since its data moves to one place. */
interface FormerName {
  readonly name: string;
  readonly former: string | undefined;
  readonly type: TypeDraft;
  readonly path: YamlPath;
}

export const checkRenames: SchemaCheck = function* ({ types }) {
  yield* renameFaults(
    types.map((type) => ({ name: type.name, former: type.draft.renamedFrom, type, path: ['renamedFrom'] })),
  );
  for (const type of types) {
    const members = SECTIONS.flatMap((section) =>
      [...type[section]].map(([name, { renamedFrom }]) => {
        return { name, former: renamedFrom, type, path: [section, name, 'renamedFrom'] };
      }),
    );
    yield* renameFaults(members, [type.identifier]);
  }
};

function* renameFaults(members: readonly FormerName[], others: readonly string[] = []): Generator<TypeFinding, void> {
  const taken = [...others, ...members.map(({ name }) => name)];
  const renamed = new Map<string, string>();
  for (const { name, former, type, path } of members) {
    if (former === undefined) continue;
    const fault = (code: DiagnosticCode, message: string): TypeFinding => [type, finding(code, path, message)];
    const rival = renamed.get(former);
    if (taken.some((one) => (one === name ? one === former : folded(one) === folded(former))))
      yield fault('former-name-taken', `${quoted(former)} still exists, so ${quoted(name)} cannot be its new name`);
    else if (rival !== undefined)
      yield fault('duplicate-rename', `${quoted(former)} was already renamed to ${quoted(rival)}`);
    if (rival === undefined) renamed.set(former, name);
  }
}

export const checkMembers: TypeCheck = function* (type) {
  const { draft, fields, relations, identifier } = type;
  for (const [terms = [], ...path] of [
    [draft.order, 'order'],
    [draft.list?.order, 'list', 'order'],
  ] as const) {
    const order = terms.map((item) => orderField(item) ?? '');
    for (const [index, name] of order.entries())
      yield* notComparable(type, name, [...fields.keys(), identifier], [...path, index]);
    for (const index of repeated(order))
      // The grammar reports equal items.
      if (terms.indexOf(terms[index] ?? '') === index)
        yield finding('repeated-item', [...path, index], `${quoted(order[index])} is already in the order`);
  }
  const columns = [...relations].filter(([, { kind }]) => kind === undefined || kind === 'belongsTo');
  const indexed = [...fields.keys(), ...columns.map(([name]) => name)];
  for (const key of ['unique', 'indexes'] as const)
    for (const [row, group] of (draft[key] ?? []).entries())
      for (const [index, name] of group.entries()) {
        const message = `${quoted(name)} is the identifier, which is always unique and indexed`;
        if (name === identifier) yield finding('bad-value', [key, row, index], message);
        else yield* notComparable(type, name, indexed, [key, row, index]);
      }
};

/** Words about how people see records. */
export const checkPresents: TypeCheck = function* (type, schema) {
  const { draft, fields, relations, identifier } = type;
  const toOne = [...relations].flatMap(([name, { kind }]) => (kind === 'belongsTo' || kind === 'hasOne' ? name : []));
  for (const [index, name] of (draft.list?.columns ?? []).entries())
    yield* unknownField(type, name, [...fields.keys(), ...toOne, identifier], ['list', 'columns', index]);
  const paths = labelPaths(draft.label ?? '');
  if (draft.label !== undefined && paths.length === 0)
    yield* unknownField(type, draft.label, [...fields.keys()], ['label']);
  for (const path of paths) {
    const [name = '', ...rest] = path.split('.');
    const field = rest.join('.');
    if (rest.length === 0) yield* unknownField(type, name, [...fields.keys(), identifier], ['label']);
    else {
      yield* unknownField(type, name, toOne, ['label']);
      const target = schema.byName.get(relations.get(name)?.type ?? '');
      if (target) yield* unknownField(target, field, [...target.fields.keys(), target.identifier], ['label']);
    }
  }
  const texts = [...fields].flatMap(([name, { type: kind }]) => (kind === 'string' ? name : []));
  for (const [name, { shows }] of fields)
    // A faulty key leaves an empty object.
    if (typeof shows === 'object' && 'money' in shows && !/^[A-Z]{3}$/.test(shows.money))
      yield* unknownField(type, shows.money, texts, ['fields', name, 'shows', 'money']);
};
