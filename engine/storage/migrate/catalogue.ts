/** Compares the database's objects, read by one query, with the objects that the engine or a plan makes. */
import { fieldTypes } from '../../field-types/registry.ts';
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import type { Dialect, TypedColumn } from '../dialect.ts';
import type { Driver } from '../driver.ts';
import { foreignKeyName } from '../tables.ts';
import { type AppliedModel, type AppliedType, columnsIn, nameKey } from './applied.ts';
import { kindOf, type MigrationStep, type Plan } from './steps.ts';

/**
 * Kinds: relation (`detail`: table or view), column (`detail`: type, default), typed (column; `detail`: what its type counts
 * as, nothing if it takes all values), needed (column without default), index, notNull, trigger (`detail`: its events),
 * reader (of column or index `detail`: a view, an index, a constraint, a foreign key of another table),
 * property (of column `detail`, or of the table: a comment, a grant), constant (a default of column `detail`),
 * denied (table or schema `name` has another owner), unlinkable (no foreign key may refer to the table).
 */
interface Found {
  readonly kind: string;
  readonly table: string;
  readonly name: string;
  readonly detail: string;
}

/** By kind and table. */
export type Catalogue = ReadonlyMap<string, readonly Found[]>;

export async function readCatalogue(driver: Driver): Promise<Catalogue> {
  const rows = (await driver.all({ sql: driver.dialect.catalogue }, [])).map(([kind, table, name, detail]) => ({
    kind: String(kind),
    table: String(table),
    name: String(name),
    detail: String(detail ?? ''),
  }));
  // An interrupted migration has prepared objects such as `index _records_new_1`.
  const isOwn = (name: string): boolean => (name.split(' ')[1] ?? name).startsWith(ENGINE_PREFIX);
  const others = rows.filter(({ kind, name }) => kind === 'relation' || kind === 'column' || !isOwn(name));
  return Map.groupBy(others, ({ kind, table }) => `${kind} ${table}`);
}

export const found = (catalogue: Catalogue, table: string, kind: string): readonly Found[] =>
  catalogue.get(`${kind} ${table}`) ?? [];

export const ownTables = ({ types, joins }: AppliedModel) => [
  ...Object.values(types).map((type) => ({
    table: type.table,
    made: type.made,
    sequence: (type.key?.type ?? 'integer') === 'integer' ? `${type.table}_${type.identifier}_seq` : [],
    columns: columnsIn(type),
    links: type.references.map(({ column }) => column),
    nullable: [
      ...Object.values(type.fields).flatMap(({ column, nullable }) => (nullable ? column : [])),
      ...type.references.flatMap(({ column, required }) => (required ? [] : column)),
    ],
    defaults: Object.values(type.fields).flatMap((field) =>
      field.default === null ? [] : [field.column, field.folded],
    ),
  })),
  ...joins.map(({ table, made, left, right }) => {
    const columns = [left, right].map(({ column, keyType = 'integer' }) => [column, keyType] as const);
    return { table, made, sequence: [], columns, links: [left.column, right.column], nullable: [], defaults: [] };
  }),
];

/** The engine's foreign keys as the catalogue names them. Only PostgreSQL names them itself. */
const ownLinks = (applied: AppliedModel): readonly string[] =>
  ownTables(applied).flatMap(({ table, links }) =>
    links
      .flatMap((column) => [foreignKeyName(table, column), `(${column})`])
      .flatMap((name) => [
        `constraint ${name}`,
        `constraint foreign key ${name}`,
        `foreign key ${name} of table "${table}"`,
      ]),
  );

export type Drift = ReturnType<typeof driftOf>[number];

/**
 * Finds missing tables, columns and indexes, columns of another type, and third-party columns that new records must fill.
 * `cures`: SQL that recreates missing indexes.
 */
export function driftOf(applied: AppliedModel, catalogue: Catalogue, { name: kind }: Pick<Dialect, 'name'>) {
  return ownTables(applied).flatMap((own) => {
    const { table, columns, made } = own;
    const isThere = found(catalogue, '', 'relation').some(({ name, detail }) => detail === 'table' && name === table);
    if (!isThere) return { table, differences: ['it is missing'], cures: [] };
    const indexes = new Set(found(catalogue, table, 'index').map(({ name }) => name));
    const missing = Object.keys(made).filter((name) => !indexes.has(name));
    const differences = [
      ...columns.flatMap(([column, type]) => {
        const actual = found(catalogue, table, 'typed').find(({ name }) => name === column)?.detail;
        const [wanted] = fieldTypes.get(type)?.columns[kind].sqlType.split(' collate') ?? [];
        if (actual === undefined) return `column ${column} is missing`;
        return actual === '' || actual === wanted ? [] : `column ${column} is ${actual}, not ${wanted}`;
      }),
      ...missing.map((name) => `index ${name} is missing`),
      ...othersAmong(own, found(catalogue, table, 'needed')).map(
        ({ name }) => `column ${name} is there besides, and no new record has a value for it`,
      ),
    ];
    const cures = missing.flatMap((name) => made[name]?.sql ?? []);
    return differences.length === 0 ? [] : { table, differences, cures };
  });
}

function othersAmong({ columns }: { readonly columns: readonly TypedColumn[] }, all: readonly Found[]) {
  const own = new Set([...columns.map(([column]) => column), OPEN_COLUMN].map(nameKey));
  return all.filter(({ name }) => !own.has(nameKey(name)) && !name.startsWith(ENGINE_PREFIX));
}

export const otherColumns = (catalogue: Catalogue, type: AppliedType): readonly Found[] =>
  othersAmong({ columns: columnsIn(type) }, found(catalogue, type.table, 'column'));

const KINDS = ['column', 'index', 'trigger', 'notNull', 'reader', 'property', 'constant'];

/** Objects that somebody else has added to the engine's tables; `name`: as messages show it. */
function othersOf(applied: AppliedModel, catalogue: Catalogue): readonly Found[] {
  const [indexes, links] = [ownIndexes(applied), new Set(ownLinks(applied))];
  return ownTables(applied).flatMap((own) => {
    const all = KINDS.flatMap((kind) => found(catalogue, own.table, kind));
    const columns = new Set(othersAmong(own, found(catalogue, own.table, 'column')));
    return all.flatMap((one): Found | readonly Found[] => {
      const { kind, name, detail } = one;
      if (columns.has(one) || kind === 'trigger' || (kind === 'index' && !indexes.has(name)))
        return { ...one, name: `${kind} ${name}` };
      if (kind === 'notNull' && own.nullable.includes(name))
        return { ...one, kind: 'reader', name: `constraint not null (${name})`, detail: name };
      if (kind === 'constant')
        return [OPEN_COLUMN, ...own.defaults].includes(detail) ? [] : { ...one, kind: 'property' };
      const isOwn = links.has(name) || (name.startsWith('index ') && indexes.has(name.slice('index '.length)));
      return kind === 'property' || (kind === 'reader' && !isOwn) ? one : [];
    });
  });
}

const withTable = ({ name, table }: Found): string => `${name} of ${table || 'the database'}`;

export function othersIn(applied: AppliedModel, catalogue: Catalogue): readonly string[] {
  const others = othersOf(applied, catalogue).filter(
    ({ kind, name }) => kind !== 'property' && !name.startsWith('foreign key '),
  );
  return [...new Set(others.map(withTable))];
}

const PARTS = /^(constraint|index|trigger) /;

/** Constraints, indexes and triggers of others that go with the table that a step drops. */
export function takenBy(step: MigrationStep, { others }: Surroundings): readonly string[] {
  const taken = isTableDrop(step) ? (others.get(step.rowsIn ?? '') ?? []) : [];
  return [...new Set(taken.filter(({ name }) => PARTS.test(name)).map(withTable))];
}

export const ownIndexes = (applied: AppliedModel): ReadonlySet<string> =>
  new Set(ownTables(applied).flatMap(({ made }) => Object.keys(made)));

/** Triggers of others that a step fires. Event triggers, of no table, have the SQL that fires them as `detail`. */
export function triggersOf({ tasks, seeds }: MigrationStep, catalogue: Catalogue): readonly string[] {
  const updated = tasks.flatMap(({ table, updates }) => (updates && table !== undefined ? table : []));
  const fired = (tables: readonly string[], events: RegExp): readonly Found[] =>
    tables.flatMap((table) => found(catalogue, table, 'trigger')).filter(({ detail }) => events.test(detail));
  const everywhere = found(catalogue, '', 'trigger').filter(({ detail }) =>
    tasks.some(({ sql }) => new RegExp(detail, 'i').test(sql)),
  );
  return [...new Set([...fired(seeds, /insert|update|of/), ...fired(updated, /update/), ...everywhere].map(withTable))];
}

/** Of tables and indexes. PostgreSQL makes an index and a sequence for each table's identifier. */
const ownNames = (applied: AppliedModel, hasKeys: boolean): readonly string[] =>
  ownTables(applied)
    .flatMap(({ table, made, sequence }) => [table, Object.keys(made), hasKeys ? [`${table}_pkey`, sequence] : []])
    .flat(2)
    .map(nameKey);

/** Names and objects with which a step can collide. `twice`: names that several tables and indexes would have. */
export function surroundingsOf(
  { applied, wanted }: Pick<Plan, 'applied' | 'wanted'>,
  catalogue: Catalogue,
  { locks }: Pick<Dialect, 'locks'>,
) {
  const names = ownNames(wanted, locks);
  return {
    catalogue,
    twice: new Set(names.filter((name, at) => names.indexOf(name) < at)),
    own: new Set(ownNames(applied, true)),
    relations: new Map(found(catalogue, '', 'relation').map(({ name, detail }) => [nameKey(name), detail])),
    others: Map.groupBy(othersOf(applied, catalogue), ({ table }) => table),
  };
}

type Surroundings = ReturnType<typeof surroundingsOf>;

const isTableDrop = (step: MigrationStep): boolean => kindOf(step).isDrop === true && step.edits.length === 0;

const namesMade = ({ creates, edits }: MigrationStep): readonly string[] => [
  ...creates,
  ...edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : [])),
];

export function obstaclesTo(step: MigrationStep, around: Surroundings): readonly string[] {
  const { catalogue, twice, own, relations } = around;
  const { creates, edits, tasks, refersTo, rowsIn: table = '' } = step;
  const others = around.others.get(table) ?? [];
  const isOwn = (name: string): boolean => own.has(nameKey(name));
  const isDropped = isTableDrop(step);
  const isReplaced = !kindOf(step).isDrop && tasks.some(({ forgets }) => forgets);
  const isRebuilt = tasks.some(({ replaces }) => replaces);
  const makes = edits.some(({ kind }) => kind === 'createIndex');
  const gone = new Set(
    edits.flatMap((edit) => (edit.kind === 'dropColumn' || (edit.kind === 'dropIndex' && !makes) ? edit.name : [])),
  );
  const lost = new Set([
    ...tasks.flatMap((task) => task.drops ?? []),
    ...edits.flatMap((edit) => (edit.kind === 'dropIndex' || edit.kind === 'dropColumn' ? edit.name : [])),
  ]);
  const there = new Set(others.map(({ name }) => nameKey(name)));
  const made = [
    ...edits.flatMap((edit) => (edit.kind === 'addColumn' ? `column ${edit.column.name}` : [])),
    ...tasks.flatMap(({ constraint }) => (constraint === undefined ? [] : `constraint ${constraint}`)),
  ];
  const inTheWay = others.filter(({ kind, name, detail }) => {
    if (isReplaced) return true;
    // A table takes the rest along.
    if (isDropped) return kind === 'column' || (kind === 'reader' && !PARTS.test(name));
    if (kind === 'property')
      return isRebuilt ? !there.has(`column ${nameKey(detail)}`) : lost.has(detail) && !gone.has(detail);
    if (kind !== 'reader') return false;
    return (isRebuilt && name.startsWith('constraint ')) || (detail !== '' && lost.has(detail));
  });
  const isDenied = tasks.length > 0 && table !== '' && found(catalogue, table, 'denied').length > 0;
  const schema = creates.length > 0 ? found(catalogue, '', 'denied')[0]?.name : undefined;
  const obstacles = [
    ...namesMade(step)
      .filter((name) => twice.has(nameKey(name)))
      .map((name) => `a table or an index has the name "${name}" too: choose another "table"`),
    ...namesMade(step)
      .filter((name) => relations.has(nameKey(name)) && !isOwn(name))
      .map(
        (name) =>
          `there is a ${relations.get(nameKey(name))} "${name}" already, which the engine did not make: rename or drop it, or choose another name`,
      ),
    ...made
      .filter((name) => there.has(nameKey(name)))
      .map((name) => `table ${table} has a ${name} already, which the engine did not make: rename or drop it`),
    ...inTheWay.map(
      ({ name }) => `${name} depends on what this replaces or drops: drop it first, and make it again afterwards`,
    ),
    isDenied
      ? `another database user owns table ${table}, and only its owner may change it: apply this as that user`
      : [],
    ...refersTo
      .filter((name) => found(catalogue, name, 'unlinkable').length > 0)
      .map((name) => `this database user may not refer to table ${name}: grant references on it`),
    schema === undefined
      ? []
      : `this database user may not create tables in schema ${schema}: grant it, or apply this as another user`,
  ];
  return [...new Set(obstacles.flat())];
}
